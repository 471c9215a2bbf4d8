package chain

import (
	"context"
	"iter"
)

// Store keeps one log. It may be used by several goroutines, and several stores
// in several processes may keep the same log.
type Store interface {
	// Update runs f in a transaction that starts by excluding all other
	// writers of the log, in any process, until it ends: the head and rows that
	// f reads are the last ones committed, and nothing comes between them and
	// what f appends.
	//
	// It returns nil only when what f appended is durable: it survives a crash
	// of the program, of the database and of the machine. An error of f rolls
	// everything back and is returned as it is. When a failure leaves it open
	// whether the transaction was committed, Update finds out; it returns an
	// error that wraps [ErrUnknown] if it cannot, and after any other error
	// nothing was appended.
	//
	// f may run several times (after a lost connection, say), each time on the
	// state then current; it must have no effects but those on Tx and those that
	// it overwrites when it runs again.
	Update(ctx context.Context, f func(Tx) error) error
	// View runs f on one committed state of the log.
	View(ctx context.Context, f func(Reader) error) error
	// Close releases the store's resources.
	Close() error
}

// Reader reads one state of the log.
type Reader interface {
	// Head returns the end of the log as the store keeps it, apart from the rows.
	Head() (Head, error)
	// Rows yields the rows with a number above after, in the order of their
	// numbers. It does not verify them. A row that cannot be read as a row is a
	// [*TamperedError].
	Rows(after int64) iter.Seq2[Row, error]
}

// Tx reads and appends to the log within [Store.Update].
type Tx interface {
	Reader
	// Append adds a row sealed on the current head, and moves the head to it.
	Append(Row) error
}
