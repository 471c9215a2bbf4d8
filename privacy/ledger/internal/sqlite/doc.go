// Package sqlite keeps a ledger in one SQLite file, through a driver in pure
// Go.
//
// # Durability
//
// The file uses a rollback journal with synchronous=EXTRA: before a commit
// returns, the database file, the journal, and the directory from which the
// journal was removed have been flushed to the disk. So a commit that returned
// cannot be rolled back by a journal that reappears after a power cut. Compared
// with a write-ahead log this costs a few flushes more per charge, and in return
// the ledger is one file between transactions, that can be copied, and that does
// not need shared memory.
//
// The file is created with mode 0600. It must be on a file system whose locks
// work: a local one, not an NFS mount without lock daemon.
//
// # Locking
//
// BEGIN IMMEDIATE takes the one write lock before the head is read. On Linux
// the locks belong to the open file and not to the process (open file
// description locks), so that another part of the same program that opens and
// closes the file, to copy it for example, does not silently drop them.
package sqlite
