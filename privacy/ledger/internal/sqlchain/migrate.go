package sqlchain

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/privacy/ledger/chain"
)

// migrate brings the tables to the newest version in one transaction. A
// database that is up to date is only read.
func (s *Store) migrate(ctx context.Context, create bool) (Fault, error) {
	if fault, err := s.connected(ctx, create); err != nil {
		return fault, err
	}
	tx := &transaction{store: s, ctx: ctx}
	have, err := tx.version(s.dialect.BeginView)
	s.abort(ctx)
	if err != nil {
		return tx.fault(err), err
	}
	if have == len(s.dialect.Migrations) {
		return Failed, nil
	}
	if have == 0 && !create {
		return Failed, fmt.Errorf("%w: the database has no ledger tables (is it the right one?)", chain.ErrMissing)
	}

	tx = &transaction{store: s, ctx: ctx, writing: true}
	if err := tx.migrate(); err != nil {
		s.abort(ctx)
		return tx.fault(err), err
	}
	// A commit with an unknown outcome is settled by looking again.
	s.trace("before", commit)
	_, err = s.conn.Exec(ctx, commit)
	s.trace("after", commit)
	if err != nil {
		fault, sure := s.dialect.NotCommitted(err)
		if !sure {
			fault = Lost
		}
		s.abort(ctx)
		return fault, err
	}
	return Failed, nil
}

// migrate runs the missing migrations.
func (tx *transaction) migrate() error {
	if _, err := tx.exec(tx.store.dialect.Begin); err != nil {
		return err
	}
	if lock := tx.store.dialect.LockSchema; lock != "" {
		if _, err := tx.exec(lock); err != nil {
			return err
		}
	}
	have, err := tx.readVersion()
	if err != nil {
		return err
	}
	for i, statements := range tx.store.dialect.Migrations[have:] {
		for _, statement := range statements {
			if _, err := tx.exec(statement); err != nil {
				return fmt.Errorf("bringing the ledger to schema version %d: %w", have+i+1, err)
			}
		}
		if _, err := tx.exec(tx.store.dialect.AddVersion, have+i+1); err != nil {
			return err
		}
	}
	return nil
}

// version begins a transaction and reads the version of the schema.
func (tx *transaction) version(begin string) (int, error) {
	if _, err := tx.exec(begin); err != nil {
		return 0, err
	}
	return tx.readVersion()
}

// readVersion returns 0 when there are no tables yet. The versions must be
// 1, 2, … without a gap, up to one that is known.
func (tx *transaction) readVersion() (int, error) {
	exists := 0
	if err := tx.query(func(c Cursor) error { return c.Scan(&exists) }, tx.store.dialect.Exists); err != nil {
		return 0, err
	}
	if exists == 0 {
		return 0, nil
	}
	var found []int
	err := tx.query(func(c Cursor) error {
		var v int
		if err := c.Scan(&v); err != nil {
			return &chain.TamperedError{Reason: "the schema version cannot be read"}
		}
		found = append(found, v)
		return nil
	}, versions)
	if err != nil {
		return 0, err
	}
	known := len(tx.store.dialect.Migrations)
	for i, v := range found {
		switch {
		case v != i+1 && v > known:
			return 0, &chain.SchemaError{Found: v, Known: known}
		case v != i+1:
			return 0, &chain.TamperedError{Reason: fmt.Sprintf("schema version %d stands where %d should", v, i+1)}
		}
	}
	if len(found) > known {
		return 0, &chain.SchemaError{Found: len(found), Known: known}
	}
	if len(found) == 0 {
		return 0, &chain.TamperedError{Reason: "the table of schema versions is empty"}
	}
	return len(found), nil
}

// Audit implements [chain.Auditor]: the schema has the version that this
// program knows.
func (s *Store) Audit(ctx context.Context) error {
	return s.view(ctx, func(tx *transaction) error {
		have, err := tx.version(s.dialect.BeginView)
		if err == nil && have != len(s.dialect.Migrations) {
			err = &chain.TamperedError{Reason: fmt.Sprintf("the schema version went back from %d to %d", len(s.dialect.Migrations), have)}
		}
		return err
	})
}
