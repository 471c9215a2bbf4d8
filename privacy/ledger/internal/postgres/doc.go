// Package postgres keeps a ledger in a PostgreSQL database.
//
// # Locking
//
// A writing transaction runs at READ COMMITTED and begins with SELECT … FOR
// UPDATE of the one row of the head table. PostgreSQL makes it wait until the
// transaction that holds that row ends, and then gives it the row as that one
// left it; the statements that follow see everything committed by then. (At
// SERIALIZABLE the same lock would make every writer that had to wait fail and
// start again.) Serialisation failures and deadlocks, which a server with
// other settings might still report, are tried again.
//
// # Durability
//
// synchronous_commit is raised to "on" if the server or the role has a weaker
// default, and a server that runs with fsync or full_page_writes off is refused:
// a power cut could make it forget charges. If the server fails over to a
// standby that is not synchronous, it can forget the last charges too; use a
// synchronous standby, and keep checkpoints.
//
// A client whose machine vanishes keeps the lock until the server notices: 20 s
// by TCP keep-alive, which the session turns on.
package postgres
