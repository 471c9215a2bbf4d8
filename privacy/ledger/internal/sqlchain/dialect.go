package sqlchain

import "context"

// Conn is one connection to a database.
type Conn interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(ctx context.Context, statement string, args ...any) (int64, error)
	// Query runs a statement that returns rows.
	Query(ctx context.Context, statement string, args ...any) (Cursor, error)
	Close() error
}

// Cursor reads the rows of a query.
type Cursor interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

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
	// Connect opens a connection. create allows to make the database itself;
	// without it a missing one is [chain.ErrMissing].
	Connect func(ctx context.Context, create bool) (Conn, error)
	// Begin starts a writing, BeginView a reading transaction; all reads of the
	// latter see one state.
	Begin, BeginView string
	// Exists selects 1 if the table of schema versions is there, else 0.
	Exists string
	// LockSchema makes concurrent migrations wait for each other; may be empty.
	LockSchema string
	// LockHead selects the id, count and hash of the head and the newest schema
	// version, so that no other transaction gets past its own LockHead before
	// this one ends.
	LockHead string
	// Insert adds a row, MoveHead replaces a head (new count and hash, old count
	// and hash).
	Insert, MoveHead string
	// Rows selects the rows with a number above its argument, in order; Hash
	// selects the hash of one row.
	Rows, Hash string
	// AddVersion records a migration.
	AddVersion string
	// Migrations holds the statements that lead from one version of the schema
	// to the next; the first ones lead from nothing to version 1.
	Migrations [][]string
	// Classify classifies an error of a statement.
	Classify func(error) Fault
	// NotCommitted reports whether an error of COMMIT proves that nothing was
	// committed, and if so what it means.
	NotCommitted func(error) (Fault, bool)
}

// Statements that are the same everywhere.
const (
	commit   = "COMMIT"
	rollback = "ROLLBACK"
	readHead = "SELECT h.id, h.count, h.hash, (SELECT max(version) FROM sotto_ledger_schema) FROM sotto_ledger_head h"
	versions = "SELECT version FROM sotto_ledger_schema ORDER BY version"
)
