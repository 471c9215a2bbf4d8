package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/sys/fault"
)

// Options of a worker.
type Options struct {
	Store *store.Store
	// Dir has a folder for each job. Workers that share a store share it.
	Dir string
	// Command is the program and its arguments for a job that works in place, or why there is no
	// such job. An error of the store may pass.
	Command func(ctx context.Context, j *store.Job, place string) (Command, error)
	// Env of the program.
	Env []string
	// Parallel is how many jobs are carried out at once. Default: 1.
	Parallel int
	// Lease is how long a worker that is silent keeps a job. Default: 30 s.
	Lease time.Duration
	// Beat is when something of a job is shown first, and at least how long it takes to the next
	// time. Default: 10 s.
	Beat time.Duration
	// Poll is how often a worker that has time looks for jobs. Default: 1 s.
	Poll time.Duration
	// Wait is how long a job that failed waits, twice as long each time. Default: 5 s.
	Wait time.Duration
	// Grace is how long a job may take to end when it is asked to. Default: 20 s.
	Grace time.Duration
	Log   *slog.Logger
}

// Command is what is run for a job.
type Command struct {
	// Args are the program and its arguments, and Input what it reads.
	Args  []string
	Input []byte
	// Published are the parts of its result that everybody may see who may see jobs; none if it is
	// empty.
	Published []string
}

const (
	// maxFailures is how often a job may fail in a way that may pass.
	maxFailures = 5
	// maxAttempts is how often a job may be begun: one that ends its workers should not continue
	// for ever.
	maxAttempts = 100
	// busyWait is how long a job waits whose folder is in use.
	busyWait = 3 * time.Second
)

// Run carries out jobs until ctx ends. Those under way are then asked to end, and wait for
// another worker.
func Run(ctx context.Context, o Options) error {
	o.Parallel, o.Lease, o.Poll = max(1, o.Parallel), orElse(o.Lease, 30*time.Second), orElse(o.Poll, time.Second)
	o.Wait, o.Grace, o.Beat = orElse(o.Wait, 5*time.Second), orElse(o.Grace, 20*time.Second), orElse(o.Beat, 10*time.Second)
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of jobs: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "a machine"
	}
	var all sync.WaitGroup
	for range o.Parallel {
		w := &worker{Options: o, name: fmt.Sprintf("%s %d %s", host, os.Getpid(), rand.Text()[:8])}
		all.Go(func() {
			defer fault.Watch()
			w.loop(ctx)
		})
	}
	all.Wait()
	return nil
}

func orElse(given, otherwise time.Duration) time.Duration {
	if given > 0 {
		return given
	}
	return otherwise
}

// worker carries out one job at a time.
type worker struct {
	Options
	name string
}

func (w *worker) loop(ctx context.Context) {
	for ctx.Err() == nil {
		worked, err := w.next(ctx)
		if err != nil && ctx.Err() == nil {
			w.Log.Warn("jobs wait", "error", err.Error())
		}
		if worked && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(w.Poll):
		}
	}
}

// next carries out the job that comes next, and reports whether there was one.
func (w *worker) next(ctx context.Context) (bool, error) {
	if _, err := w.Store.AddDue(ctx); err != nil && ctx.Err() == nil {
		w.Log.Warn("a schedule waits", "error", err.Error()) // jobs that are there do not
	}
	j, err := w.Store.Claim(ctx, w.name, w.Lease)
	if err != nil || j == nil {
		return false, err
	}
	j.Place = filepath.Join(w.Dir, j.ID)
	w.Log.Info("job begun", "job", j.ID, "attempt", j.Attempt)
	end := w.carryOut(ctx, j)
	// What came of it is noted also when the worker is to end.
	noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Lease)
	defer cancel()
	err = w.note(noting, j, end)
	if errors.Is(err, store.ErrLost) {
		w.Log.Warn("job lost", "job", j.ID, "attempt", j.Attempt)
		return true, nil
	}
	return true, err
}

// ending is how a job's process ended.
type ending struct {
	outcome
	result, progress []byte
	err              string
}

type outcome int

const (
	// succeeded, and gaveUp, which would come again.
	succeeded outcome = iota
	gaveUp
	// stumbled may pass. stopped: the worker ends. cancelled: somebody asked for it. busy: the
	// folder is in use. lost: the job belongs to another worker.
	stumbled
	stopped
	cancelled
	busy
	lost
)

