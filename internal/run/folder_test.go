package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestFinishedRun: a complete folder is read, not touched, even one that is read-only.
func TestFinishedRun(t *testing.T) {
	p := newPlace(t)
	m := newHashModel()
	o := p.options(t, planFor(tickets(), clipped()), m)
	first := p.finish(t, o)
	before := tree(t, o.Dir)
	must(t, os.Chmod(o.Dir, 0o555))
	defer os.Chmod(o.Dir, 0o755)
	m.fail = func(int) error { return errors.New("the model was asked") }
	second := p.finish(t, o)
	expect.True(t, "second.Finished", second.Finished)
	expect.True(t, "second.Resumed", second.Resumed)
	expect.True(t, "first.Examples equal to second.Examples", slices.Equal(first.Examples, second.Examples), first.Examples, second.Examples)
	expect.Equal(t, "second.Guarantee", second.Guarantee, first.Guarantee)
	expect.True(t, "first.Files equal to second.Files", slices.Equal(first.Files, second.Files), first.Files, second.Files)
	if !maps.Equal(before, tree(t, o.Dir)) || len(charges(t, o)) != 1 {
		t.Error("asking for a complete run changed something")
	}
}

// TestTwoAtOnce: a folder in which a run works refuses a second one at once.
func TestTwoAtOnce(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(tickets(), clipped()), newHashModel())
	var once sync.Once
	o.Env.Observe = func(env.Progress) {
		once.Do(func() {
			second := p.options(t, o.Plan, newHashModel())
			_, err := p.runner(second, osDisk{}).do(t.Context())
			if !errors.As(err, new(*BusyError)) {
				t.Errorf("a second run: %v", err)
			}
		})
	}
	p.finish(t, o)
}

// TestConcurrentRuns: anyone who comes first is the only one who runs, and all see the same.
func TestConcurrentRuns(t *testing.T) {
	p := newPlace(t)
	const n = 8
	var group sync.WaitGroup
	results := make([]*Result, n)
	for i := range n {
		o := p.options(t, planFor(tickets(), clipped()), newHashModel())
		group.Go(func() {
			for results[i] == nil {
				r := p.runner(o, osDisk{})
				r.engine.name, r.engine.drawKey = newName, noise.NewKey
				result, err := r.do(t.Context())
				if err != nil && !errors.As(err, new(*BusyError)) {
					t.Error(err)
					return
				}
				if results[i] = result; result == nil {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	group.Wait()
	for _, r := range results[1:] {
		at := expect.At(t, "another result")
		if r == nil {
			at.Fatalf("r: got none")
		}
		expect.True(at, "r.Examples equal to results[0].Examples", slices.Equal(r.Examples, results[0].Examples), r.Examples, results[0].Examples)
		expect.Equal(at, "r.Charge", r.Charge, results[0].Charge)
	}
	if got := charges(t, p.options(t, planFor(tickets(), clipped()), newHashModel())); len(got) != 1 {
		t.Errorf("%d charges", len(got))
	}
}

// TestCancelled: a run that is stopped after its first text says how to continue.
func TestCancelled(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(tickets(), clipped()), newHashModel())
	ctx, cancel := context.WithCancel(t.Context())
	o.Env.Observe = func(e env.Progress) {
		if e.Kind == env.Released {
			cancel()
		}
	}
	_, err := p.runner(o, osDisk{}).do(ctx)
	interrupted := expect.As[*InterruptedError](t, err)
	expect.True(t, "the error context.Canceled", errors.Is(err, context.Canceled), err)
	expect.Equal(t, "interrupted.Done", interrupted.Done, 1)
	expect.True(t, "interrupted.Charge that is not empty", interrupted.Charge != "")
	expect.Contains(t, "error", fmt.Sprint(err), o.Dir)
	o.Env.Observe = nil
	if result := p.finish(t, o); !result.Resumed || result.Finished {
		t.Errorf("%+v", result)
	}
}

// TestKeyIsOverwritten: nothing of the key is left in its file when that is removed, and
// the file is not there before its run is named or after it ends.
func TestKeyIsOverwritten(t *testing.T) {
	p := newPlace(t)
	m := newHashModel()
	o := p.options(t, planFor(tickets(), clipped()), m)
	seen := map[string]bool{}
	a := p.attempt(o, m, func(_ int, what string) error {
		data, err := os.ReadFile(filepath.Join(o.Dir, privateDir, keyFile))
		switch {
		case what == "ask to reserve":
			seen[what] = err == nil && bytes.Equal(data, p.key)
		case what == "remove "+keyFile:
			seen[what] = err == nil && bytes.Equal(data, make([]byte, len(p.key)))
		}
		return nil
	})
	_, err := a.run(t.Context())
	must(t, err)
	for _, what := range []string{"ask to reserve", "remove " + keyFile} {
		if !seen[what] {
			t.Errorf("before %q the key is not as it should be", what)
		}
	}
}
