package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// ledgerProbe is a ledger that reaches a point before and after each call.
type ledgerProbe struct {
	account.Ledger
	points *points
}

func (b *ledgerProbe) Init(ctx context.Context, r ledger.InitRequest) (ledger.Dataset, error) {
	return tap(b.points, "init", func() (ledger.Dataset, error) { return b.Ledger.Init(ctx, r) })
}

func (b *ledgerProbe) Reserve(ctx context.Context, r ledger.ReserveRequest) (ledger.Charge, error) {
	return tap(b.points, "reserve", func() (ledger.Charge, error) { return b.Ledger.Reserve(ctx, r) })
}

func (b *ledgerProbe) Commit(ctx context.Context, r ledger.CommitRequest) (ledger.Charge, error) {
	return tap(b.points, "commit", func() (ledger.Charge, error) { return b.Ledger.Commit(ctx, r) })
}

func (b *ledgerProbe) Balance(ctx context.Context, name string) (ledger.Dataset, error) {
	return tap(b.points, "balance", func() (ledger.Dataset, error) { return b.Ledger.Balance(ctx, name) })
}

func (b *ledgerProbe) Show(ctx context.Context, name string) (ledger.Dataset, error) {
	return tap(b.points, "show", func() (ledger.Dataset, error) { return b.Ledger.Show(ctx, name) })
}

func (b *ledgerProbe) Checkpoint(ctx context.Context) (ledger.Checkpoint, error) {
	return tap(b.points, "checkpoint", func() (ledger.Checkpoint, error) { return b.Ledger.Checkpoint(ctx) })
}

// tap makes a call between two points. An error of the second stands for a call whose
// answer was lost.
func tap[V any](p *points, what string, call func() (V, error)) (V, error) {
	var none V
	if err := p.reach("ask to " + what); err != nil {
		return none, err
	}
	v, err := call()
	if lost := p.reach("after " + what); lost != nil {
		return none, errors.Join(ledger.ErrUnknown, lost)
	}
	return v, err
}

// attempt is one call of Do whose every contact with the world is a point.
type attempt struct {
	points points
	disk   *shadowDisk
	runner *engine
}

func (p *place) attempt(o Options, m *hashModel, at func(n int, what string) error) *attempt {
	a := newAttempt(o.Dir, at)
	m.fail = func(int) error { return a.points.reach("ask the model") }
	if p.encoder != nil {
		p.encoder.fail = func() error { return a.points.reach("ask the encoder") }
	}
	if write := o.Vary; write != nil {
		o.Vary = func(ctx context.Context, round int64, like []prompt.Example, n int) ([]prompt.Example, error) {
			if err := a.points.reach("ask the author"); err != nil {
				return nil, err
			}
			return write(ctx, round, like, n)
		}
	}
	return a.of(p.runner(o, a.disk).engine)
}

func newAttempt(dir string, at func(n int, what string) error) *attempt {
	a := &attempt{points: points{at: at}}
	a.disk = newShadow(&a.points, dir)
	return a
}

// of makes it an attempt of a run that was made with its disk.
func (a *attempt) of(e *engine) *attempt {
	a.runner = e
	e.exec.env.Ledger = &ledgerProbe{e.exec.env.Ledger, &a.points}
	return a
}

// run makes the call in a goroutine that a point may end, as kill -9 would: deferred
// calls run, but find a disk, a ledger and a model that do nothing any more.
func (a *attempt) run(ctx context.Context) (result *Result, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = errKilled
		result, err = a.runner.do(ctx)
	}()
	<-done
	return result, err
}

// mustNotBeginAnew: with another name a run would be charged again, with another key it
// would release something else than it is charged for.
func (a *attempt) mustNotBeginAnew(t testing.TB) {
	name, draw := a.runner.name, a.runner.drawKey
	a.runner.name = func() string {
		t.Error("a run that is charged got another name")
		return name()
	}
	a.runner.drawKey = func() (noise.Key, error) {
		t.Error("a run that is charged drew another key")
		return draw()
	}
}

var errKilled = errors.New("killed")

// killAt ends the goroutine at a point, and at every later one that a deferred call
// reaches.
func killAt(point int) func(int, string) error {
	return func(n int, _ string) error {
		if n >= point {
			runtime.Goexit()
		}
		return nil
	}
}

// reference is what an undisturbed run leaves, and the points that it has.
func (p *place) reference(t *testing.T) (want map[string]string, log []string) {
	t.Helper()
	q := p.fresh(t)
	m := newHashModel()
	o := q.options(t, q.plan(), m)
	a := q.attempt(o, m, nil)
	if _, err := a.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return outcome(t, o.Dir), a.points.log
}

