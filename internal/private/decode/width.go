package decode

import (
	"fmt"
	"math"
	"math/big"
)

// room is the largest whole number n of steps of 2^-nats with spans·n·rate ≤ limit, in
// exact arithmetic: the float64 that runs is the number that proofs are about. A vector
// of which one unit adds one spans n itself where its entries lie in [0, n], and 2n
// where they lie in [−n, n]; where a unit exchanges one for another, twice that.
func room(rate, limit float64, spans int64) int64 {
	exact, whole := new(big.Rat).SetFloat64(rate), new(big.Rat).SetFloat64(limit)
	if exact == nil || whole == nil || exact.Sign() <= 0 || whole.Sign() <= 0 {
		return 0
	}
	whole.Mul(whole, big.NewRat(1<<nats, spans))
	whole.Quo(whole, exact)
	n := new(big.Int).Quo(whole.Num(), whole.Denom())
	if maximum := big.NewInt(farthest << nats); n.Cmp(maximum) > 0 {
		return maximum.Int64()
	}
	return n.Int64()
}

// heaviest bounds how often public scores are counted in a sum with those of records:
// such a sum is far from the ends of an int64.
const heaviest = 1 << 20

// weigh adds the public scores to a sum of records' steps, so many times.
func weigh(sum []int64, base []float64, times float64) []int64 {
	for i, b := range base {
		sum[i] += steps(difference(b, 0)*times, nats)
	}
	return sum
}

// setting is a number among the settings of a method, by name.
type setting struct {
	what  string
	value float64
}

// checkPositive is about settings that have to be positive numbers.
func checkPositive(method string, settings ...setting) error {
	for _, s := range settings {
		if !(s.value > 0) || math.IsInf(s.value, 1) {
			return fmt.Errorf("%s needs a positive %s, not %v", method, s.what, s.value)
		}
	}
	return nil
}

// checkSelection is about a choice in which public scores count times, and records have
// some steps to say.
func checkSelection(method string, times float64, room int64, limit float64) error {
	if times > heaviest {
		return fmt.Errorf("%s cannot count public scores %v times: expect at most %d records", method, times, heaviest)
	}
	if room < 1 {
		return fmt.Errorf("a range of %v leaves less than 2^-%d nats to a record: ask for a larger ε, fewer texts or a larger data set", limit, nats)
	}
	return nil
}
