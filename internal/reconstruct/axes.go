package reconstruct

import (
	"runtime"
	"sync"

	"github.com/sotto-dp/sotto/internal/sys/fault"
)

// apply multiplies x by the Kronecker product of the axes, in place.
//
// Depth first: after an axis is applied to a block, its parts no longer meet, and each
// takes the rest of the axes while it is in a cache that holds it.
func apply(x []float64, axes []axis) {
	workers := runtime.GOMAXPROCS(0)
	if len(x) < 1<<14 || workers == 1 {
		descend(x, axes)
		return
	}
	// Axes are applied to all of x, in slices, until there are parts enough for everybody.
	parts := 1
	for len(axes) > 0 && parts < 4*workers && len(x)/parts > 1<<12 {
		a := axes[0]
		axes = axes[1:]
		if a.values == 1 {
			continue
		}
		block := len(x) / parts
		inner := block / a.values
		pieces := (4*workers + parts - 1) / parts
		parallel(parts*pieces, func(i int) {
			part, piece := i/pieces, i%pieces
			mix(x[part*block:(part+1)*block], a, inner*piece/pieces, inner*(piece+1)/pieces)
		})
		parts *= a.values
	}
	block := len(x) / parts
	parallel(parts, func(i int) { descend(x[i*block:(i+1)*block], axes) })
}

// parallel calls do with 0..n-1 on all processors.
func parallel(n int, do func(int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			defer fault.Watch()
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	wait.Wait()
}

// piece is the number of cells that are worth a call.
const piece = 1 << 15

// each calls do with pieces of 0..n on all processors.
func each(n int, do func(from, to int)) {
	parallel((n+piece-1)/piece, func(i int) { do(i*piece, min(n, (i+1)*piece)) })
}

// sums adds the results of do for pieces of 0..n. The pieces and the order of addition do
// not depend on the number of processors, so results are the same everywhere.
func sums(n int, do func(from, to int) float64) (total float64) {
	parts := make([]float64, (n+piece-1)/piece)
	each(n, func(from, to int) { parts[from/piece] = do(from, to) })
	for _, v := range parts {
		total += v
	}
	return total
}

// small blocks stay in the nearest cache, and take all their axes in turn.
const small = 1 << 11

func descend(x []float64, axes []axis) {
	for len(axes) > 0 && axes[0].values == 1 {
		axes = axes[1:]
	}
	if len(axes) == 0 {
		return
	}
	if len(x) <= small {
		inner := len(x)
		for _, a := range axes {
			inner /= a.values
			mixAll(x, a, inner)
		}
		return
	}
	a := axes[0]
	inner := len(x) / a.values
	mix(x, a, 0, inner)
	if len(axes) == 1 {
		return
	}
	for i := range a.values {
		descend(x[i*inner:(i+1)*inner], axes[1:])
	}
}

// mixAll applies an axis to every block of values·inner cells of x.
func mixAll(x []float64, a axis, inner int) {
	gain, other := a.keep-a.other, a.other
	switch {
	case a.values == 1:
	case inner > 1:
		for block := a.values * inner; len(x) > 0; x = x[block:] {
			mix(x[:block], a, 0, inner)
		}
	case a.values == 2:
		for i := 1; i < len(x); i += 2 {
			u, v := x[i-1], x[i]
			both := other * (u + v)
			x[i-1], x[i] = gain*u+both, gain*v+both
		}
	case a.values == 4:
		for i := 3; i < len(x); i += 4 {
			t, u, v, w := x[i-3], x[i-2], x[i-1], x[i]
			all := other * (t + u + v + w)
			x[i-3], x[i-2], x[i-1], x[i] = gain*t+all, gain*u+all, gain*v+all, gain*w+all
		}
	default:
		for ; len(x) > 0; x = x[a.values:] {
			sum := 0.
			for _, v := range x[:a.values] {
				sum += v
			}
			sum *= other
			for i, v := range x[:a.values] {
				x[i] = gain*v + sum
			}
		}
	}
}

// mix applies an axis to the leading dimension of x, for the positions from..to of the
// rest.
func mix(x []float64, a axis, from, to int) {
	inner := len(x) / a.values
	gain, other := a.keep-a.other, a.other
	if a.values == 2 {
		first, second := x[from:to], x[inner+from:inner+to]
		second = second[:len(first)]
		for i, u := range first {
			v := second[i]
			both := other * (u + v)
			first[i], second[i] = gain*u+both, gain*v+both
		}
		return
	}
	var buffer [256]float64
	for ; from < to; from += len(buffer) {
		sum := buffer[:min(len(buffer), to-from)]
		clear(sum)
		for at := from; at < len(x); at += inner {
			for i, v := range x[at : at+len(sum)] {
				sum[i] += v
			}
		}
		for i := range sum {
			sum[i] *= other
		}
		for at := from; at < len(x); at += inner {
			part := x[at : at+len(sum)]
			for i, s := range sum {
				part[i] = gain*part[i] + s
			}
		}
	}
}
