package noise

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestReleaseLowBits: what comes out is a whole number of steps, and values that lie on the
// same step come out alike, whatever their low bits are.
func TestReleaseLowBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grid, err := NewGrid(rapid.IntRange(0, 12).Draw(t, "k"))
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Multiplier: 2, Sensitivity: 1, Grid: grid}
		newNoise := rapid.SampledFrom([]func(Options) (*Additive, error){NewGaussian, NewLaplace}).Draw(t, "which noise")
		a, err := newNoise(o)
		if err != nil {
			t.Fatal(err)
		}
		key := KeyFromSeed(rapid.Uint64().Draw(t, "seed"))
		on := float64(rapid.IntRange(-1000, 1000).Draw(t, "steps")) * grid.Granularity()
		off := on + grid.Granularity()*rapid.Float64Range(-0.49, 0.49).Draw(t, "low bits")
		first, err := a.Release(key.Stream("release"), on)
		if err != nil {
			t.Fatal(err)
		}
		second, err := a.Release(key.Stream("release"), off)
		if err != nil {
			t.Fatal(err)
		}
		if steps := second / grid.Granularity(); steps != math.Trunc(steps) || first != second {
			t.Fatalf("%v and %v come out as %v and %v with the same noise, in steps of %v", on, off, first, second, grid)
		}
	})
}
