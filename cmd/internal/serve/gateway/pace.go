package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/fault"
)

// pacer hides how long a private answer takes to write, from when the first record may be drawn
// for it: the processors are at work until a whole number of paces is over, and until then
// nothing shows that it is written.
type pacer struct {
	pace   time.Duration
	occupy func(context.Context) // nil: the model computes elsewhere
	until  context.Context

	mu    sync.Mutex
	began time.Time
	rest  func() // stops what occupies them; nil before and after
}

type pacerKey struct{}

// Hold begins the pace of the private answer that a context is of; an [Answerer] calls it before
// it draws a record, and what it returns before it tells anybody, the ledger included, that the
// answer is there or has failed.
func Hold(ctx context.Context) (show func()) {
	p, is := ctx.Value(pacerKey{}).(*pacer)
	if !is {
		return func() {}
	}
	p.begin()
	return p.end
}

func (p *pacer) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pace <= 0 || !p.began.IsZero() {
		return
	}
	p.began, p.rest = time.Now(), func() {}
	if p.occupy == nil {
		return
	}
	ctx, stop := context.WithCancel(p.until)
	var busy sync.WaitGroup
	busy.Go(func() {
		defer fault.Watch()
		p.occupy(ctx)
	})
	p.rest = func() {
		stop()
		busy.Wait()
	}
}

// end waits for the end of the pace, if one has begun. The service does not wait when it ends.
func (p *pacer) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rest == nil {
		return
	}
	over := time.NewTimer(p.pace - time.Since(p.began)%p.pace)
	defer over.Stop()
	select {
	case <-over.C:
	case <-p.until.Done():
	}
	p.rest()
	p.rest = nil
}
