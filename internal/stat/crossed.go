package stat

import (
	"fmt"
	"math"
	"slices"
)

// Crossed returns the bootstrap interval for the mean of scores[seed][item], over other
// seeds and other items. All seeds have the same items in the same order. With one seed it
// speaks of other items alone, with one item of other seeds alone.
//
// Each resample draws seeds and, once for all of them, items, both with replacement. Two
// corrections make it hold for few seeds, where quantiles of resamples are known to be too
// close together: a mean of n drawn ones varies less than one of n new ones, by 1 − 1/n, so
// seeds' and items' shares of each resample's distance from the mean are stretched by the
// root of it; and the quantiles' distances from the mean are stretched by what Student's
// distribution needs more than the normal one, with Satterthwaite's degrees of freedom for
// the two shares. So an interval can reach beyond the range of the scores. What seeds and
// items have together is counted up to three times (Owen 2007), which makes it a little
// longer than need be.
func Crossed(scores [][]float64, options Options) (Interval, error) {
	o, err := options.check()
	if err != nil {
		return Interval{}, err
	}
	t, err := newTable(scores)
	if err != nil {
		return Interval{}, err
	}
	return interval(o, []table{t}), nil
}

// table is scores[seed][item] with what resamples need.
type table struct {
	scores [][]float64
	mean   float64
	// seeds and items have the means of rows and columns, less the mean.
	seeds, items []float64
	// seedStretch and itemStretch are one less than the factors for their shares.
	seedStretch, itemStretch float64
	// variance of the mean and its degrees of freedom.
	variance, freedom float64
}

func newTable(scores [][]float64) (table, error) {
	t := table{scores: scores}
	if len(scores) == 0 || len(scores[0]) == 0 {
		return t, errNoValues
	}
	n := len(scores[0])
	for i, row := range scores {
		if len(row) != n {
			return t, fmt.Errorf("seed %d has %d items and the first %d: "+
				"all seeds must be measured on the same items", i, len(row), n)
		}
		if err := finite(row); err != nil {
			return t, fmt.Errorf("seed %d: %w", i, err)
		}
	}
	if len(scores) == 1 && n == 1 {
		return t, fmt.Errorf("one score does not show how much others would differ: measure more items or seeds")
	}
	t.seeds, t.items = make([]float64, len(scores)), make([]float64, n)
	for i, row := range scores {
		t.seeds[i] = Mean(row)
		for j, v := range row {
			t.items[j] += v / float64(len(scores))
		}
	}
	t.mean = Mean(t.seeds)
	ofSeeds, ofItems := 0.0, 0.0
	t.seedStretch, ofSeeds = centre(t.seeds, t.mean)
	t.itemStretch, ofItems = centre(t.items, t.mean)
	t.variance = ofSeeds + ofItems
	t.freedom = freedom(ofSeeds, len(scores)-1) + freedom(ofItems, n-1)
	if t.freedom > 0 {
		t.freedom = t.variance * t.variance / t.freedom
	}
	return t, nil
}

// centre takes the mean from values, and returns the stretch and the variance of
// their mean.
func centre(values []float64, mean float64) (stretch, ofMean float64) {
	n := float64(len(values))
	if n > 1 {
		stretch = math.Sqrt(n/(n-1)) - 1
		ofMean = variance(values) / n
	}
	for i := range values {
		values[i] -= mean
	}
	return stretch, ofMean
}

// freedom returns the share of a variance in the denominator of Satterthwaite's formula.
func freedom(variance float64, degrees int) float64 {
	if degrees == 0 {
		return 0
	}
	return variance * variance / float64(degrees)
}

// resample returns the mean of one resample, stretched. draw gives a number below n, times
// has room for all items.
func (t *table) resample(draw func(n int) int, times []float64) float64 {
	clear(times)
	ofItems := 0.0
	for range t.items {
		j := draw(len(t.items))
		times[j]++
		ofItems += t.items[j]
	}
	sum, ofSeeds := 0.0, 0.0
	for range t.seeds {
		i := draw(len(t.seeds))
		ofSeeds += t.seeds[i]
		for j, v := range t.scores[i] {
			sum += v * times[j]
		}
	}
	seeds, items := float64(len(t.seeds)), float64(len(t.items))
	return sum/(seeds*items) + t.seedStretch*ofSeeds/seeds + t.itemStretch*ofItems/items
}

// interval for the mean of the means of tables, which are resampled independently.
func interval(o Options, tables []table) Interval {
	var mean, variance, degrees float64
	longest := 0
	for i := range tables {
		t := &tables[i]
		mean += t.mean / float64(len(tables))
		variance += t.variance
		if t.freedom > 0 {
			degrees += t.variance * t.variance / t.freedom
		}
		longest = max(longest, len(t.items))
	}
	random := o.stream(forCrossed)
	times := make([]float64, longest)
	means := make([]float64, o.Resamples)
	for r := range means {
		for i := range tables {
			t := &tables[i]
			means[r] += t.resample(random.IntN, times[:len(t.items)]) / float64(len(tables))
		}
	}
	slices.Sort(means)
	tail := (1 - o.Level) / 2
	stretch := 1.0
	if degrees > 0 {
		stretch = studentQuantile(tail, variance*variance/degrees) / normalQuantile(tail)
	}
	end := func(p float64) float64 { return mean + stretch*(quantile(means, p)-mean) }
	return Interval{min(mean, end(tail)), max(mean, end(1-tail))}
}
