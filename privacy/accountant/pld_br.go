package accountant

import (
	"math"

	"github.com/sotto-dp/sotto/privacy"
)

// rangeBlock is the number of bounded-range steps that are composed optimally at a time
// when there are too many for one recursion.
const rangeBlock = 1024

// boundedRangeSources make the class of n adaptive c-bounded-range steps. From
// above they use the optimal adaptive composition of all steps together, as one
// run: steps of other kinds may come between them, since an adaptive sequence
// with a given profile is dominated by the pair of that profile also when it is
// interleaved with others (Vadhan, Zhang 2023). From below they use one
// mechanism of the class, the symmetric one, whose losses are ±c/2.
func boundedRangeSources(c float64, n int64, tolerance, tail float64) ([]source, []int64, error) {
	if c == 0 {
		return nil, nil, nil
	}
	if c < 1e-12 {
		return []source{boundSource{leafSource{purePair(1e-12), 1}, nothingSource}}, []int64{n}, nil
	}
	if c > brMaxRange {
		return []source{boundSource{leafSource{purePair(c), 1}, leafSource{purePair(c / 2), 1}}}, []int64{n}, nil
	}
	var sources []source
	var counts []int64
	for _, b := range []struct{ steps, times int64 }{{rangeBlock, n / rangeBlock}, {n % rangeBlock, 1}} {
		if n <= brMaxSteps {
			b.steps, b.times = n, 1
		}
		if b.steps == 0 || b.times == 0 {
			continue
		}
		s, err := boundedRangeBlock(c, b.steps, tolerance, tail)
		if err != nil {
			return nil, nil, err
		}
		sources, counts = append(sources, s), append(counts, b.times)
		if n <= brMaxSteps {
			break
		}
	}
	return sources, counts, nil
}

// boundedRangeBlock is one optimally composed sequence of steps.
func boundedRangeBlock(c float64, steps int64, tolerance, tail float64) (source, error) {
	p, err := brCached(brKey{c, steps, tolerance})
	if err != nil {
		return nil, err
	}
	up := fromProfile(p.h, p.upper[-p.lo:])
	b := builder{adj: privacy.AddRemove, tolerance: tolerance, gap: new(bool)}
	low, err := b.whole([]privacy.Term{{Event: privacy.Pure{Epsilon: c / 2}, N: steps}}, math.Max(tail, 1e-280))
	if err != nil {
		return nil, err
	}
	return fixedSource{[2]pld{up, up}, low.low, 1, true}, nil
}

// boundSource takes its upper and its lower pld from two different pairs.
type boundSource struct{ up, low source }

func (b boundSource) symmetric() bool { return b.up.symmetric() && b.low.symmetric() }

func (b boundSource) outline(dir direction, tail float64) outline {
	return b.up.outline(dir, tail)
}

func (b boundSource) build(dir direction, g grid, tail float64) (up, low pld) {
	up, _ = b.up.build(dir, g, tail)
	_, low = b.low.build(dir, up.grid, tail)
	return up, low
}
