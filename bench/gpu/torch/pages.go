package torch

import (
	"errors"
	"fmt"
	"sync"

	"sotto/lm"
)

// errFull says that the pool has no page left.
var errFull = errors.New("the pool of keys and values is full: give the worker more memory (Options.CacheGiB), or run fewer sessions at once")

// books says which pages and states of a worker are in use, and by how many sequences.
type books struct {
	page int // tokens of a page

	mu     sync.Mutex
	refs   []int32 // of each page
	free   []int32
	states []int32 // references of each state
	spare  []int32
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

// grown is what a sequence becomes when its step succeeds.
type grown struct {
	of     *sequence
	tokens []lm.Token
	pages  []int32
	fresh  []int32 // those that the sequence does not hold yet
	copied [2]int32
	copies bool
	state  int32
}

// grow takes what more tokens need. The sequence itself stays as it is. On an error
// nothing is taken.
func (b *books) grow(q *sequence, tokens []lm.Token) (*grown, error) {
	g := &grown{of: q, tokens: tokens, pages: q.pages, state: q.state}
	if len(tokens) == 0 {
		return g, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	have := len(q.pages)
	g.copies = q.length%b.page != 0 && b.refs[q.pages[have-1]] > 1
	need := (q.length+len(tokens)+b.page-1)/b.page - have
	if g.copies {
		need++
	}
	if need > len(b.free) {
		return nil, fmt.Errorf("%d more pages of %d: %w", need, len(b.refs), errFull)
	}
	left := len(b.free) - need
	g.fresh = append(g.fresh, b.free[left:]...)
	b.free = b.free[:left]
	for _, p := range g.fresh {
		b.refs[p] = 1
	}
	g.pages = make([]int32, 0, have+need)
	if g.copies {
		g.copied = [2]int32{q.pages[have-1], g.fresh[0]}
		have--
	}
	g.pages = append(append(g.pages, q.pages[:have]...), g.fresh...)
	if n := len(b.spare); n > 0 {
		g.state, b.spare = b.spare[n-1], b.spare[:n-1]
	} else {
		g.state, b.states = int32(len(b.states)), append(b.states, 0)
	}
	b.states[g.state] = 1
	return g, nil
}

// undo gives back what grow took.
func (b *books) undo(g *grown) {
	if len(g.tokens) == 0 {
		return
	}
	b.release(g.fresh, g.state)
}

// commit makes the sequence what was prepared.
func (b *books) commit(g *grown) {
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

// fork is a sequence of the same pages and state.
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
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range pages {
		if b.refs[p]--; b.refs[p] == 0 {
			b.free = append(b.free, p)
		}
	}
	if state < 0 {
		return
	}
	if b.states[state]--; b.states[state] == 0 {
		b.spare = append(b.spare, state)
	}
}

// used is the number of pages in use.
func (b *books) used() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.refs) - len(b.free)
}
