package llama

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/sotto-dp/sotto/lm/gguf"
	"github.com/sotto-dp/sotto/lm/internal/kernel"
)

// Speed reports how fast this machine multiplies weights with the engine's kernels, which
// is most of the cost of a token.
type Speed struct {
	// Level of the kernels, and the threads that computed.
	Level   string
	Threads int
	// Weights of each storage type that a token needs, in a second: for one sequence
	// alone, whose tokens come one at a time.
	Single map[gguf.Type]float64
	// Batched is the same for a sequence among [measuredSequences].
	Batched map[gguf.Type]float64
}

// measuredSequences is the batch size of [Speed.Batched]: an ensemble of sixteen private
// prompts and a public one.
const measuredSequences = 17

// measured are the storage types that files of today are in.
var measured = []gguf.Type{gguf.Q4_K, gguf.Q5_0, gguf.Q6_K, gguf.Q8_0}

// Measure determines what this machine can do when nothing else runs: it takes the best of
// a few tries. It takes a second or two, and 150 MB of memory.
//
// A whole model computes more than products. Of two models that were measured beside it,
// one token at a time and 17 together, SmolLM2-135M had 0.78 and 0.72 of the speed that the
// products alone would allow, Qwen2.5-Coder-1.5B 0.87 and 0.95 (one thread of an AVX-512
// processor, by the thread's own time).
func Measure(ctx context.Context, threads int) (Speed, error) {
	// As many weights as do not stay in the caches of most processors.
	const rows, cols = 16384, 4096
	return measure(ctx, threads, rows, cols, 5)
}

func measure(ctx context.Context, threads, rows, cols, repeat int) (Speed, error) {
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	k := kernel.For(kernel.Best())
	s := Speed{Level: k.Level().String(), Threads: threads, Single: map[gguf.Type]float64{}, Batched: map[gguf.Type]float64{}}
	if k.Level() == kernel.Portable {
		rows, repeat = min(rows, 256), min(repeat, 2) // a hundred times slower
	}
	workers := newPool(threads)
	defer workers.close()
	scratch := make([]*kernel.Scratch, threads)
	for i := range scratch {
		scratch[i] = &kernel.Scratch{}
	}
	x, dst := k.NewQuantized(kernel.Bits16, measuredSequences, cols), kernel.Floats(measuredSequences*padded(rows))
	for _, kind := range measured {
		size, err := kernel.RowBytes(kind, cols)
		if err != nil {
			return Speed{}, err
		}
		// As quants, scales and halves, these bytes are all ordinary numbers.
		matrix, err := kernel.Pack(kind, rows, cols, bytes.Repeat([]byte{0x2c}, rows*size))
		if err != nil {
			return Speed{}, fmt.Errorf("measure this machine: %w", err)
		}
		for _, n := range []int{1, measuredSequences} {
			best := 0.0
			for range repeat {
				if err := ctx.Err(); err != nil {
					return Speed{}, err
				}
				began := time.Now()
				if err := workers.step(func() error {
					workers.each(matrix.Panels(), 1, func(worker, from, to int) {
						k.MulQuantized(matrix, from, to, x, n, dst, padded(rows), scratch[worker])
					})
					return nil
				}); err != nil {
					return Speed{}, err
				}
				best = max(best, float64(n)*float64(rows)*float64(cols)/time.Since(began).Seconds())
			}
			to := s.Single
			if n > 1 {
				to = s.Batched
			}
			to[kind] = best
		}
	}
	return s, nil
}
