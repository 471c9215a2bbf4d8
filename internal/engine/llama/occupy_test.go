package llama

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

// occupying occupies a model until the function that it returns is called.
func occupying(m *Model) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var busy sync.WaitGroup
	busy.Go(func() { m.Occupy(ctx) })
	return func() {
		cancel()
		busy.Wait()
	}
}

// computes waits until the threads of a model have computed more than so many regions.
func computes(t *testing.T, m *Model, regions uint64) {
	t.Helper()
	for from, end := m.pool.region.Load(), time.Now().Add(time.Minute); m.pool.region.Load() < from+regions; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the threads do not compute")
		}
	}
}

// TestOccupy: the threads compute though nobody asks, before, between and after steps; scores,
// usage and pages are as they are without it; and it ends with its context, or the model.
func TestOccupy(t *testing.T) {
	m := tinyModel(t, Options{Threads: 2})
	want := alone(t, m, []lm.Token{3, 1, 4, 1, 5})
	usage, pages := m.Usage(), m.cache.used
	stop := occupying(m)
	computes(t, m, 100)
	for range 20 {
		sameBits(t, "beside what occupies the threads", alone(t, m, []lm.Token{3, 1, 4, 1, 5}), want)
	}
	computes(t, m, 100)
	stop()
	if got := m.Usage(); got.Computed != usage.Computed*21 || got.Rows != usage.Rows*21 {
		t.Errorf("%+v is counted for 21 steps, and %+v for one", got, usage)
	}
	if m.cache.used != pages {
		t.Errorf("%d pages are in use, and %d before", m.cache.used, pages)
	}
	before := m.pool.region.Load()
	stop()
	if m.pool.region.Load() != before {
		t.Error("the threads compute after the end")
	}
	stop = occupying(m)
	computes(t, m, 10)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	stop()
}

// TestConcurrentOccupy: many sessions beside it.
func TestConcurrentOccupy(t *testing.T) {
	m := tinyModel(t, Options{Threads: 2})
	want := alone(t, m, []lm.Token{2, 7, 1})
	defer occupying(m)()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				sameBits(t, "beside others", alone(t, m, []lm.Token{2, 7, 1}), want)
			}
		})
	}
	all.Wait()
}
