package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Interval covers the true value with the requested probability.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Within returns the part of an interval between what scores can be at least and at most,
// which holds the true value whenever the whole does.
func (i Interval) Within(low, high float64) Interval {
	return Interval{min(high, max(low, i.Low)), min(high, max(low, i.High))}
}

// Options of intervals and tests. The zero value is useful.
type Options struct {
	// Level of intervals, 0.95.
	Level float64
	// Resamples is the number of draws; default 5000.
	Resamples int
	// Seed of the draws. The same seed gives the same answer.
	Seed uint64
}

// check fills in defaults.
func (o Options) check() (Options, error) {
	if o.Level == 0 {
		o.Level = 0.95
	}
	if o.Resamples == 0 {
		o.Resamples = 5000
	}
	if !(o.Level > 0 && o.Level < 1) {
		return o, fmt.Errorf("the level of an interval is %v: give one between 0 and 1, such as 0.95", o.Level)
	}
	if o.Resamples < 100 || o.Resamples > 10_000_000 {
		return o, fmt.Errorf("%d resamples: give at least 100 and at most 10000000", o.Resamples)
	}
	return o, nil
}

// stream of draws. What it is for is part of the seed, so that an interval and a test of
// the same scores do not use the same draws.
func (o Options) stream(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(o.Seed, purpose)) }

const (
	forMean = iota + 1
	forCrossed
	forSigns
)

// BCa returns the bias-corrected and accelerated bootstrap interval for the mean of
// independent values, which allows for their skewness (Efron and Tibshirani 1993, chapter
// 14).
func BCa(values []float64, options Options) (Interval, error) {
	o, means, err := resampled(values, options)
	if err != nil {
		return Interval{}, err
	}
	mean := Mean(values)
	below := 0.0
	for _, m := range means {
		switch {
		case m < mean:
			below++
		case m == mean:
			below += 0.5
		}
	}
	bias := normalQuantile(below / float64(len(means)))
	speed := acceleration(values)
	end := func(tail float64) float64 {
		z := bias + normalQuantile(tail)
		return quantile(means, normal(bias+z/(1-speed*z)))
	}
	tail := (1 - o.Level) / 2
	return Interval{end(tail), end(1 - tail)}, nil
}

// acceleration returns a sixth of the skewness of the mean over all values but one.
func acceleration(values []float64) float64 {
	// Leaving out a value moves the mean by its distance from the mean, up to a factor
	// that cancels here.
	mean := Mean(values)
	var squares, cubes float64
	for _, v := range values {
		d := v - mean
		squares += d * d
		cubes += d * d * d
	}
	if squares == 0 {
		return 0
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

// resampled draws values with replacement and gives the means, sorted.
func resampled(values []float64, options Options) (Options, []float64, error) {
	o, err := options.check()
	if err != nil {
		return o, nil, err
	}
	if len(values) == 0 {
		return o, nil, errNoValues
	}
	if err := finite(values); err != nil {
		return o, nil, err
	}
	if len(values) == 1 {
		return o, nil, fmt.Errorf("one score does not show how much others would differ: give at least two")
	}
	random := o.stream(forMean)
	means := make([]float64, o.Resamples)
	for i := range means {
		sum := 0.0
		for range values {
			sum += values[random.IntN(len(values))]
		}
		means[i] = sum / float64(len(values))
	}
	slices.Sort(means)
	return o, means, nil
}

// quantile of sorted values, straight between neighbours.
func quantile(sorted []float64, p float64) float64 {
	at := max(0, min(1, p)) * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	part := at - float64(i)
	return sorted[i]*(1-part) + sorted[i+1]*part
}
