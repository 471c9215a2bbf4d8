// Package chain is an append-only log whose rows are linked by SHA-256.
//
// Row n holds a hash over everything in row n and the hash of
// row n−1, and a separate head holds how many rows there are and the hash of
// the last. Changing, removing, inserting or reordering rows breaks a link;
// cutting rows off the end disagrees with the head. [Verifier] finds the first
// place where that happens.
//
// # What a reader can and cannot see
//
// The hashes have no key. Someone who can write to the database can recompute
// all of them, and so replace the whole log, or shorten it and its head, without
// leaving a trace inside it. What they cannot do is meet a [Checkpoint] that was
// kept somewhere else: a log that has the checkpointed row with the checkpointed
// hash has, short of a SHA-256 collision, every row up to it unchanged. A
// checkpoint says nothing about rows that came after it.
//
// # Stores
//
// A [Store] keeps the log. Its contract is the whole of what the ledger's
// safety needs from a database: one writer at a time, from the reading of the
// head to the commit; durable before it returns; nil only when committed; and
// an error that says so when the outcome cannot be known.
package chain
