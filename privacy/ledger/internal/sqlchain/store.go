package sqlchain

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// Options of a store.
type Options struct {
	// Create allows to make the tables (and where it applies, the database).
	Create bool
	// Trace is called before and after each statement of a writing transaction
	// with the words "before" or "after" and the statement. For tests of what
	// happens when the program dies there. Default: none.
	Trace func(when, statement string)
}

// Store keeps a log in an SQL database, over one connection that is made again
// when it is lost.
type Store struct {
	dialect Dialect
	trace   func(when, statement string)

	// turn is held by the one who uses conn. It is a channel, so that waiting can be cancelled.
	turn chan struct{}
	conn *Connection
	once sync.Once
	done chan struct{}
}

// How often a lost connection is made again before giving up, how long a commit
// may take, and how long it may take to find out about one.
const (
	maxLost        = 5
	commitTimeout  = 30 * time.Second
	resolveTimeout = 10 * time.Second
)

var errClosed = errors.New("the ledger was closed")

// Open connects, and makes the tables where that is allowed and they are not there.
func Open(ctx context.Context, d Dialect, opt Options) (chain.Store, error) {
	s := &Store{dialect: d, trace: opt.Trace, turn: make(chan struct{}, 1), done: make(chan struct{})}
	if s.trace == nil {
		s.trace = func(string, string) {}
	}
	err := s.retry(ctx, func() (Fault, error) { return s.prepare(ctx, opt.Create) })
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close releases the connection. It waits for a transaction that is under way.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		close(s.done)
		s.turn <- struct{}{}
		defer func() { <-s.turn }()
		if s.conn != nil {
			err = s.conn.Close()
			s.conn = nil
		}
	})
	return err
}

// acquire waits for the connection.
func (s *Store) acquire(ctx context.Context) error {
	select {
	case <-s.done:
		return errClosed
	case s.turn <- struct{}{}:
		select {
		case <-s.done:
			s.release()
			return errClosed
		default:
			return nil
		}
	case <-ctx.Done():
		return fmt.Errorf("waiting for the ledger: %w", ctx.Err())
	}
}

func (s *Store) release() { <-s.turn }

// retry runs try until it succeeds, fails for good, or there is no more time.
func (s *Store) retry(ctx context.Context, try func() (Fault, error)) error {
	lost := 0
	for n := 0; ; n++ {
		fault, err := try()
		if err == nil || fault == Failed {
			return err
		}
		if fault == Lost {
			s.drop()
			if lost++; lost >= maxLost {
				return fmt.Errorf("the connection to the ledger was lost %d times: %w", lost, err)
			}
		}
		// Random waits keep many writers from meeting again and again.
		wait := jitter(min(time.Millisecond<<min(n, 6), 50*time.Millisecond))
		select {
		case <-ctx.Done():
			return fmt.Errorf("the ledger did not become free in time: %w (last: %w)", ctx.Err(), err)
		case <-time.After(wait):
		}
	}
}

// jitter returns a random time of up to d, and at least a millisecond.
func jitter(d time.Duration) time.Duration {
	var b [8]byte
	rand.Read(b[:]) // never fails, crypto/rand
	return time.Millisecond + time.Duration(binary.BigEndian.Uint64(b[:])%uint64(d))
}

// connected ensures that there is a connection.
func (s *Store) connected(ctx context.Context, create bool) (Fault, error) {
	if s.conn != nil {
		return Failed, nil
	}
	conn, err := s.dialect.Connect(ctx, create)
	if err != nil {
		return s.dialect.Classify(err), err
	}
	s.conn = conn
	return Failed, nil
}

// drop closes a connection that may be in any state. The server ends a
// transaction that was open on it.
func (s *Store) drop() {
	if s.conn != nil {
		_ = s.conn.Close() // it is of no use in any case
		s.conn = nil
	}
}

// abort ends a transaction without effect.
func (s *Store) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if s.conn == nil {
		return
	}
	if _, err := s.conn.ExecContext(ctx, rollback); err != nil {
		s.drop()
	}
}

// Update implements [chain.Store].
func (s *Store) Update(ctx context.Context, f func(chain.Tx) error) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	return s.retry(ctx, func() (Fault, error) { return s.try(ctx, f) })
}

// try runs one transaction.
func (s *Store) try(ctx context.Context, f func(chain.Tx) error) (Fault, error) {
	if fault, err := s.connected(ctx, false); err != nil {
		return fault, err
	}
	tx := &transaction{store: s, ctx: ctx, writing: true}
	err := tx.begin(s.dialect.Begin, readHead+s.dialect.LockHead)
	if err == nil {
		err = f(tx)
	}
	if tx.err != nil {
		err = tx.err // also when f made light of it
	}
	if err == nil && tx.last != nil {
		err = tx.moveHead()
	}
	if err != nil || tx.last == nil {
		s.abort(ctx)
		return tx.fault(err), err
	}
	return s.commit(ctx, tx)
}

// commit ends a transaction. If the outcome is in doubt, it finds out whether it was
// committed.
func (s *Store) commit(ctx context.Context, tx *transaction) (Fault, error) {
	// A commit that was begun is not given up when the caller loses patience:
	// that would only leave its outcome open.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	err := s.end(ctx)
	if err == nil {
		return Failed, nil
	}
	if fault, sure := s.dialect.NotCommitted(err); sure {
		s.abort(ctx)
		return fault, err
	}
	s.drop()
	there, failed := s.resolve(ctx, *tx.last)
	switch {
	case failed != nil:
		return Failed, fmt.Errorf("%w: %w; then, looking for it: %w", chain.ErrUnknown, err, failed)
	case there:
		return Failed, nil
	}
	return Lost, err
}

// end runs the commit.
func (s *Store) end(ctx context.Context) error {
	s.trace("before", commit)
	defer s.trace("after", commit)
	return s.dialect.Explain(s.dialect.Commit(ctx, s.conn.Conn))
}

// resolve determines whether a row was committed, by another transaction that comes after
// the one that was to write it.
func (s *Store) resolve(ctx context.Context, r chain.Row) (there bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	err = s.retry(ctx, func() (Fault, error) {
		if fault, err := s.connected(ctx, false); err != nil {
			return fault, err
		}
		tx := &transaction{store: s, ctx: ctx, writing: true}
		err := tx.begin(s.dialect.Begin, readHead+s.dialect.LockHead)
		if err == nil {
			there, err = tx.has(r)
		}
		s.abort(ctx)
		return tx.fault(err), err
	})
	return there, err
}

// View implements [chain.Store].
func (s *Store) View(ctx context.Context, f func(chain.Reader) error) error {
	return s.view(ctx, func(tx *transaction) error {
		if err := tx.begin(s.dialect.BeginView, readHead); err != nil {
			return err
		}
		return f(tx)
	})
}

// view runs f in a reading transaction, which f begins.
func (s *Store) view(ctx context.Context, f func(*transaction) error) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	return s.retry(ctx, func() (Fault, error) {
		if fault, err := s.connected(ctx, false); err != nil {
			return fault, err
		}
		tx := &transaction{store: s, ctx: ctx}
		err := f(tx)
		if tx.err != nil {
			err = tx.err // also when f made light of it
		}
		s.abort(ctx)
		return tx.fault(err), err
	})
}
