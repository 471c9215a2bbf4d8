package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

// exclusion is how it is ensured that what is computed for one record, or one prompt, is computed
// beside nothing else.
type exclusion struct {
	client *Client
	watch  watcher // nil where none is needed, or none exists
	how    lm.Isolation
	// forget, if any, has the server drop what it holds of earlier prompts.
	forget func(context.Context) error
}

const (
	// maxDisturbances is the number of times that what was disturbed is repeated.
	maxDisturbances = 5
	// maxIdlePolls times the first backoff is the maximal wait for an idle server.
	maxIdlePolls = 120
)

// hold does something while nobody else uses the server, as far as that can be known, and
// returns what it sent. What others may have disturbed is done again: that depends on the
// others, and the answers do not. So does what failed, as often for each record.
func (a *exclusion) hold(ctx context.Context, do func() (workload, error)) error {
	w := a.client.wire
	lock := serverLock(w.base)
	if err := lock.Acquire(ctx, wholeLock); err != nil {
		return fmt.Errorf("waiting for the server: %w", err)
	}
	defer lock.Release(wholeLock)
	for try := 1; ; try++ {
		if a.forget != nil {
			if err := a.forget(ctx); err != nil {
				return err
			}
		}
		before, err := a.settle(ctx)
		if err != nil {
			return err
		}
		ours, err := do()
		wait := time.Duration(0)
		switch {
		case err == nil:
			quiet, err := a.undisturbed(ctx, before, ours)
			if quiet || err != nil {
				return err
			}
			if try == maxDisturbances {
				return a.disturbedError()
			}
		case try > w.options.Retries || !a.retryable(err):
			return err
		default:
			var refused *StatusError
			if errors.As(err, &refused) {
				wait = min(refused.Wait, maxWait)
			}
		}
		if err := w.pause(ctx, try, wait); err != nil {
			return err
		}
	}
}

// again reports whether a failed request may be sent once more. Where the server may still
// work on the first one, both might run side by side.
func (a *exclusion) retryable(err error) bool {
	var refused *StatusError
	var broken *ConnectionError
	is := errors.As(err, &refused)
	if a.watch == nil && a.how != lm.OneSequence && a.how != lm.RecordsOneSequence {
		// One that was refused is not being worked on, and the others of its record have ended.
		return is && a.how.ByRecord() && (refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusServiceUnavailable)
	}
	return is && transient(refused.Status) || errors.As(err, &broken)
}

// disturbedError says that others would not stop.
func (a *exclusion) disturbedError() error {
	return &lm.NotIsolatedError{
		Backend: a.client.info.Backend, Why: "others use the server while records are scored, or several servers answer at its address",
		Do: "keep others away until the run ends, name one server and not a balancer of several (or have it hide their counters and declare exclusive = true), and continue by the same call",
	}
}

// settle waits until the server is idle, and returns its state then.
func (a *exclusion) settle(ctx context.Context) (snapshot, error) {
	if a.watch == nil {
		return snapshot{}, nil
	}
	w := a.client.wire
	for try := 0; ; try++ {
		seen, err := a.watch.look(ctx, a.client)
		if err != nil || seen.busy == 0 {
			return seen, err
		}
		if try == maxIdlePolls {
			return seen, a.disturbedError()
		}
		if err := w.sleep(ctx, w.options.Backoff); err != nil {
			return seen, err
		}
	}
}

// undisturbed reports whether the server saw nothing but our requests since a look. It
// looks again for a while where the server has not counted the last of them yet.
func (a *exclusion) undisturbed(ctx context.Context, before snapshot, ours workload) (bool, error) {
	if a.watch == nil {
		return true, nil
	}
	w := a.client.wire
	const looks = 40
	for look := 1; ; look++ {
		after, err := a.watch.look(ctx, a.client)
		if err != nil {
			return false, err
		}
		quiet, more := a.watch.quiet(before, after, ours)
		if !more || look == looks {
			return quiet, nil
		}
		if err := w.sleep(ctx, min(w.options.Backoff, 10*time.Millisecond)); err != nil {
			return false, err
		}
	}
}
