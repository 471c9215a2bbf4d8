package torch

import (
	"errors"
	"fmt"
	"sync"

	"github.com/sotto-dp/sotto/lm"
)

// ErrFull states that the pool has no page left, and that no session is about to give any
// back.
var ErrFull = errors.New("the pool of keys and values is full: give the worker more memory (Options.CacheGiB), or run fewer sessions at once")

// books states which pages and states of a worker are in use, and by how many sequences.
type books struct {
	page int // tokens of a page

	mu     sync.Mutex
	refs   []int32 // of each page
	free   []int32
	states []int32 // references of each state
	spare  []int32

	// freed, if set, is called when pages were given back.
	freed func()
}

func newBooks(page, pages int) *books {
	b := &books{page: page, refs: make([]int32, pages), free: make([]int32, pages)}
	for i := range b.free {
		b.free[i] = int32(pages - 1 - i)
	}
	return b
}

// sequence is a list of pages and the state after its last token.
type sequence struct {
	pages  []int32
	length int
	state  int32 // -1 while the sequence is empty
}

// growth is what a sequence becomes when its step succeeds.
type growth struct {
	of     *sequence
	tokens []lm.Token
	pages  []int32
	fresh  []int32 // those that the sequence does not hold yet
	copied [2]int32
	copies bool
	state  int32
}

// extension is a sequence with the tokens that are to come after it.
type extension struct {
	of     *sequence
	tokens []lm.Token
}

// grow takes what all extensions need. The sequences themselves stay as they are. On an
// error nothing is taken.
func (b *books) grow(list []extension) ([]*growth, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	need := 0
	for _, x := range list {
		n, _ := b.need(x)
		need += n
	}
	if need > len(b.free) {
		return nil, fmt.Errorf("%d more pages of %d: %w", need, len(b.refs), ErrFull)
	}
	all := make([]*growth, len(list))
	for i, x := range list {
		all[i] = b.take(x)
	}
	return all, nil
}

// need returns how many pages an extension takes, and whether one of them is for a copy of
// the sequence's last.
func (b *books) need(x extension) (n int, copies bool) {
	if len(x.tokens) == 0 {
		return 0, false
	}
	have := len(x.of.pages)
	copies = x.of.length%b.page != 0 && b.refs[x.of.pages[have-1]] > 1
	n = (x.of.length+len(x.tokens)+b.page-1)/b.page - have
	if copies {
		n++
	}
	return n, copies
}

func (b *books) take(x extension) *growth {
	g := &growth{of: x.of, tokens: x.tokens, pages: x.of.pages, state: x.of.state}
	if len(x.tokens) == 0 {
		return g
	}
	need, copies := b.need(x)
	g.copies = copies
	left := len(b.free) - need
	g.fresh = append(g.fresh, b.free[left:]...)
	b.free = b.free[:left]
	for _, p := range g.fresh {
		b.refs[p] = 1
	}
	have := len(x.of.pages)
	g.pages = make([]int32, 0, have+need)
	if copies {
		g.copied = [2]int32{x.of.pages[have-1], g.fresh[0]}
		have--
	}
	g.pages = append(append(g.pages, x.of.pages[:have]...), g.fresh...)
	if n := len(b.spare); n > 0 {
		g.state, b.spare = b.spare[n-1], b.spare[:n-1]
	} else {
		g.state, b.states = int32(len(b.states)), append(b.states, 0)
	}
	b.states[g.state] = 1
	return g
}

// undo gives back what grow took.
func (b *books) undo(g *growth) {
	if len(g.tokens) == 0 {
		return
	}
	b.release(g.fresh, g.state)
}

// commit makes the sequence what was prepared.
func (b *books) commit(g *growth) {
	if len(g.tokens) == 0 {
		return
	}
	var old []int32
	if g.copies {
		old = g.copied[:1]
	}
	b.release(old, g.of.state)
	g.of.pages, g.of.state = g.pages, g.state
	g.of.length += len(g.tokens)
}

// fork returns a sequence of the same pages and state.
func (b *books) fork(q *sequence) *sequence {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range q.pages {
		b.refs[p]++
	}
	if q.state >= 0 {
		b.states[q.state]++
	}
	return &sequence{pages: q.pages, length: q.length, state: q.state}
}

// drop forgets a sequence.
func (b *books) drop(q *sequence) { b.release(q.pages, q.state) }

func (b *books) release(pages []int32, state int32) {
	if b.put(pages, state) && b.freed != nil {
		b.freed()
	}
}

// put takes pages and a state back, and reports whether that made any page free.
func (b *books) put(pages []int32, state int32) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.free)
	for _, p := range pages {
		if b.refs[p]--; b.refs[p] == 0 {
			b.free = append(b.free, p)
		}
	}
	if state >= 0 {
		if b.states[state]--; b.states[state] == 0 {
			b.spare = append(b.spare, state)
		}
	}
	return len(b.free) > before
}
