package table

import (
	"context"
	"errors"
	"testing"
)

// TestConcurrentFeed: every task is done once, by a worker that does one at a time, and the
// first error ends the rest.
func TestConcurrentFeed(t *testing.T) {
	const tasks, workers = 1000, 4
	produce := func(_ context.Context, put func(int) error) error {
		for i := range tasks {
			if err := put(i); err != nil {
				return err
			}
		}
		return nil
	}
	done, sums := make([]bool, tasks), make([]int, workers)
	if err := feed(t.Context(), workers, produce, func(worker, i int) error {
		if done[i] {
			return errors.New("a task came twice")
		}
		done[i] = true
		sums[worker] += i
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, s := range sums {
		sum += s
	}
	if sum != tasks*(tasks-1)/2 {
		t.Errorf("the tasks sum to %d", sum)
	}
	wrong := errors.New("wrong")
	err := feed(t.Context(), workers, produce, func(_, i int) error {
		if i == 10 {
			return wrong
		}
		return nil
	})
	if !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := feed(ctx, workers, produce, func(int, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after it was cancelled: %v", err)
	}
}
