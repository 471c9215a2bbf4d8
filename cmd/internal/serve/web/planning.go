package web

import (
	"context"
	"net/http"
	"time"

	"github.com/sotto-dp/sotto/sys/fault"
)

// Planning computes ε many times over. Few plans at once, and none for long, leave the machine to
// clients and runs. A page waits for planTime; the first plan of a process also opens the model and
// measures it, which may take longer and is not to be begun anew each time, so that the work has
// workTime.
const (
	plansAtOnce = 2
	planTime    = 20 * time.Second
	workTime    = 2 * time.Minute
)

var (
	errBusy = &problem{http.StatusServiceUnavailable, "Others are planning now. Try again in a moment."}
	errLong = &problem{http.StatusServiceUnavailable, "Planning this takes too long. Try again in a minute, if the service has just begun; or ask for something smaller, or plan it on the command line: sotto plan."}
)

// planned makes a plan when its turn comes. One that continues after its page has given up keeps its
// turn until it ends, so that there are never more than a few.
func planned[T any](ctx context.Context, d *Dashboard, plan func(context.Context) (T, error)) (none T, err error) {
	waiting, cancel := context.WithTimeout(ctx, d.planTime)
	defer cancel()
	select {
	case d.plans <- struct{}{}:
	case <-waiting.Done():
		return none, errBusy
	}
	type outcome struct {
		made T
		err  error
	}
	ended := make(chan outcome, 1)
	working, stop := context.WithTimeout(context.WithoutCancel(ctx), workTime)
	go func() {
		defer fault.Watch()
		defer func() { <-d.plans }()
		defer stop()
		made, err := plan(working)
		ended <- outcome{made, err}
	}()
	select {
	case o := <-ended:
		return o.made, o.err
	case <-waiting.Done():
		if ctx.Err() != nil {
			stop() // anyone who asked has left: a form asks anew at every change
		}
		return none, errLong
	}
}
