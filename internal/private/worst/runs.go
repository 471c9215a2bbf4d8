package worst

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Runs plays a game n times with the record and n times without it, on so many goroutines, and
// returns the scores. Each run has a key of its own, made of the given one and its number: the
// same key gives the same scores on any number of goroutines. Observe, if set, is called with how many are
// done, by several goroutines.
func (g Game) Runs(ctx context.Context, key noise.Key, n, workers int, observe func(done int64)) (with, without []float64, err error) {
	scores := [2][]float64{make([]float64, n), make([]float64, n)}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, done atomic.Int64
	work := func() error {
		play, err := g.player()
		if err != nil {
			return err
		}
		const some = 64
		for {
			first := int(next.Add(some) - some)
			if first >= 2*n {
				return nil
			}
			for i := first; i < min(2*n, first+some); i++ {
				if scores[i%2][i/2], err = play(ctx, key.Derive("run "+strconv.Itoa(i)), i%2 == 0); err != nil {
					return err
				}
			}
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if count := done.Add(some); observe != nil {
				observe(min(count, int64(2*n)))
			}
		}
	}
	var group sync.WaitGroup
	for range max(1, workers) {
		group.Go(func() {
			defer fault.Watch()
			if err := work(); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return scores[0], scores[1], context.Cause(ctx)
}
