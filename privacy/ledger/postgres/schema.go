package postgres

import "github.com/sotto-dp/sotto/privacy/ledger/internal/sqlchain"

var dialect = sqlchain.Dialect{
	Begin:     "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
	BeginView: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
	Exists:    "SELECT CASE WHEN to_regclass('sotto_ledger_schema') IS NULL THEN 0 ELSE 1 END",
	// Two programs that both find no tables must not both make them.
	LockSchema: "SELECT pg_advisory_xact_lock(hashtext('sotto ledger schema'))",
	LockHead:   "SELECT h.id, h.count, h.hash, (SELECT max(version) FROM sotto_ledger_schema) FROM sotto_ledger_head h FOR UPDATE OF h",
	Insert:     "INSERT INTO sotto_ledger_row (seq, at, kind, subject, body, nonce, hash) VALUES ($1, $2, $3, $4, $5, $6, $7)",
	MoveHead:   "UPDATE sotto_ledger_head SET count = $1, hash = $2 WHERE count = $3 AND hash = $4",
	Rows:       "SELECT seq, at, kind, subject, body, nonce, hash FROM sotto_ledger_row WHERE seq > $1 ORDER BY seq",
	Hash:       "SELECT hash FROM sotto_ledger_row WHERE seq = $1",
	AddVersion: "INSERT INTO sotto_ledger_schema (version) VALUES ($1)",
	Migrations: [][]string{
		{
			`CREATE TABLE sotto_ledger_schema (version integer PRIMARY KEY)`,
			`CREATE TABLE sotto_ledger_head (
				id integer PRIMARY KEY CHECK (id = 1),
				count bigint NOT NULL,
				hash text NOT NULL
			)`,
			`INSERT INTO sotto_ledger_head (id, count, hash) VALUES (1, 0, '` + zeroHash + `')`,
			`CREATE TABLE sotto_ledger_row (
				seq bigint PRIMARY KEY CHECK (seq > 0),
				at bigint NOT NULL,
				kind text NOT NULL,
				subject text NOT NULL,
				body text NOT NULL,
				nonce text NOT NULL,
				hash text NOT NULL
			)`,
			// Against slips, not against intent: who may drop a trigger may also
			// change rows, and the chain shows it.
			`CREATE FUNCTION sotto_ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN RAISE EXCEPTION 'rows of the ledger are never changed or removed'; END $$`,
			`CREATE TRIGGER sotto_ledger_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON sotto_ledger_row
				FOR EACH STATEMENT EXECUTE FUNCTION sotto_ledger_append_only()`,
		},
	},
	Classify:     classify,
	NotCommitted: notCommitted,
}

// zeroHash is the head of an empty log.
const zeroHash = "0000000000000000000000000000000000000000000000000000000000000000"
