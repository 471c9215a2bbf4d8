package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// testStore checks the contract of [chain.Store].
func testStore(t *testing.T, b backend) {
	ctx := t.Context()
	open := func(t *testing.T, address string, create bool) chain.Store {
		t.Helper()
		s, err := b.Open(ctx, address, options{Create: create})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	t.Run("a missing log is not made unasked", func(t *testing.T) {
		if s, err := b.Open(ctx, b.New(t), options{}); !errors.Is(err, chain.ErrMissing) {
			t.Errorf("opened %v with error %v", s, err)
		}
	})
	t.Run("rows come back as they were", func(t *testing.T) {
		address := b.New(t)
		s := open(t, address, true)
		var want []chain.Row
		for i := range 5 {
			r := appendRow(t, s, chain.Entry{Kind: "k", Subject: fmt.Sprint(i), Body: "{\"é\": \"\\u0000'\"}\n", At: int64(i)})
			want = append(want, r)
		}
		if s := open(t, address, false); len(verified(t, s)) != len(want) || verified(t, s)[3] != want[3] {
			t.Errorf("read %v, want %v", verified(t, s), want)
		}
	})
	t.Run("an error rolls back and is returned as it is", func(t *testing.T) {
		s := open(t, b.New(t), true)
		mine := errors.New("mine")
		err := s.Update(ctx, func(tx chain.Tx) error {
			if err := tx.Append(chain.Seal(chain.Head{}, chain.Entry{Kind: "k"})); err != nil {
				return err
			}
			return mine
		})
		if err != mine {
			t.Errorf("got %v, want the very error", err)
		}
		if rows := verified(t, s); len(rows) != 0 {
			t.Errorf("%d rows are left", len(rows))
		}
	})
	t.Run("a row must be sealed on the head", func(t *testing.T) {
		s := open(t, b.New(t), true)
		appendRow(t, s, chain.Entry{Kind: "k"})
		for name, head := range map[string]chain.Head{"empty": {}, "later": {Count: 2}, "other": {Count: 1}} {
			t.Run(name, func(t *testing.T) {
				err := s.Update(ctx, func(tx chain.Tx) error { return tx.Append(chain.Seal(head, chain.Entry{Kind: "k"})) })
				if err == nil {
					t.Errorf("a row sealed on the %s head was accepted", name)
				}
			})
		}
		if rows := verified(t, s); len(rows) != 1 {
			t.Errorf("%d rows are left, want 1", len(rows))
		}
	})
	t.Run("writers exclude each other", func(t *testing.T) {
		address := b.New(t)
		open(t, address, true)
		var inside, together int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 4 {
			s := open(t, address, false)
			for range 2 {
				wg.Go(func() {
					for range 5 {
						err := s.Update(ctx, func(tx chain.Tx) error {
							mu.Lock()
							if inside++; inside > 1 {
								together++
							}
							mu.Unlock()
							defer func() { mu.Lock(); inside--; mu.Unlock() }()
							head, err := tx.Head()
							if err != nil {
								return err
							}
							return tx.Append(chain.Seal(head, chain.Entry{Kind: "k", At: 1}))
						})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		if together > 0 {
			t.Errorf("two writers were inside %d times", together)
		}
		if rows := verified(t, open(t, address, false)); len(rows) != 40 {
			t.Errorf("%d rows, want 40", len(rows))
		}
	})
	t.Run("a given up call changes nothing", func(t *testing.T) {
		s := open(t, b.New(t), true)
		ctx, cancel := context.WithCancel(ctx)
		err := s.Update(ctx, func(tx chain.Tx) error {
			cancel()
			if err := tx.Append(chain.Seal(chain.Head{}, chain.Entry{Kind: "k"})); err != nil {
				return err
			}
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if err := s.Update(ctx, func(chain.Tx) error { return nil }); err == nil {
			t.Error("an update with a dead context succeeded")
		}
		if rows := verified(t, s); len(rows) != 0 {
			t.Errorf("%d rows are left", len(rows))
		}
	})
	t.Run("a closed store refuses", func(t *testing.T) {
		s := open(t, b.New(t), true)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.View(ctx, func(chain.Reader) error { return nil }); err == nil {
			t.Error("a closed store was read")
		}
		if err := s.Update(ctx, func(chain.Tx) error { return nil }); err == nil {
			t.Error("a closed store was written")
		}
	})
}

func appendRow(t *testing.T, s chain.Store, e chain.Entry) chain.Row {
	t.Helper()
	var row chain.Row
	err := s.Update(t.Context(), func(tx chain.Tx) error {
		head, err := tx.Head()
		if err != nil {
			return err
		}
		row = chain.Seal(head, e)
		return tx.Append(row)
	})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// verified reads all rows and checks their links.
func verified(t *testing.T, s chain.Store) []chain.Row {
	t.Helper()
	var rows []chain.Row
	err := s.View(t.Context(), func(r chain.Reader) error {
		rows = nil
		var v chain.Verifier
		for row, err := range r.Rows(0) {
			if err != nil {
				return err
			}
			if err := v.Next(row); err != nil {
				return err
			}
			rows = append(rows, row)
		}
		head, err := r.Head()
		if err != nil {
			return err
		}
		return v.End(head)
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
