package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Turns lets one request after the other use a model. The zero value is ready.
type Turns struct {
	once    sync.Once
	slot    chan struct{}
	waiting atomic.Int64
}

// mostWaiting is how many requests wait for the model at most.
const mostWaiting = 64

// Take waits for the model, as long as the request does. More than a few who wait are refused.
func (t *Turns) Take(ctx context.Context) error {
	t.once.Do(func() { t.slot = make(chan struct{}, 1) })
	if t.waiting.Add(1) > mostWaiting {
		t.waiting.Add(-1)
		return busy(time.Second)
	}
	defer t.waiting.Add(-1)
	select {
	case t.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Give lets the next one have it.
func (t *Turns) Give() { <-t.slot }
