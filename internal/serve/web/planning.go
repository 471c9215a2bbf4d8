package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sotto-dp/sotto/internal/fault"
)

// Planning computes ε many times over. Few plans at once, and none for long, leave the machine to
// clients and runs.
const (
	plansAtOnce = 2
	planTime    = 20 * time.Second
)

var (
	errBusy = &problem{http.StatusServiceUnavailable, "Others are planning now. Try again in a moment."}
	errLong = &problem{http.StatusServiceUnavailable, "Planning this takes too long. Ask for something smaller, or plan it on the command line: sotto plan."}
)

// planned makes a plan when its turn comes, with the deadline over both. A plan that does not heed
// the deadline keeps its turn until it ends, so that there are never more than a few.
func planned[T any](ctx context.Context, d *Dashboard, plan func(context.Context) (T, error)) (none T, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.planTime)
	defer cancel()
	select {
	case d.plans <- struct{}{}:
	case <-ctx.Done():
		return none, errBusy
	}
	type outcome struct {
		made T
		err  error
	}
	ended := make(chan outcome, 1)
	go func() {
		defer fault.Watch()
		defer func() { <-d.plans }()
		made, err := plan(ctx)
		ended <- outcome{made, err}
	}()
	select {
	case o := <-ended:
		if o.err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return none, errLong
		}
		return o.made, o.err
	case <-ctx.Done():
		return none, errLong
	}
}
