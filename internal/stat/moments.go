package stat

import (
	"errors"
	"fmt"
	"math"
)

// Mean of values; not a number (NaN) if there are none.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Std returns the standard deviation of values, with one less than their number in the
// denominator. It is not a number (NaN) for fewer than
// two; JSON has no such value.
func Std(values []float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	return math.Sqrt(variance(values))
}

func variance(values []float64) float64 {
	mean := Mean(values)
	sum := 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return sum / float64(len(values)-1)
}

var errNoValues = errors.New("there are no scores: give at least one")

// finite refuses what no mean can be taken of.
func finite(values []float64) error {
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("score %d is %v: leave out what could not be scored, for all methods alike", i, v)
		}
	}
	return nil
}
