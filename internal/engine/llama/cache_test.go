package llama

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

func tinyModel(t testing.TB, o Options) *Model {
	t.Helper()
	file, _ := tinyLlama.build(t)
	m, err := load(file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestPagesAreShared counts pages: a prefix is stored once, a fork holds no page of
// its own until it continues, and then copies the unfinished one at most.
func TestPagesAreShared(t *testing.T) {
	m := tinyModel(t, Options{})
	ctx := context.Background()
	s, _ := m.Open(ctx)
	root, _ := s.New()
	if _, err := s.Step(ctx, []lm.Step{{Sequence: root, Tokens: make([]lm.Token, 70)}}); err != nil { // 2 pages and 6 positions
		t.Fatal(err)
	}
	used := func(want int, when string) {
		t.Helper()
		if got := m.cache.used; got != want {
			t.Errorf("%s: %d pages, not %d", when, got, want)
		}
	}
	used(3, "after the prefix")
	forks := make([]lm.Sequence, 10)
	steps := make([]lm.Step, len(forks))
	for i := range forks {
		forks[i], _ = s.Fork(root)
		steps[i] = lm.Step{Sequence: forks[i], Tokens: []lm.Token{1}}
	}
	used(3, "after ten forks")
	if _, err := s.Step(ctx, steps); err != nil {
		t.Fatal(err)
	}
	used(13, "after each continued")
	if _, err := s.Step(ctx, steps); err != nil {
		t.Fatal(err)
	}
	used(13, "after another token")
	if err := s.Drop(root); err != nil {
		t.Fatal(err)
	}
	used(12, "without the prefix's own last page")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	used(0, "after the session")
}

// TestPlainStepLeavesNoGarbage: the layers of a step allocate nothing. What remains is the
// sequences' own states and pages and the answers, whatever the number of layers.
func TestPlainStepLeavesNoGarbage(t *testing.T) {
	if testing.CoverMode() != "" {
		t.Skip("counts are another under coverage")
	}
	ctx := context.Background()
	for _, threads := range []int{1, 2} {
		m := tinyModel(t, Options{Threads: threads})
		root := &sequence{}
		tokens := make([]int32, 3)
		g := m.grow(root, make([]lm.Token, len(tokens)), 0)
		m.weights.turnTo(len(tokens))
		spans := []span{{pages: g.pages, n: len(tokens), read: 1, states: g.hidden}}
		var err error
		forward := func() error { return m.pass.forward(ctx, tokens, spans) }
		if n := testing.AllocsPerRun(10, func() { err = m.pool.step(forward) }); n != 0 || err != nil {
			t.Errorf("%d threads: %v allocations in the layers, error %v", threads, n, err)
		}
	}
}

// countdown is a context that ends when it was asked a number of times: in the
// middle of a pass.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelWithinPass ends the context at every point where the engine looks at
// it. Each time the sequences are as before, and no page is lost.
func TestCancelWithinPass(t *testing.T) {
	m := tinyModel(t, Options{Threads: 2})
	ctx := context.Background()
	s, _ := m.Open(ctx)
	defer s.Close()
	root, _ := s.New()
	prefix := some(40, 1)
	for i := range prefix {
		prefix[i] %= 300
	}
	if _, err := s.Step(ctx, []lm.Step{{Sequence: root, Tokens: prefix}}); err != nil {
		t.Fatal(err)
	}
	q, _ := s.Fork(root)
	want := alone(t, m, append(prefix[:40:40], 5, 6, 7))
	before := m.cache.used
	for n := int64(0); ; n++ {
		c := &countdown{Context: ctx}
		c.left.Store(n)
		scores, err := s.Step(c, []lm.Step{{Sequence: q, Tokens: []lm.Token{5, 6, 7}, Ask: lm.Ask{All: true}}})
		if err == nil {
			if n < 4 {
				t.Errorf("the step looked at its context only %d times", n)
			}
			sameBits(t, "after the cancelled steps", scores[0].LogProbs, want)
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if length, _ := s.Len(q); length != 40 {
			t.Fatalf("a step cancelled at look %d left %d tokens", n, length)
		}
		if after := m.cache.used; after != before {
			t.Fatalf("a step cancelled at look %d left %d pages, before it were %d", n, after, before)
		}
	}
}

func TestClosedModel(t *testing.T) {
	file, _ := tinyLlama.build(t)
	m, err := load(file, Options{Threads: 3})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := m.Open(context.Background())
	q, _ := s.New()
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Step(context.Background(), []lm.Step{{Sequence: q, Tokens: []lm.Token{1}}}); !errors.Is(err, lm.ErrClosed) {
		t.Errorf("a step on a closed model: %v", err)
	}
	if _, err := m.Open(context.Background()); !errors.Is(err, lm.ErrClosed) {
		t.Errorf("a session of a closed model: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestConcurrentPool: every number is handed out once, for any number of workers, and regions
// do not overlap.
func TestConcurrentPool(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 8} {
		p := newPool(workers)
		for round := range 50 {
			err := p.step(func() error {
				for _, n := range []int{0, 1, 7, 100} {
					seen := make([]atomic.Int32, n)
					p.each(n, 1+round%9, func(_, from, to int) {
						for i := from; i < to; i++ {
							seen[i].Add(1)
						}
					})
					for i := range seen {
						if got := seen[i].Load(); got != 1 {
							t.Fatalf("%d workers: number %d of %d was handed out %d times", workers, i, n, got)
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if round%10 == 0 {
				time.Sleep(time.Millisecond) // let the workers fall asleep
			}
		}
		p.close()
	}
}
