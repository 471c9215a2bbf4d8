// Package sqlchain keeps a [chain.Store] in the tables of an SQL database.
//
// Both databases are reached through database/sql. The transactions, statements and
// tables are here, once; a [Dialect] says what differs: how to connect, how to begin a
// transaction that excludes other writers, and what an error proves.
//
// # Why no two writers interleave
//
// Every writing transaction reads the head under an exclusive lock before
// anything else (SQLite: BEGIN IMMEDIATE; PostgreSQL: SELECT … FOR UPDATE of the
// one row of the head table) and holds it until it ends. Two things stand behind
// the lock, should it ever fail to exclude: the number of a row is the primary
// key, so that two rows cannot have the same one, and the head is moved by an
// UPDATE that names the head it was read as, and must hit one row.
//
// # Why an unknown outcome can be found out
//
// When a connection is lost during COMMIT, the transaction may yet be running
// in the server. It holds the lock until it is committed or gone. So a later
// transaction that has the lock comes after its end, and sees whether the row
// with the hash that was to be written is there. The hash covers a random nonce,
// so no other writer's row is mistaken for it.
package sqlchain
