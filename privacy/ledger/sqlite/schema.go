package sqlite

import "github.com/sotto-dp/sotto/privacy/ledger/internal/sqlchain"

var dialect = sqlchain.Dialect{
	Begin:      "BEGIN IMMEDIATE",
	BeginView:  "BEGIN",
	Exists:     "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'sotto_ledger_schema'",
	LockHead:   "SELECT h.id, h.count, h.hash, (SELECT max(version) FROM sotto_ledger_schema) FROM sotto_ledger_head h",
	Insert:     "INSERT INTO sotto_ledger_row (seq, at, kind, subject, body, nonce, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
	MoveHead:   "UPDATE sotto_ledger_head SET count = ?, hash = ? WHERE count = ? AND hash = ?",
	Rows:       "SELECT seq, at, kind, subject, body, nonce, hash FROM sotto_ledger_row WHERE seq > ? ORDER BY seq",
	Hash:       "SELECT hash FROM sotto_ledger_row WHERE seq = ?",
	AddVersion: "INSERT INTO sotto_ledger_schema (version) VALUES (?)",
	Migrations: [][]string{
		{
			`CREATE TABLE sotto_ledger_schema (version INTEGER PRIMARY KEY) STRICT`,
			`CREATE TABLE sotto_ledger_head (
				id INTEGER PRIMARY KEY CHECK (id = 1),
				count INTEGER NOT NULL,
				hash TEXT NOT NULL
			) STRICT`,
			`INSERT INTO sotto_ledger_head (id, count, hash) VALUES (1, 0, '` + zeroHash + `')`,
			`CREATE TABLE sotto_ledger_row (
				seq INTEGER PRIMARY KEY CHECK (seq > 0),
				at INTEGER NOT NULL,
				kind TEXT NOT NULL,
				subject TEXT NOT NULL,
				body TEXT NOT NULL,
				nonce TEXT NOT NULL,
				hash TEXT NOT NULL
			) STRICT`,
			// Against slips, not against intent: who may drop a trigger may also
			// change rows, and the chain shows it.
			`CREATE TRIGGER sotto_ledger_row_update BEFORE UPDATE ON sotto_ledger_row
				BEGIN SELECT raise(ABORT, 'rows of the ledger are never changed'); END`,
			`CREATE TRIGGER sotto_ledger_row_delete BEFORE DELETE ON sotto_ledger_row
				BEGIN SELECT raise(ABORT, 'rows of the ledger are never removed'); END`,
		},
	},
	Classify:     classify,
	NotCommitted: notCommitted,
}

// zeroHash is the head of an empty log.
const zeroHash = "0000000000000000000000000000000000000000000000000000000000000000"
