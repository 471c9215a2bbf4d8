package gateway

import (
	"context"
	"sync"
	"sync/atomic"
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
	wanting atomic.Int32 // at the slot itself
}

// So many requests wait for a model at most, and so many of one client.
const (
	maxWaiting = 64
	maxOfOne   = 16
)

// enter counts somebody who waits, until what it returns is called. More than a few who wait are
// refused.
func (t *Turns) enter(who string) (leave func(), err error) {
	t.once.Do(func() { t.slot, t.waiting = make(chan struct{}, 1), map[string]int{} })
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all >= maxWaiting || who != "" && t.waiting[who] >= maxOfOne {
		return nil, busy(time.Second)
	}
	t.all++
	t.waiting[who]++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.all--
		if t.waiting[who]--; t.waiting[who] == 0 {
			delete(t.waiting, who)
		}
	}), nil
}

// take waits for the model, as long as the request does, or until nobody needs it any more: then
// it is not taken. Anyone who calls it has entered.
func (t *Turns) take(ctx context.Context, needless <-chan struct{}) (taken bool, err error) {
	t.wanting.Add(1)
	defer t.wanting.Add(-1)
	select {
	case t.slot <- struct{}{}:
		return true, nil
	case <-needless:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// wanted reports whether somebody waits for the one who has the model to end.
func (t *Turns) wanted() bool { return t.wanting.Load() > 0 }

// Take waits for the model, as long as the request does. More than a few who wait are refused.
func (t *Turns) Take(ctx context.Context, who string) error {
	leave, err := t.enter(who)
	if err != nil {
		return err
	}
	defer leave()
	_, err = t.take(ctx, nil)
	return err
}

// Give lets the next one have it.
func (t *Turns) Give() { <-t.slot }
