package sqlchain

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// transaction implements [chain.Tx].
type transaction struct {
	store   *Store
	ctx     context.Context
	writing bool
	// err is the first error of the database.
	err error
	// read is the head as it was read, head as it is with the rows appended.
	read, head chain.Head
	last       *chain.Row
}

// fault decides whether an error of this transaction is worth another try. Errors that are
// not the database's own are final.
func (tx *transaction) fault(err error) Fault {
	if err == nil || tx.err == nil || tx.ctx.Err() != nil {
		return Failed
	}
	return tx.store.dialect.Classify(tx.err)
}

func (tx *transaction) failed(err error) error {
	err = tx.store.dialect.Explain(err)
	if given := tx.ctx.Err(); given != nil && !errors.Is(err, given) {
		err = fmt.Errorf("%w: %w", given, err) // drivers may report what the connection became
	}
	if tx.err == nil {
		tx.err = err
	}
	return err
}

func (tx *transaction) exec(statement string, args ...any) (int64, error) {
	if tx.writing {
		tx.store.trace("before", statement)
		defer tx.store.trace("after", statement)
	}
	r, err := tx.store.conn.ExecContext(tx.ctx, statement, args...)
	if err != nil {
		return 0, tx.failed(err)
	}
	return r.RowsAffected()
}

// query calls row for each row of the result.
func (tx *transaction) query(row func(scan func(...any) error) error, statement string, args ...any) error {
	if tx.writing {
		tx.store.trace("before", statement)
		defer tx.store.trace("after", statement)
	}
	rows, err := tx.store.conn.QueryContext(tx.ctx, statement, args...)
	if err != nil {
		return tx.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return tx.failed(err)
	}
	return nil
}

// begin starts the transaction and reads the head, with a lock if it writes.
func (tx *transaction) begin(begin, head string) error {
	if _, err := tx.exec(begin); err != nil {
		return err
	}
	found := 0
	var hash string
	var id int64
	err := tx.query(func(scan func(...any) error) error {
		if found++; found > 1 {
			return &chain.TamperedError{Reason: "there is more than one head"}
		}
		if err := scan(&id, &tx.read.Count, &hash); err != nil || id != 1 {
			return &chain.TamperedError{Reason: "the head cannot be read"}
		}
		return nil
	}, head)
	if err != nil {
		return err
	}
	if found == 0 {
		return &chain.TamperedError{Reason: "the head is missing"}
	}
	if tx.read.Hash, err = chain.ParseHash(hash); err != nil {
		return &chain.TamperedError{Reason: "the head cannot be read: " + err.Error()}
	}
	tx.head = tx.read
	return nil
}

// has reports whether the log holds a row.
func (tx *transaction) has(r chain.Row) (bool, error) {
	found := false
	err := tx.query(func(scan func(...any) error) error {
		var hash string
		if err := scan(&hash); err != nil {
			return tx.failed(err)
		}
		found = hash == r.Hash.String()
		return nil
	}, readHash, r.Seq)
	return found, err
}

// Head implements [chain.Reader].
func (tx *transaction) Head() (chain.Head, error) { return tx.head, tx.err }

// Rows implements [chain.Reader].
func (tx *transaction) Rows(after int64) iter.Seq2[chain.Row, error] {
	return func(yield func(chain.Row, error) bool) {
		stopped := false
		last := after
		err := tx.query(func(scan func(...any) error) error {
			r, err := readRow(scan, last)
			if err != nil {
				return err
			}
			last = r.Seq
			if !yield(r, nil) {
				stopped = true
				return errStopped
			}
			return nil
		}, readRows, after)
		if err != nil && !stopped {
			yield(chain.Row{}, err)
		}
	}
}

var errStopped = fmt.Errorf("reading was stopped")

func readRow(scan func(...any) error, last int64) (chain.Row, error) {
	var r chain.Row
	var hash string
	if err := scan(&r.Seq, &r.At, &r.Kind, &r.Subject, &r.Body, &r.Nonce, &hash); err != nil {
		return r, &chain.TamperedError{Seq: last + 1, Reason: "the row cannot be read"}
	}
	h, err := chain.ParseHash(hash)
	if err != nil {
		return r, &chain.TamperedError{Seq: r.Seq, Reason: err.Error()}
	}
	r.Hash = h
	return r, nil
}

// Append implements [chain.Tx].
func (tx *transaction) Append(r chain.Row) error {
	if r.Seq != tx.head.Count+1 || r.Hash != r.Sum(tx.head.Hash) {
		return fmt.Errorf("row %d is not sealed on the head of the log", r.Seq)
	}
	if _, err := tx.exec(insert, r.Seq, r.At, r.Kind, r.Subject, r.Body, r.Nonce, r.Hash.String()); err != nil {
		return err
	}
	tx.head = chain.Head{Count: r.Seq, Hash: r.Hash}
	tx.last = &r
	return nil
}

// moveHead stores the new head, if the stored one is still the one read.
func (tx *transaction) moveHead() error {
	n, err := tx.exec(moveHead, tx.head.Count, tx.head.Hash.String(), tx.read.Count, tx.read.Hash.String())
	if err == nil && n != 1 {
		err = &chain.TamperedError{Reason: "the head changed under a lock"}
	}
	return err
}
