package sqlchain

import (
	"context"
	"database/sql"
	"errors"
)

// Fault classifies an error of a statement other than COMMIT; in each case nothing was
// written.
type Fault int

const (
	// Failed: trying again gives the same.
	Failed Fault = iota
	// Busy: another transaction was in the way.
	Busy
	// Lost: the connection can no longer be used.
	Lost
)

// Dialect holds what differs between databases.
type Dialect struct {
	// Connect opens a connection ([Dial]) with the settings that durability rests on. create
	// allows to make the database; without it a missing one is [chain.ErrMissing].
	Connect func(ctx context.Context, create bool) (*Connection, error)
	// Begin starts a writing, BeginView a reading transaction; all reads of the
	// latter see one state.
	Begin, BeginView string
	// Commit ends a writing transaction.
	Commit func(context.Context, *sql.Conn) error
	// LockHead follows the selection of the head, so that no other transaction gets past its
	// own before this one ends; empty where Begin locks.
	LockHead string
	// Exists selects 1 if the tables are there, else 0. LockSchema makes those who create
	// them at the same time wait for each other; may be empty.
	Exists, LockSchema string
	// Integer is the type of whole numbers of 64 bits, Table follows the definition of a
	// table. Triggers are against slips, not against intent: who may drop a trigger may also
	// change rows, and the chain shows it.
	Integer, Table string
	Triggers       []string
	// Explain adds a remedy to errors that a user can fix.
	Explain func(error) error
	// Classify classifies an error of a statement.
	Classify func(error) Fault
	// NotCommitted reports whether an error of COMMIT proves that nothing was
	// committed, and if so what it means.
	NotCommitted func(error) (Fault, bool)
}

// Connection is the one connection of a database.
type Connection struct {
	*sql.Conn
	db *sql.DB
}

// Dial connects to a database, and configures the connection.
func Dial(ctx context.Context, db *sql.DB, configure func(context.Context, *sql.Conn) error) (*Connection, error) {
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	c := &Connection{conn, db}
	if err := configure(ctx, conn); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close closes the connection and the database.
func (c *Connection) Close() error { return errors.Join(c.Conn.Close(), c.db.Close()) }

// Statements that are the same everywhere.
const (
	commit   = "COMMIT"
	rollback = "ROLLBACK"
	readHead = "SELECT id, count, hash FROM sotto_ledger_head"
	insert   = "INSERT INTO sotto_ledger_row (seq, at, kind, subject, body, nonce, hash) VALUES ($1, $2, $3, $4, $5, $6, $7)"
	moveHead = "UPDATE sotto_ledger_head SET count = $1, hash = $2 WHERE count = $3 AND hash = $4"
	readRows = "SELECT seq, at, kind, subject, body, nonce, hash FROM sotto_ledger_row WHERE seq > $1 ORDER BY seq"
	readHash = "SELECT hash FROM sotto_ledger_row WHERE seq = $1"
)

// Commit runs COMMIT as any other statement.
func Commit(ctx context.Context, c *sql.Conn) error {
	_, err := c.ExecContext(ctx, commit)
	return err
}
