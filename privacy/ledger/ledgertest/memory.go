package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/privacy/ledger/chain"
)

// Memory returns a back-end that keeps logs in this process, for tests of what does not
// depend on a database.
func Memory() Backend {
	var mu sync.Mutex
	logs := map[string]*memoryLog{}
	at := func(address string) *memoryLog {
		mu.Lock()
		defer mu.Unlock()
		return logs[address]
	}
	return Backend{
		New: func(testing.TB) string {
			mu.Lock()
			defer mu.Unlock()
			address := fmt.Sprintf("memory %d", len(logs))
			logs[address] = &memoryLog{turn: make(chan struct{}, 1)}
			return address
		},
		Open: func(_ context.Context, address string, opt Options) (chain.Store, error) {
			log := at(address)
			if !opt.Create && !log.made {
				return nil, chain.ErrMissing
			}
			log.made = true
			return &memory{log: log}, nil
		},
	}
}

type memoryLog struct {
	turn chan struct{}
	made bool
	rows []chain.Row
}

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
