package global_test

import (
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestUnseenValuesHaveNoise: counts of values that no row has are as noisy as those of others,
// in groups with rows and in empty ones: a 0 that is always 0 shows that nobody has the value.
func TestUnseenValuesHaveNoise(t *testing.T) {
	for _, kind := range []global.Noise{global.Laplace, global.Gaussian} {
		o := grouped(nothing(0, global.Column{Name: "kind", Statistic: global.Histogram, Multiplier: 1000}), "y")
		o.Noise = kind
		m := newMechanism(t, o)
		const seeds = 40
		zeros, counts := 0, 0
		for seed := range uint64(seeds) {
			r, err := m.Release(sumsOf(t, m, []record{{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}}), noise.KeyFromSeed(seed)) // of one value in one group
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range r.Profile().Groups {
				for _, n := range g.Columns[2].Counts {
					if counts++; n == 0 {
						zeros++
					}
				}
			}
		}
		if counts != seeds*2*3 || zeros > 5 { // a count is 0 about once in 2000 times
			t.Errorf("%s: of %d counts, %d are 0", kind, counts, zeros)
		}
	}
}
