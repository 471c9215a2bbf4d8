package torch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// TestWholeRequests: what does not fit takes nothing, though some of it would fit.
func TestWholeRequests(t *testing.T) {
	b := newBooks(4, 3)
	one, two := &sequence{state: -1}, &sequence{state: -1}
	if _, err := b.grow([]extension{{one, make([]lm.Token, 8)}, {two, make([]lm.Token, 8)}}); !errors.Is(err, ErrFull) || b.used() != 0 {
		t.Fatalf("%v, and %d pages are in use", err, b.used())
	}
	all, err := b.grow([]extension{{one, make([]lm.Token, 8)}, {two, make([]lm.Token, 4)}})
	expect.NoError(t, err)
	expect.Equal(t, "b.used()", b.used(), 3)
	expect.Len(t, "all", all, 2)
}

// crew are sessions on a pool, without a worker that computes.
func crew(pages, sessions int) []*session {
	w := &worker{books: newBooks(4, pages), room: newRoom()}
	w.books.freed = w.room.freed
	list := make([]*session, sessions)
	for i := range list {
		w.room.enter()
		list[i] = &session{worker: w, sequences: map[lm.Sequence]*sequence{}}
	}
	return list
}

// step extends a new sequence of a session.
func (s *session) step(ctx context.Context, tokens int) error {
	q, err := s.New()
	if err != nil {
		return err
	}
	r := &request{steps: []lm.Step{{Sequence: q, Tokens: make([]lm.Token, tokens)}}}
	if err := s.prepare(ctx, r); err != nil {
		return err
	}
	s.worker.books.commit(r.grown[0])
	return nil
}

func TestWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crew(4, 2)
		if err := s[0].step(t.Context(), 12); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- s[1].step(t.Context(), 12) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("did not wait: %v", err)
		default:
		}
		if n := s[0].worker.room.busy(); n != 1 {
			t.Errorf("%d sessions are busy while one of two waits", n)
		}
		// The other one cannot wait too: nobody would be left to give pages back.
		if err := s[0].step(t.Context(), 12); !errors.Is(err, ErrFull) {
			t.Errorf("all sessions wait: %v", err)
		}
		if err := s[0].Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Errorf("pages were given back: %v", err)
		}
		if err := s[1].step(t.Context(), 12); !errors.Is(err, ErrFull) {
			t.Errorf("nobody else is there: %v", err)
		}
	})
}

// TestWaitEnds: a session that waits is told of its context, and of others that go without
// having held anything.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crew(4, 3)
		if err := s[0].step(t.Context(), 12); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s[0].step(ctx, 12) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v instead of the end of the context", err)
		}
		go func() { done <- s[0].step(t.Context(), 12) }()
		synctest.Wait()
		s[1].Close()
		synctest.Wait()
		s[2].Close()
		if err := <-done; !errors.Is(err, ErrFull) {
			t.Errorf("alone, and still waiting or %v", err)
		}
	})
}

// TestCrowd: many sessions with work for several pools get all of it done.
func TestCrowd(t *testing.T) {
	s := crew(20, 8)
	var all sync.WaitGroup
	for _, one := range s {
		all.Go(func() {
			defer one.Close()
			for range 50 {
				if err := one.step(t.Context(), 40); err != nil {
					t.Error(err)
					return
				}
				for q := range one.sequences {
					one.Drop(q)
				}
			}
		})
	}
	all.Wait()
	if n := s[0].worker.books.used(); n != 0 {
		t.Errorf("%d pages in use", n)
	}
}
