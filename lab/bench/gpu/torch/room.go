package torch

import (
	"context"
	"sync"
)

// room lets sessions wait for pages that other sessions give back.
type room struct {
	mu       sync.Mutex
	sessions int // open ones
	waiting  int // of them
	changed  chan struct{}
}

func newRoom() *room { return &room{changed: make(chan struct{})} }

// enter and leave count sessions.
func (r *room) enter() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions++
}

func (r *room) leave() {
	r.mu.Lock()
	r.sessions--
	r.mu.Unlock()
	r.freed()
}

// busy returns those that do not wait.
func (r *room) busy() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions - r.waiting
}

// freed wakes those who wait: there may be pages.
func (r *room) freed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
}

// watch begins to look out for pages: what is freed from now on ends a wait.
func (r *room) watch() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// wait for pages. If all sessions waited, none would ever give any back: then the last
// one to come gets [ErrFull].
func (r *room) wait(ctx context.Context, freed <-chan struct{}) error {
	r.mu.Lock()
	if freed == (<-chan struct{})(r.changed) && r.waiting+1 >= r.sessions {
		r.mu.Unlock()
		return ErrFull
	}
	r.waiting++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.waiting--
	}()
	select {
	case <-freed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