// note puts into the store what came of a job.
func (w *worker) note(ctx context.Context, j *store.Job, e ending) error {
	j.Result, j.Error = e.result, e.err
	if e.progress != nil {
		j.Progress = e.progress
	}
	switch e.outcome {
	case succeeded:
		j.State = store.Done
	case cancelled:
		j.State = store.Cancelled
	case lost:
		return store.ErrLost
	case stopped:
		return w.Store.PutOff(ctx, j, 0, "")
	case busy:
		return w.Store.PutOff(ctx, j, busyWait, "")
	case stumbled:
		if j.Failures+1 < maxFailures {
			w.Log.Warn("job failed, and will be tried again", "job", j.ID, "failures", j.Failures+1)
			return w.Store.PutOff(ctx, j, w.Wait<<j.Failures, e.err)
		}
		j.State = store.Failed
	case gaveUp:
		j.State = store.Failed
	}
	w.Log.Info("job ended", "job", j.ID, "state", string(j.State))
	return w.Store.Finish(ctx, j)
}

// carryOut has a job's process work, and shows how it goes at beats.
func (w *worker) carryOut(ctx context.Context, j *store.Job) ending {
	if j.Cancelling {
		return ending{outcome: cancelled}
	}
	if j.Attempt-j.Excused > maxAttempts {
		return ending{outcome: gaveUp, err: fmt.Sprintf("it was begun %d times, and every time its worker was gone before it ended", maxAttempts)}
	}
	begun := time.Now()
	command, err := w.Command(ctx, j, j.Place)
	if errors.Is(err, store.ErrStore) {
		w.Log.Warn("job cannot be looked up", "job", j.ID, "error", err.Error())
		return ending{outcome: stumbled, err: "the service's store cannot be read"}
	}
	if err != nil {
		return ending{outcome: gaveUp, err: err.Error()}
	}
	if err := os.MkdirAll(j.Place, 0o700); err != nil {
		return ending{outcome: stumbled, err: "make the folder of the job: " + err.Error()}
	}
	hold, err := lockPlace(j.Place)
	if err != nil {
		return ending{outcome: stumbled, err: err.Error()}
	}
	if hold == nil {
		return ending{outcome: busy}
	}
	defer hold.close()
	p, err := start(command, w.Env, j, hold)
	if err != nil {
		return ending{outcome: stumbled, err: err.Error()}
	}
	return w.attend(ctx, j, p, begun)
}

// attend keeps the lease until the process has ended, and shows how it goes at beats: also that it
// has ended, and until then the worker takes no other job, whose begin would show it. A worker that
// is to end does not wait for the beat.
func (w *worker) attend(ctx context.Context, j *store.Job, p *process, begun time.Time) ending {
	alive := time.NewTicker(max(w.Lease/10, 50*time.Millisecond))
	defer alive.Stop()
	beat := time.NewTimer(untilBeat(w.Beat, begun))
	defer beat.Stop()
	// The lease was taken at some moment before this, by another clock: half of it is left for
	// the difference.
	safe, why, over, hurry := time.Now().Add(w.Lease/2), outcome(-1), false, false
	end := func(o outcome) {
		if why < 0 && !over {
			why = o
			p.interrupt(w.Grace)
		}
	}
	shown, done, ended := j.Progress, ctx.Done(), p.ended
	for {
		select {
		case <-ended:
			ended, over = nil, true
		case <-done:
			done = nil
			end(stopped)
		case <-beat.C:
			select {
			case <-p.ended:
				return p.ending(why)
			default:
			}
			if at := p.progress(); at != nil {
				shown = at
			}
			beat.Reset(untilBeat(w.Beat, begun))
			if _, err := w.keep(ctx, j, shown); err != nil {
				w.Log.Debug("a beat of a job was missed", "job", j.ID, "error", err.Error())
			}
		case <-alive.C:
			asked := time.Now()
			cancelling, err := w.keep(ctx, j, shown)
			switch {
			case errors.Is(err, store.ErrLost), err != nil && time.Now().After(safe):
				why = lost
				p.kill()
			case err == nil:
				safe = asked.Add(w.Lease / 2)
				if cancelling && !hurry {
					end(cancelled)
					// Anyone who asked for its end need not wait for as long as it has taken.
					hurry, begun = true, time.Now()
					beat.Reset(w.Beat)
				}
			}
		}
		if over && (ctx.Err() != nil || why == lost) {
			return p.ending(why)
		}
	}
}

// keep takes the lease of a job anew, with what is shown of it, and reports whether somebody asked
// for its end.
func (w *worker) keep(ctx context.Context, j *store.Job, shown []byte) (cancelling bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Lease/4)
	defer cancel()
	return w.Store.Beat(ctx, j, shown, w.Lease)
}
