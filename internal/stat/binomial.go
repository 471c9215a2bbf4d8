package stat

import "math"

// UpperTail is the probability of k successes or more in n trials that each succeed with
// probability p.
func UpperTail(k, n int64, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n || p <= 0:
		return 0
	case p >= 1:
		return 1
	}
	return incompleteBeta(float64(k), float64(n-k+1), p)
}

// ClopperPearson is an interval for the probability of success, of which k were seen in n trials. It
// misses on either side with a probability of miss at most, whatever the probability is.
func ClopperPearson(k, n int64, miss float64) Interval {
	i := Interval{Low: 0, High: 1}
	if k > 0 {
		i.Low = solve(func(p float64) bool { return UpperTail(k, n, p) <= miss })
	}
	if k < n {
		// At most k successes are n-k failures or more.
		i.High = 1 - solve(func(p float64) bool { return UpperTail(n-k, n, p) <= miss })
	}
	return i
}

// solve returns the largest p, to rounding, for which a condition holds that holds up to some p.
func solve(holds func(p float64) bool) float64 {
	low, _ := Bisect(0, 1, 200, holds)
	return math.Max(0, low)
}

// Bisect halves an interval so many times, or to rounding, at whose low end a condition holds and at
// whose high end it does not.
func Bisect(low, high float64, steps int, holds func(float64) bool) (float64, float64) {
	for range steps {
		middle := (low + high) / 2
		if middle == low || middle == high {
			break
		}
		if holds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, high
}
