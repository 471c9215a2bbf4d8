package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// migrations bring the tables from one version to the next. What was released is never
// changed: a change is a new one. BYTES and SERIAL stand for the databases' own types. Names
// begin with service_, because a database may have other programs' tables too.
var migrations = []string{
	`CREATE TABLE service_state (generation BIGINT NOT NULL);
INSERT INTO service_state (generation) VALUES (1);
CREATE TABLE service_audit (id SERIAL, at BIGINT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, subject TEXT NOT NULL);
CREATE TABLE service_keys (
	id TEXT PRIMARY KEY, name TEXT NOT NULL, hash BYTES NOT NULL, routes TEXT NOT NULL,
	per_minute BIGINT NOT NULL, created BIGINT NOT NULL, expires BIGINT NOT NULL, revoked BIGINT NOT NULL, rotated BIGINT NOT NULL
);
CREATE TABLE service_routes (
	name TEXT NOT NULL, version BIGINT NOT NULL, spec TEXT NOT NULL, created BIGINT NOT NULL, actor TEXT NOT NULL,
	PRIMARY KEY (name, version)
);
CREATE TABLE service_active (name TEXT PRIMARY KEY, version BIGINT NOT NULL, FOREIGN KEY (name, version) REFERENCES service_routes (name, version))`,
	// What a key may spend, what it may look after, and the first of those that it was rotated
	// from, whose spending counts for all of them.
	`ALTER TABLE service_keys ADD COLUMN answers BIGINT NOT NULL DEFAULT 0;
ALTER TABLE service_keys ADD COLUMN admin BIGINT NOT NULL DEFAULT 0;
ALTER TABLE service_keys ADD COLUMN origin TEXT NOT NULL DEFAULT '';
CREATE TABLE service_asked (origin TEXT PRIMARY KEY, answers BIGINT NOT NULL)`,
	// Jobs, what happened to them, and those that are due again and again.
	`CREATE TABLE service_jobs (
	id TEXT PRIMARY KEY, name TEXT NOT NULL, args TEXT NOT NULL, dir TEXT NOT NULL, schedule TEXT NOT NULL, actor TEXT NOT NULL,
	priority BIGINT NOT NULL, created BIGINT NOT NULL, due BIGINT NOT NULL, state TEXT NOT NULL,
	owner TEXT NOT NULL, lease BIGINT NOT NULL, attempt BIGINT NOT NULL, excused BIGINT NOT NULL, failures BIGINT NOT NULL, cancel BIGINT NOT NULL, open BIGINT NOT NULL,
	place TEXT NOT NULL, started BIGINT NOT NULL, ended BIGINT NOT NULL, progress TEXT NOT NULL, result TEXT NOT NULL, error TEXT NOT NULL
);
CREATE INDEX service_jobs_next ON service_jobs (state, priority, due);
CREATE TABLE service_job_events (id SERIAL, job TEXT NOT NULL, at BIGINT NOT NULL, event TEXT NOT NULL, detail TEXT NOT NULL);
CREATE INDEX service_job_events_job ON service_job_events (job);
CREATE TABLE service_schedules (
	name TEXT PRIMARY KEY, cron TEXT NOT NULL, args TEXT NOT NULL, dir TEXT NOT NULL, priority BIGINT NOT NULL, open BIGINT NOT NULL,
	next BIGINT NOT NULL, created BIGINT NOT NULL, actor TEXT NOT NULL
)`,
	accountTables,
	// Files of records that were uploaded. What is in them is encrypted, elsewhere.
	`CREATE TABLE service_uploads (
	id TEXT PRIMARY KEY, name TEXT NOT NULL, file TEXT NOT NULL, size BIGINT NOT NULL, created BIGINT NOT NULL, actor TEXT NOT NULL, removed BIGINT NOT NULL
)`,
	// Whose records an upload holds, as owners say. Those that were there before wait too.
	`ALTER TABLE service_uploads ADD COLUMN state TEXT NOT NULL DEFAULT 'waiting';
ALTER TABLE service_uploads ADD COLUMN dataset TEXT NOT NULL DEFAULT '';
ALTER TABLE service_uploads ADD COLUMN first TEXT NOT NULL DEFAULT '';
CREATE TABLE service_upload_decisions (
	upload TEXT NOT NULL REFERENCES service_uploads (id), dataset TEXT NOT NULL, account TEXT NOT NULL,
	claimed BIGINT NOT NULL, shared BIGINT NOT NULL, reason TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (upload, dataset)
)`,
	// A job is a request and a plan. What was there before are command lines, which workers refuse.
	`ALTER TABLE service_jobs RENAME COLUMN args TO work;
ALTER TABLE service_schedules RENAME COLUMN args TO work`,
}

// statements of a migration in the database's own words.
func (s *Store) statements(migration string) []string {
	words := strings.NewReplacer("BYTES", "BLOB", "id SERIAL", "id INTEGER PRIMARY KEY AUTOINCREMENT")
	if s.postgres {
		words = strings.NewReplacer("BYTES", "BYTEA", "id SERIAL", "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
	}
	return strings.Split(words.Replace(migration), ";\n")
}

// migrate brings the tables to the newest version, in one transaction and one process at a
// time.
func (s *Store) migrate(ctx context.Context, create bool) error {
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
	have, err := s.version(ctx, tx, create)
	switch {
	case err != nil:
		return err
	case have > len(migrations):
		return fmt.Errorf("it was written by a newer program (version %d, this one knows %d): use that", have, len(migrations))
	case have == 0 && !create:
		return fmt.Errorf("%w: the database has none of its tables", ErrMissing)
	case have == len(migrations):
		return nil
	}
	for i := have; i < len(migrations); i++ {
		for _, statement := range s.statements(migrations[i]) {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("bring the tables to version %d: %w", i+1, err)
			}
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE service_schema SET version = $1", len(migrations)); err != nil {
		return err
	}
	return tx.Commit()
}

// version returns that of the tables, 0 if there are none.
func (s *Store) version(ctx context.Context, tx *sql.Tx, create bool) (n int, err error) {
	query := "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'service_schema'"
	if s.postgres {
		query = "SELECT COUNT(*) FROM (SELECT to_regclass('service_schema') AS found) AS look WHERE found IS NOT NULL"
	}
	if err := tx.QueryRowContext(ctx, query).Scan(&n); err != nil || n == 0 && !create {
		return 0, err
	}
	if n == 0 {
		for _, statement := range []string{"CREATE TABLE service_schema (version INTEGER NOT NULL)", "INSERT INTO service_schema (version) VALUES (0)"} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return 0, err
			}
		}
	}
	err = tx.QueryRowContext(ctx, "SELECT version FROM service_schema").Scan(&n)
	return n, err
}
