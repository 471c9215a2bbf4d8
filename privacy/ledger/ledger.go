package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/postgres"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/sqlite"
)

// Options of a ledger. The zero value opens an existing ledger.
type Options struct {
	// Create makes the ledger if there is none. Default: a missing ledger is [ErrMissing],
	// because a new one has forgotten all charges.
	Create bool
	// Timeout bounds a call whose context has no deadline. Default: 30 s.
	Timeout time.Duration
	// Clock returns the time. Default: time.Now.
	Clock func() time.Time
	// Meter makes the meters of budgets. Default: [Accountants].
	Meter NewMeter
}

// Ledger keeps budgets and charges. Several goroutines may use it, and several ledgers in
// several processes may be open on the same address.
type Ledger struct {
	store   chain.Store
	clock   func() time.Time
	meter   NewMeter
	timeout time.Duration

	// turn is held by the one who uses state. It is a channel, so that waiting can be
	// cancelled.
	turn  chan struct{}
	state *state
}

// Open opens the ledger at an address: the path of an SQLite file, or a
// PostgreSQL URL (postgres://…).
func Open(ctx context.Context, address string, opt Options) (*Ledger, error) {
	store, err := openStore(ctx, address, opt.Create)
	if err != nil {
		return nil, err
	}
	l, err := New(ctx, store, opt)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return l, nil
}

func openStore(ctx context.Context, address string, create bool) (chain.Store, error) {
	scheme, path, found := strings.Cut(address, ":")
	switch {
	case found && (scheme == "postgres" || scheme == "postgresql"):
		return postgres.Open(ctx, address, postgres.Options{Create: create})
	case found && scheme == "sqlite":
		return sqlite.Open(ctx, strings.TrimPrefix(path, "//"), sqlite.Options{Create: create})
	case strings.Contains(address, "://"):
		return nil, input("the ledger's address begins with %s://, it should be a file name or begin with postgres://", scheme)
	}
	return sqlite.Open(ctx, address, sqlite.Options{Create: create})
}

// New opens the ledger kept in a store, and owns the store from then on unless
// it fails.
func New(ctx context.Context, store chain.Store, opt Options) (*Ledger, error) {
	l := &Ledger{
		store:   store,
		clock:   opt.Clock,
		meter:   opt.Meter,
		timeout: opt.Timeout,
		turn:    make(chan struct{}, 1),
		state:   newState(),
	}
	if l.clock == nil {
		l.clock = time.Now
	}
	if l.meter == nil {
		l.meter = Accountants
	}
	l.timeout = cmp.Or(l.timeout, 30*time.Second)
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	empty := false
	err := l.store.View(ctx, func(r chain.Reader) error {
		err := l.catchUp(r)
		empty = l.state.rows.Head().Count == 0
		return err
	})
	if err != nil || !empty {
		return l, err
	}
	if !opt.Create {
		return nil, fmt.Errorf("%w: its tables are empty", ErrMissing)
	}
	return l, l.found(ctx)
}

// found writes the first row, unless another writer was faster.
func (l *Ledger) found(ctx context.Context) error {
	return l.write(ctx, func(s *state, at int64) (*change, error) {
		if s.rows.Head().Count > 0 {
			return nil, nil
		}
		return &change{record: &ledgerRecord{Format: format}}, nil
	}, nil)
}

// Close closes the store.
func (l *Ledger) Close() error { return l.store.Close() }

// bounded adds a deadline to a context that has none.
func (l *Ledger) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, l.timeout)
}

func (l *Ledger) acquire(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the ledger: %w", ctx.Err())
	}
}

func (l *Ledger) release() { <-l.turn }

// catchUp moves the state over the rows that other writers added.
func (l *Ledger) catchUp(r chain.Reader) error {
	head, err := r.Head()
	if err != nil {
		return err
	}
	have := l.state.rows.Head()
	if head.Count < have.Count {
		return &TamperedError{Seq: head.Count + 1, Reason: "the row was there before and is gone"}
	}
	if head.Count > have.Count {
		for row, err := range r.Rows(have.Count) {
			if err != nil {
				return err
			}
			if err := l.state.apply(row); err != nil {
				return err
			}
		}
	}
	return l.state.rows.End(head)
}

// now returns the time of the ledger: the clock's, but never before the last row. So a
// clock that is set back cannot reopen a window that was closed when a row was written.
func (l *Ledger) now(s *state) int64 { return max(l.clock().UnixMicro(), s.rows.At()) }

// change is a row to be written.
type change struct {
	subject Fingerprint
	record  record
}

// write lets decide choose a row on the current state, and writes it. No one else writes in
// between. decide may run several times; if it returns neither a change nor an error,
// nothing is written. done, if given, then sees the state with the row, or nil if nothing
// was written.
func (l *Ledger) write(ctx context.Context, decide func(s *state, at int64) (*change, error), done func(*state, *chain.Row)) error {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	if err := l.acquire(ctx); err != nil {
		return err
	}
	defer l.release()
	var row *chain.Row
	err := l.store.Update(ctx, func(tx chain.Tx) error {
		row = nil
		if err := l.catchUp(tx); err != nil {
			return err
		}
		at := l.now(l.state)
		c, err := decide(l.state, at)
		if err != nil || c == nil {
			return err
		}
		if err := l.state.admits(c.subject, at, c.record); err != nil {
			return err
		}
		body, err := encode(c.record)
		if err != nil {
			return err
		}
		sealed := chain.Seal(l.state.rows.Head(), chain.Entry{
			Kind: c.record.kind(), Subject: string(c.subject), Body: body, At: at,
		})
		row = &sealed
		return tx.Append(sealed)
	})
	if err == nil && row != nil {
		err = l.state.apply(*row)
	}
	if err == nil && done != nil {
		done(l.state, row)
	}
	return err
}

// read runs f on the current state.
func (l *Ledger) read(ctx context.Context, f func(s *state, at int64) error) error {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	if err := l.acquire(ctx); err != nil {
		return err
	}
	defer l.release()
	if err := l.store.View(ctx, l.catchUp); err != nil {
		return err
	}
	return f(l.state, l.now(l.state))
}
