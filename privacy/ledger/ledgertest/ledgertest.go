// Package ledgertest has what tests of the ledger, and of programs that charge one, share:
// ledgers in memory, and a meter that counts.
//
// Its own tests are the suite that every back-end of the ledger passes. Variables make
// longer runs: SOTTO_LEDGER_CLIENTS (concurrent clients of the linearisability test, 64),
// SOTTO_LEDGER_OPS (operations of each, 6), SOTTO_LEDGER_KILLS (kills at random times, 6)
// and SOTTO_LEDGER_MODELS (histories against the model on a database, 4).
package ledgertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math"
	"strconv"
	"testing"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// New makes a ledger in memory. Without a meter it has the real accountants.
func New(t testing.TB, meter ledger.NewMeter) *ledger.Ledger {
	t.Helper()
	l, err := ledger.New(context.Background(), &memory{log: newMemoryLog()}, ledger.Options{Create: true, Meter: meter})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Checks has rapid make so many checks in a test instead of 100.
func Checks(t testing.TB, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks").Value
	was := checks.String()
	if err := checks.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := checks.Set(was); err != nil {
			t.Error(err)
		}
	})
}

// Count returns a meter that only knows pure(n) with a whole number n, and adds them up.
// Exact, so that tests can be too.
func Count(*ledger.Budget) (ledger.Meter, error) { return new(count), nil }

type count struct{ total int64 }

func countOf(terms []privacy.Term) (int64, error) {
	var sum int64
	for _, t := range terms {
		p, ok := t.Event.(privacy.Pure)
		if !ok || p.Epsilon != math.Trunc(p.Epsilon) {
			return 0, fmt.Errorf("the counting meter cannot handle %s", t.Event)
		}
		sum += t.N * int64(p.Epsilon)
	}
	return sum, nil
}

// Allows implements [ledger.Meter].
func (c *count) Allows(terms []privacy.Term, limit, delta float64) (float64, bool, error) {
	n, err := countOf(terms)
	needed := float64(c.total + n)
	return needed, needed <= limit, err
}

// Add implements [ledger.Meter].
func (c *count) Add(terms []privacy.Term) error {
	n, err := countOf(terms)
	c.total += n
	return err
}

// Remove implements [ledger.Meter].
func (c *count) Remove(terms []privacy.Term) error {
	n, err := countOf(terms)
	c.total -= n
	return err
}

// Epsilon implements [ledger.Meter].
func (c *count) Epsilon(limit, delta float64) (float64, error) { return float64(c.total), nil }

// Price implements [ledger.Pricer].
func (c *count) Price(terms []privacy.Term, _, _ float64) (ledger.Cost, error) {
	n, err := countOf(terms)
	return ledger.Cost{Epsilon: float64(n)}, err
}

type memoryLog struct {
	turn chan struct{}
	made bool
	rows []chain.Row
}

func newMemoryLog() *memoryLog { return &memoryLog{turn: make(chan struct{}, 1)} }

// memory keeps a log in this process.
type memory struct {
	log    *memoryLog
	closed bool
}

func (m *memory) in(ctx context.Context, f func() error) error {
	select {
	case m.log.turn <- struct{}{}:
		defer func() { <-m.log.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.closed {
		return errors.New("closed")
	}
	return f()
}

// Update implements [chain.Store].
func (m *memory) Update(ctx context.Context, f func(chain.Tx) error) error {
	return m.in(ctx, func() error {
		tx := &memoryTx{rows: m.log.rows}
		if err := f(tx); err != nil {
			return err
		}
		m.log.rows = tx.rows
		return nil
	})
}

// View implements [chain.Store].
func (m *memory) View(ctx context.Context, f func(chain.Reader) error) error {
	return m.in(ctx, func() error { return f(&memoryTx{rows: m.log.rows}) })
}

// Close implements [chain.Store].
func (m *memory) Close() error {
	return m.in(context.Background(), func() error {
		m.closed = true
		return nil
	})
}

type memoryTx struct{ rows []chain.Row }

// Head implements [chain.Reader].
func (tx *memoryTx) Head() (chain.Head, error) {
	if len(tx.rows) == 0 {
		return chain.Head{}, nil
	}
	last := tx.rows[len(tx.rows)-1]
	return chain.Head{Count: last.Seq, Hash: last.Hash}, nil
}

// Rows implements [chain.Reader].
func (tx *memoryTx) Rows(after int64) iter.Seq2[chain.Row, error] {
	return func(yield func(chain.Row, error) bool) {
		for _, r := range tx.rows[after:] {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Append implements [chain.Tx].
func (tx *memoryTx) Append(r chain.Row) error {
	head, _ := tx.Head()
	if r.Seq != head.Count+1 || r.Hash != r.Sum(head.Hash) {
		return errors.New("the row is not sealed on the head")
	}
	tx.rows = append(tx.rows, r)
	return nil
}