// disturb runs once with a disturbance, checks what is left, and runs again.
func (p *place) disturb(t *testing.T, want map[string]string, at func(int, string) error, after func(*attempt, Options)) error {
	t.Helper()
	q := p.fresh(t)
	m := newHashModel()
	o := q.options(t, q.plan(), m)
	a := q.attempt(o, m, at)
	_, failed := a.run(t.Context())
	if after != nil {
		after(a, o)
	}
	if _, err := os.Stat(o.Dir); err == nil {
		q.keepsSecrets(t, o.Dir)
		q.paysFirst(t, o)
	}
	again := q.attempt(o, m, nil)
	if len(charges(t, o)) > 0 {
		again.mustNotBeginAnew(t)
	}
	if _, err := again.run(t.Context()); err != nil {
		t.Fatalf("resuming: %v", err)
	}
	q.looksRight(t, o, want)
	return failed
}

// paysFirst: whatever is in a folder, what is released was charged before.
func (p *place) paysFirst(t *testing.T, o Options) {
	t.Helper()
	entries, _, err := readJournal(o.Dir + "/" + journalFile)
	must(t, err)
	state, err := fold(entries)
	must(t, err)
	if (state.done() > 0 && o.Plan.WritesFromRecords() || len(state.winners) > 0) && len(charges(t, o)) == 0 {
		t.Errorf("%d texts and %d winners are released, and nothing is charged", state.done(), len(state.winners))
	}
}

// TestKilledAtEveryPoint kills a run before each thing it does to disk, ledger and model,
// once with all written bytes kept, as after kill -9, and once with only the synced ones,
// as after a power cut. In progress gives the same bytes and one charge.
func TestKilledAtEveryPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("a run is repeated for each point at which it can end")
	}
	p := newPlace(t)
	want, log := p.reference(t)
	total := len(log)
	if total < 100 {
		t.Fatalf("a run has only %d points", total)
	}
	t.Logf("killed at each of %d points, twice", total)
	for point := 1; point <= total; point++ {
		for _, power := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %s power cut %v", point, log[point-1], power), func(t *testing.T) {
				err := p.disturb(t, want, killAt(point), func(a *attempt, o Options) {
					if power {
						a.disk.powerCut(t, o.Dir)
					}
				})
				if !errors.Is(err, errKilled) {
					t.Errorf("the run ended with %v before it was killed", err)
				}
			})
		}
	}
}

// TestKilledAgainAndAgain kills runs at random points until one gets through.
func TestKilledAgainAndAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("a run is repeated for each point at which it can end")
	}
	p := newPlace(t)
	want, log := p.reference(t)
	ledgertest.Checks(t, 30)
	rapid.Check(t, func(rt *rapid.T) {
		q := p.fresh(t)
		m := newHashModel()
		o := q.options(t, q.plan(), m)
		for i := 0; ; i++ {
			point := rapid.IntRange(1, len(log)).Draw(rt, "point")
			a := q.attempt(o, m, killAt(point))
			if len(charges(t, o)) > 0 {
				a.mustNotBeginAnew(t)
			}
			_, err := a.run(t.Context())
			if err == nil {
				break
			}
			if !errors.Is(err, errKilled) {
				rt.Fatalf("attempt %d: %v", i+1, err)
			}
		}
		m.fail = nil
		q.looksRight(t, o, want)
	})
}

// TestFailingAtEveryPoint makes each thing that a run does fail: the disk is full, or
// full in the midst of a write, the model or the ledger is gone, or the ledger does not
// answer what it did. The error says how to resume, and resuming does.
func TestFailingAtEveryPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("a run is repeated for each point at which it can end")
	}
	p := newPlace(t)
	want, log := p.reference(t)
	total := len(log)
	for point := 1; point <= total; point++ {
		faults := []error{syscall.ENOSPC}
		if strings.HasPrefix(log[point-1], "write ") {
			faults = append(faults, errTorn)
		}
		for _, fault := range faults {
			t.Run(fmt.Sprintf("%d %s: %v", point, log[point-1], fault), func(t *testing.T) {
				err := p.disturb(t, want, func(n int, _ string) error {
					if n == point {
						return fault
					}
					return nil
				}, nil)
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("the run ended with %v", err)
				}
				var interrupted *InterruptedError
				if point > 4 && !errors.As(err, &interrupted) {
					t.Errorf("the error does not say how to continue: %v", err)
				}
			})
		}
	}
}
