package postgres

import "github.com/sotto-dp/sotto/privacy/ledger/internal/sqlchain"

var dialect = sqlchain.Dialect{
	Begin:     "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
	BeginView: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
	Commit:    commit,
	LockHead:  " FOR UPDATE",
	Exists:    "SELECT CASE WHEN to_regclass('sotto_ledger_head') IS NULL THEN 0 ELSE 1 END",
	// Two programs that both find no tables must not both make them.
	LockSchema: "SELECT pg_advisory_xact_lock(hashtext('sotto ledger schema'))",
	Integer:    "bigint",
	Triggers: []string{
		`CREATE FUNCTION sotto_ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'rows of the ledger are never changed or removed'; END $$`,
		`CREATE TRIGGER sotto_ledger_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON sotto_ledger_row
			FOR EACH STATEMENT EXECUTE FUNCTION sotto_ledger_append_only()`,
	},
	Explain:      func(err error) error { return err },
	Classify:     classify,
	NotCommitted: notCommitted,
}
