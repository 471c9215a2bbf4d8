package remote

import (
	"context"
	"fmt"
	"sync"
)

// kind of a request that must not run beside the other.
type kind int

const (
	chosenKind kind = iota
	bestKind
)

// gate admits requests of one kind at a time, many of that kind at once. The kinds take
// turns when both wait.
type gate struct {
	mu       sync.Mutex
	changed  chan struct{} // closed when a waiting request should look again
	kind     kind
	count    int
	waiting  [2]int
	reserved bool // the next turn belongs to kind
}

// pass waits until no request of the other kind runs. The caller calls the result
// when its own is done.
func (g *gate) pass(ctx context.Context, k kind) (func(), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.open(k) {
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		look := g.changed
		g.waiting[k]++
		g.mu.Unlock()
		var err error
		select {
		case <-look:
		case <-ctx.Done():
			err = ctx.Err()
		}
		g.mu.Lock()
		g.waiting[k]--
		if err != nil {
			if g.reserved && g.kind == k && g.waiting[k] == 0 {
				g.reserved = false
			}
			g.wake()
			return nil, fmt.Errorf("waiting for the server: %w", err)
		}
	}
	g.kind, g.reserved = k, false
	g.count++
	return g.leave, nil
}

func (g *gate) open(k kind) bool {
	if g.count == 0 {
		return !g.reserved || g.kind == k
	}
	return g.kind == k && g.waiting[1-k] == 0
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count--; g.count > 0 {
		return
	}
	if other := 1 - g.kind; g.waiting[other] > 0 {
		g.kind, g.reserved = other, true
	}
	g.wake()
}

// wake makes all that wait look again.
func (g *gate) wake() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}
