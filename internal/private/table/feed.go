package table

import (
	"context"
	"sync"

	"github.com/sotto-dp/sotto/internal/sys/fault"
)

// feed hands what produce puts to workers, each of which is one goroutine. It ends when
// all is done, or at the first error.
func feed[T any](ctx context.Context, workers int, produce func(ctx context.Context, put func(T) error) error, consume func(worker int, t T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tasks := make(chan T)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			defer fault.Watch()
			for t := range tasks {
				if ctx.Err() != nil {
					continue
				}
				if err := consume(worker, t); err != nil {
					cancel(err)
				}
			}
		})
	}
	err := produce(ctx, func(t T) error {
		select {
		case tasks <- t:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(tasks)
	group.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
