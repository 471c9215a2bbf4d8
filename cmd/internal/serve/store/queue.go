package store

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Network is where somebody comes from, of an address with or without a port: an IPv4 address, or
// the 64 bits of an IPv6 address by which a network is known. Anyone who has one has 2^64 addresses
// in it.
func Network(address string) string { return network(address, 32, 64) }

// neighbourhood is a wider one, which has a place in the queue: a provider hands out many networks
// of it to one customer.
func neighbourhood(address string) string { return network(address, 24, 48) }

func network(address string, bits4, bits6 int) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	at, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	at = at.Unmap().WithZone("")
	bits := bits6
	if at.Is4() {
		bits = bits4
	}
	block, err := at.Prefix(bits)
	if err != nil {
		return address
	}
	return block.String()
}

// BusyError means that too many passwords wait to be checked.
type BusyError struct{ For time.Duration }

// Error says when to try again.
func (e *BusyError) Error() string {
	return fmt.Sprintf("too many people sign in at this moment: try again in %v", e.For)
}

// So many passwords are hashed at a time, each of which takes 64 MiB and a part of a second. So many
// wait for it, at most, of known devices and of strangers each, and so many of one neighbourhood.
const (
	hashedAtOnce    = 2
	maxWaiting      = 32
	maxOfNeighbours = 8
)

// queue lets a few hash passwords at a time. Known devices come first. Strangers are served
// neighbourhood by neighbourhood, so that many from one of them do not hold up those from
// others; where too many wait, the neighbourhood with most of them loses its last.
type queue struct {
	mu      sync.Mutex
	busy    int
	known   []*waiter
	strange map[string][]*waiter
	turns   []string // neighbourhoods with somebody who waits, the next one first
	waiting int      // strangers
}

// waiter waits for its place.
type waiter struct {
	from string
	// decided is closed when it has its place, or lost it.
	decided chan struct{}
	lost    bool
}

// hashing is the queue of this process.
var hashing queue

// take waits for a place, as long as somebody wants it. A nil error obliges to give it back.
func (q *queue) take(ctx context.Context, from string, known bool) error {
	w, err := q.enter(from, known)
	if w == nil {
		return err
	}
	select {
	case <-w.decided:
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		select {
		case <-w.decided:
			if !w.lost {
				q.next()
			}
		default:
			q.leave(w)
		}
		return ctx.Err()
	}
	if w.lost {
		return q.full()
	}
	return nil
}

// full is what who finds no place is told.
func (q *queue) full() error { return &BusyError{2 * time.Second} }

// enter takes a place that is free, or waits for one.
func (q *queue) enter(from string, known bool) (*waiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := &waiter{from: from, decided: make(chan struct{})}
	switch {
	case q.busy < hashedAtOnce:
		q.busy++
		return nil, nil
	case known && len(q.known) >= maxWaiting:
		return nil, q.full()
	case known:
		q.known = append(q.known, w)
		return w, nil
	case len(q.strange[from]) >= maxOfNeighbours || q.waiting >= maxWaiting && !q.drop(from):
		return nil, q.full()
	}
	if q.strange == nil {
		q.strange = map[string][]*waiter{}
	}
	if len(q.strange[from]) == 0 {
		q.turns = append(q.turns, from)
	}
	q.strange[from] = append(q.strange[from], w)
	q.waiting++
	return w, nil
}

// drop makes room for somebody from a neighbourhood, if another has at least two more who wait.
func (q *queue) drop(from string) bool {
	longest := slices.MaxFunc(q.turns, func(a, b string) int { return len(q.strange[a]) - len(q.strange[b]) })
	list := q.strange[longest]
	if len(list) < len(q.strange[from])+2 {
		return false
	}
	w := list[len(list)-1]
	w.lost = true
	q.leave(w)
	close(w.decided)
	return true
}

// leave takes out somebody who waits.
func (q *queue) leave(w *waiter) {
	if i := slices.Index(q.known, w); i >= 0 {
		q.known = slices.Delete(q.known, i, i+1)
		return
	}
	list := q.strange[w.from]
	i := slices.Index(list, w)
	if i < 0 {
		return
	}
	q.waiting--
	if q.strange[w.from] = slices.Delete(list, i, i+1); len(list) > 1 {
		return
	}
	delete(q.strange, w.from)
	q.turns = slices.DeleteFunc(q.turns, func(t string) bool { return t == w.from })
}

// give gives a place back.
func (q *queue) give() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next()
}

// next hands a place on, or frees it.
func (q *queue) next() {
	var w *waiter
	switch {
	case len(q.known) > 0:
		w = q.known[0]
	case len(q.turns) > 0:
		from := q.turns[0]
		w = q.strange[from][0]
		q.turns = append(q.turns[1:], from) // the others come before its next
	default:
		q.busy--
		return
	}
	q.leave(w)
	close(w.decided)
}
