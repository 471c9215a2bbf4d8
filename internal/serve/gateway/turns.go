package gateway

import (
	"context"
	"sync"
	"time"
)

// Turns lets one request after the other use a model. All that use it share one: while a private
// answer is written nobody else sees how fast the model is. The zero value is ready.
type Turns struct {
	once sync.Once
	slot chan struct{}

	mu      sync.Mutex
	waiting map[string]int // by client
	all     int
}

// So many requests wait for a model at most, and so many of one client.
const (
	mostWaiting = 64
	mostOfOne   = 16
)

// Take waits for the model, as long as the request does. More than a few who wait are refused.
func (t *Turns) Take(ctx context.Context, who string) error {
	t.once.Do(func() { t.slot, t.waiting = make(chan struct{}, 1), map[string]int{} })
	t.mu.Lock()
	if t.all >= mostWaiting || who != "" && t.waiting[who] >= mostOfOne {
		t.mu.Unlock()
		return busy(time.Second)
	}
	t.all++
	t.waiting[who]++
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.all--
		if t.waiting[who]--; t.waiting[who] == 0 {
			delete(t.waiting, who)
		}
	}()
	select {
	case t.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Give lets the next one have it.
func (t *Turns) Give() { <-t.slot }
