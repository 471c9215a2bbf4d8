package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// tables are all of them. BYTES and SERIAL stand for the databases' own types. Names begin with
// service_, because a database may have other programs' tables too.
const tables = `CREATE TABLE service_schema (version INTEGER NOT NULL);
INSERT INTO service_schema (version) VALUES (1);
CREATE TABLE service_state (generation BIGINT NOT NULL);
INSERT INTO service_state (generation) VALUES (1);
CREATE TABLE service_audit (id SERIAL, at BIGINT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, subject TEXT NOT NULL);
CREATE TABLE service_keys (
	id TEXT PRIMARY KEY, name TEXT NOT NULL, hash BYTES NOT NULL, routes TEXT NOT NULL, per_minute BIGINT NOT NULL,
	answers BIGINT NOT NULL, admin BIGINT NOT NULL, origin TEXT NOT NULL,
	created BIGINT NOT NULL, expires BIGINT NOT NULL, revoked BIGINT NOT NULL, rotated BIGINT NOT NULL
);
CREATE TABLE service_asked (origin TEXT PRIMARY KEY, answers BIGINT NOT NULL);
CREATE TABLE service_routes (
	name TEXT NOT NULL, version BIGINT NOT NULL, spec TEXT NOT NULL, created BIGINT NOT NULL, actor TEXT NOT NULL,
	PRIMARY KEY (name, version)
);
CREATE TABLE service_active (name TEXT PRIMARY KEY, version BIGINT NOT NULL, FOREIGN KEY (name, version) REFERENCES service_routes (name, version));
` + accountTables

// schemaVersion is that of [tables].
const schemaVersion = 1

// statements are the tables in the database's own words.
func (s *Store) statements() []string {
	words := strings.NewReplacer("BYTES", "BLOB", "id SERIAL", "id INTEGER PRIMARY KEY AUTOINCREMENT")
	if s.postgres {
		words = strings.NewReplacer("BYTES", "BYTEA", "id SERIAL", "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
	}
	return strings.Split(words.Replace(tables), ";\n")
}

// makeTables makes the tables if there are none, in one transaction and one process at a time.
func (s *Store) makeTables(ctx context.Context, create bool) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if s.postgres {
		// A number of our own, so that nobody else waits for it.
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(7203114)"); err != nil {
			return err
		}
	}
	have, err := s.version(ctx, tx)
	switch {
	case err != nil:
		return err
	case have == schemaVersion:
		return nil
	case have != 0:
		return fmt.Errorf("it was written by another program (version %d, this one knows %d): use that, or begin a new store", have, schemaVersion)
	case !create:
		return fmt.Errorf("%w: the database has none of its tables", ErrMissing)
	}
	for _, statement := range s.statements() {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make the tables: %w", err)
		}
	}
	return tx.Commit()
}

// version returns that of the tables, 0 if there are none.
func (s *Store) version(ctx context.Context, tx *sql.Tx) (n int, err error) {
	query := "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'service_schema'"
	if s.postgres {
		query = "SELECT COUNT(*) FROM (SELECT to_regclass('service_schema') AS found) AS look WHERE found IS NOT NULL"
	}
	if err := tx.QueryRowContext(ctx, query).Scan(&n); err != nil || n == 0 {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, "SELECT version FROM service_schema").Scan(&n)
	return n, err
}
