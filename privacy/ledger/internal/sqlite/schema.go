package sqlite

import "github.com/sotto-dp/sotto/privacy/ledger/internal/sqlchain"

var dialect = sqlchain.Dialect{
	Begin:     "BEGIN IMMEDIATE",
	BeginView: "BEGIN",
	Commit:    sqlchain.Commit,
	Exists:    "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'sotto_ledger_head'",
	Integer:   "INTEGER",
	Table:     " STRICT",
	Triggers: []string{
		`CREATE TRIGGER sotto_ledger_row_update BEFORE UPDATE ON sotto_ledger_row
			BEGIN SELECT raise(ABORT, 'rows of the ledger are never changed'); END`,
		`CREATE TRIGGER sotto_ledger_row_delete BEFORE DELETE ON sotto_ledger_row
			BEGIN SELECT raise(ABORT, 'rows of the ledger are never removed'); END`,
	},
	Explain:      explain,
	Classify:     classify,
	NotCommitted: notCommitted,
}
