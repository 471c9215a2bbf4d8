package torch

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// used returns the number of pages in use.
func (b *books) used() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.refs) - len(b.free)
}

// TestBooks runs random histories and checks, after each move, that pages and states are
// counted as sequences hold them, and that nobody writes to what another reads.
func TestBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBooks(4, 40)
		held := []*sequence{{state: -1}}
		for range rapid.IntRange(1, 40).Draw(t, "moves") {
			q := held[rapid.IntRange(0, len(held)-1).Draw(t, "which")]
			switch rapid.IntRange(0, 3).Draw(t, "move") {
			case 0:
				held = append(held, b.fork(q))
			case 1:
				if len(held) > 1 {
					b.drop(q)
					held = slices.DeleteFunc(held, func(other *sequence) bool { return other == q })
				}
			default:
				extend(t, b, q, held)
			}
			checkCounts(t, b, held)
		}
		for _, q := range held {
			b.drop(q)
		}
		if n := b.used(); n != 0 {
			t.Fatalf("%d pages in use after all is dropped", n)
		}
	})
}

func extend(t *rapid.T, b *books, q *sequence, held []*sequence) {
	n := rapid.IntRange(1, 11).Draw(t, "tokens")
	before, used := *q, b.used()
	all, err := b.grow([]extension{{q, make([]lm.Token, n)}})
	if err != nil {
		if !errors.Is(err, ErrFull) || b.used() != used {
			t.Fatalf("refused with %v, %d pages in use, %d before", err, b.used(), used)
		}
		return
	}
	g := all[0]
	if rapid.Bool().Draw(t, "fails") {
		b.undo(g)
		at := expect.At(t, "a step that failed left something behind")
		expect.Equal(at, "b.used()", b.used(), used)
		expect.Equal(at, "q.length", q.length, before.length)
		expect.True(at, "q.pages equal to before.pages", slices.Equal(q.pages, before.pages), q.pages, before.pages)
		expect.Equal(at, "q.state", q.state, before.state)
		return
	}
	b.commit(g)
	if q.length != before.length+n || len(q.pages) != (q.length+b.page-1)/b.page {
		t.Fatalf("%d tokens on %d pages", q.length, len(q.pages))
	}
	for i := before.length / b.page; i < len(q.pages); i++ {
		for _, other := range held {
			if other != q && slices.Contains(other.pages, q.pages[i]) {
				t.Fatal("a page that is written to belongs to another sequence too")
			}
		}
	}
	if g.copies && (g.copied[0] != before.pages[len(before.pages)-1] || g.copied[1] != q.pages[len(before.pages)-1]) {
		t.Fatal("the copy is not of the last page")
	}
}

func checkCounts(t *rapid.T, b *books, held []*sequence) {
	pages, states := make([]int32, len(b.refs)), make([]int32, len(b.states))
	for _, q := range held {
		for _, p := range q.pages {
			pages[p]++
		}
		if q.state >= 0 {
			states[q.state]++
		}
	}
	if !slices.Equal(pages, b.refs) || !slices.Equal(states, b.states) {
		t.Fatalf("the books say %v and %v, sequences hold %v and %v", b.refs, b.states, pages, states)
	}
	free := 0
	for _, n := range pages {
		if n == 0 {
			free++
		}
	}
	if free != len(b.free) {
		t.Fatalf("%d pages are free and %d listed", free, len(b.free))
	}
}
