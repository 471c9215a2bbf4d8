package sqlchain

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// schema creates the tables, with the head of an empty log.
func (d *Dialect) schema() []string {
	return append([]string{
		fmt.Sprintf(`CREATE TABLE sotto_ledger_head (
			id %[1]s PRIMARY KEY CHECK (id = 1),
			count %[1]s NOT NULL,
			hash TEXT NOT NULL
		)%[2]s`, d.Integer, d.Table),
		fmt.Sprintf("INSERT INTO sotto_ledger_head (id, count, hash) VALUES (1, 0, '%s')", chain.Hash{}),
		fmt.Sprintf(`CREATE TABLE sotto_ledger_row (
			seq %[1]s PRIMARY KEY CHECK (seq > 0),
			at %[1]s NOT NULL,
			kind TEXT NOT NULL,
			subject TEXT NOT NULL,
			body TEXT NOT NULL,
			nonce TEXT NOT NULL,
			hash TEXT NOT NULL
		)%[2]s`, d.Integer, d.Table),
	}, d.Triggers...)
}

// prepare makes the tables if they are not there. A database that has them is only read.
func (s *Store) prepare(ctx context.Context, create bool) (Fault, error) {
	if fault, err := s.connected(ctx, create); err != nil {
		return fault, err
	}
	tx := &transaction{store: s, ctx: ctx}
	there, err := tx.made(s.dialect.BeginView)
	s.abort(ctx)
	if err != nil || there {
		return tx.fault(err), err
	}
	if !create {
		return Failed, fmt.Errorf("%w: the database has no ledger tables (is it the right one?)", chain.ErrMissing)
	}
	tx = &transaction{store: s, ctx: ctx, writing: true}
	if err := tx.make(); err != nil {
		s.abort(ctx)
		return tx.fault(err), err
	}
	// A commit with an unknown outcome is settled by looking again.
	if err := s.end(ctx); err != nil {
		fault, sure := s.dialect.NotCommitted(err)
		if !sure {
			fault = Lost
		}
		s.abort(ctx)
		return fault, err
	}
	return Failed, nil
}

// made begins a transaction and reports whether the tables are there.
func (tx *transaction) made(begin string) (bool, error) {
	if _, err := tx.exec(begin); err != nil {
		return false, err
	}
	return tx.exists()
}

func (tx *transaction) exists() (bool, error) {
	n := 0
	err := tx.query(func(scan func(...any) error) error { return scan(&n) }, tx.store.dialect.Exists)
	return n > 0, err
}

// make creates the tables, unless another program was faster.
func (tx *transaction) make() error {
	if _, err := tx.exec(tx.store.dialect.Begin); err != nil {
		return err
	}
	if lock := tx.store.dialect.LockSchema; lock != "" {
		if _, err := tx.exec(lock); err != nil {
			return err
		}
	}
	there, err := tx.exists()
	if err != nil || there {
		return err
	}
	for _, statement := range tx.store.dialect.schema() {
		if _, err := tx.exec(statement); err != nil {
			return fmt.Errorf("making the tables of the ledger: %w", err)
		}
	}
	return nil
}
