package suite_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/suite"
)

// brief is a suite with few cells, one of each kind.
const brief = `
items = 6
epsilon = [4]
shots = [2]

[[method]]
method = "zero"

[[method]]
method = "clipped"
batch = 16

[[method]]
method = "real"
`

// events of a run of brief: one that it begins, and for each of three cells that its set
// is written (not without demonstrations), its items answered, and it is done.
const briefEvents = 1 + 3*3 - 1

// uninterrupted is what a run of brief gives.
func uninterrupted(t *testing.T) *suite.Result {
	t.Helper()
	m := &toy{name: "toy"}
	want, err := suite.Run(t.Context(), helpline(t, brief), options(t, m))
	if err != nil {
		t.Fatal(err)
	}
	want.Tokens = m.Usage().Computed
	return want
}

// TestInterrupted: whenever the context ends, in whichever step of the model or after
// whichever event, the same call continues and nothing is done twice that was done.
func TestInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("a suite is run once for each point")
	}
	want := uninterrupted(t)
	counting := &toy{name: "toy"}
	if _, err := suite.Run(t.Context(), helpline(t, brief), options(t, counting)); err != nil {
		t.Fatal(err)
	}
	steps := counting.steps.Load()
	stops := []func(m *toy, o *suite.Options, cancel func()){}
	for n := range briefEvents - 1 { // after the last there is nothing to interrupt
		stops = append(stops, func(_ *toy, o *suite.Options, cancel func()) {
			told := 0
			o.Observe = func(suite.Progress) {
				if told == n {
					cancel()
				}
				told++
			}
		})
	}
	for at := int64(1); at <= steps; at += max(1, steps/5) {
		stops = append(stops, func(m *toy, _ *suite.Options, cancel func()) {
			m.fault = func(step int64) error {
				if step == at {
					cancel()
					return context.Canceled
				}
				return nil
			}
		})
	}
	for i, stop := range stops {
		m := &toy{name: "toy"}
		o := options(t, m)
		ctx, cancel := context.WithCancel(t.Context())
		stopped := o
		stop(m, &stopped, cancel)
		s := helpline(t, brief)
		_, err := suite.Run(ctx, s, stopped)
		cancel()
		about := expect.At(t, "stop %d", i)
		interrupted := expect.As[*suite.InterruptedError](about, err)
		expect.True(about, "the error context.Canceled", errors.Is(err, context.Canceled), err)
		expect.Equal(about, "interrupted.Cells", interrupted.Cells, 3)
		expect.True(about, "interrupted.Done below 3", interrupted.Done < 3, interrupted.Done)
		m.fault = nil
		again, err := suite.Run(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "again", files(t, o.Out), want.Rows)
		if again.Written+again.ReusedSets != 2 || again.Answered+again.ReusedAnswers != 3 {
			t.Errorf("stop %d: %+v", i, again)
		}
		if again.ReusedSets+again.ReusedAnswers < 2*interrupted.Done-1 {
			t.Errorf("stop %d: %d cells were done, and %d sets and %d answers found", i, interrupted.Done, again.ReusedSets, again.ReusedAnswers)
		}
	}
}

// Where a child of [TestKilled] dies.
const (
	killDir   = "SOTTO_TEST_SUITE_DIR"
	killEvent = "SOTTO_TEST_SUITE_EVENT"
	killStep  = "SOTTO_TEST_SUITE_STEP"
)

// TestKilledChild runs a suite and ends the process on its way, as a child of TestKilled.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv(killDir)
	if dir == "" {
		return // there is nothing to test unless TestKilled asks
	}
	event, _ := strconv.Atoi(os.Getenv(killEvent))
	step, _ := strconv.Atoi(os.Getenv(killStep))
	m := &toy{name: "toy", fault: func(n int64) error {
		if n == int64(step) {
			os.Exit(9)
		}
		return nil
	}}
	o := options(t, m)
	o.Cache, o.Out = filepath.Join(dir, "cache"), filepath.Join(dir, "out")
	told := 0
	o.Observe = func(suite.Progress) {
		if told++; told == event {
			os.Exit(9)
		}
	}
	s, err := suite.Load(filepath.Join(dir, "suite.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := suite.Run(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
}

// TestKilled: a process that is killed at any stage, again and again, leaves what the next
// one resumes from, and in the end the rows are those of a run that nobody killed.
func TestKilled(t *testing.T) {
	want := uninterrupted(t)
	dir := t.TempDir()
	s := helplineIn(t, dir, brief)
	kill := func(variable string, at int) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledChild$")
		cmd.Env = append(os.Environ(), killDir+"="+dir, variable+"="+strconv.Itoa(at))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 9 {
			t.Fatalf("%s %d: %v, %s", variable, at, err, out)
		}
	}
	kill(killStep, 1)
	for at := 1; at <= briefEvents; at++ {
		kill(killEvent, at)
		if at == 3 { // the first cell is done, which has no set to write
			kill(killStep, 2)
		}
	}
	m := &toy{name: "toy"}
	o := options(t, m)
	o.Cache, o.Out = filepath.Join(dir, "cache"), filepath.Join(dir, "out")
	again, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "again", files(t, o.Out), want.Rows)
	// The last child died when all was done but for the files.
	expect.Equal(t, "m.Usage().Computed", m.Usage().Computed, 0)
	expect.Equal(t, "again.ReusedSets", again.ReusedSets, 2)
	expect.Equal(t, "again.ReusedAnswers", again.ReusedAnswers, 3)
	// What the killed ones left in their folders goes when it is old.
	tmp := filepath.Join(o.Cache, "tmp")
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) == 0 {
		t.Fatalf("no child died at work: %v, %v", left, err)
	}
	old := time.Now().Add(-30 * 24 * time.Hour)
	for _, e := range left {
		if err := os.Chtimes(filepath.Join(tmp, e.Name()), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := suite.Run(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestDamagedCache: files of the cache that cannot be read as they should count as none.
func TestDamagedCache(t *testing.T) {
	want := uninterrupted(t)
	m := &toy{name: "toy"}
	o := options(t, m)
	s := helpline(t, brief)
	if _, err := suite.Run(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	damaged := 0
	err := filepath.WalkDir(o.Cache, func(path string, d os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".json" {
			damaged++
			return os.Truncate(path, 10)
		}
		return err
	})
	if err != nil || damaged != 7 { // two plans, two sets, three times answers
		t.Fatalf("%d files, %v", damaged, err)
	}
	again, err := suite.Run(t.Context(), s, o)
	expect.NoError(t, err)
	expect.Equal(t, "again.Written", again.Written, 2)
	expect.Equal(t, "again.Answered", again.Answered, 3)
	equal(t, "again", again.Rows, want.Rows)
}
