package metric

import (
	"maps"
	"math"
	"slices"
)

// tally of a label: how often it was right, wanted and given.
type tally struct{ right, wanted, given int }

// tallies of all labels that were wanted or given, in the order of their names, so that
// the last digit of a sum is always the same.
func tallies(pairs []Pair) []tally {
	of := map[string]tally{}
	for _, p := range pairs {
		want := of[p.Want]
		want.wanted++
		if p.Want == p.Got {
			want.right++
		}
		of[p.Want] = want
		got := of[p.Got]
		got.given++
		of[p.Got] = got
	}
	out := make([]tally, 0, len(of))
	for _, label := range slices.Sorted(maps.Keys(of)) {
		out = append(out, of[label])
	}
	return out
}

// macroF1 gives a label that was never right 0.
func macroF1(pairs []Pair) float64 {
	all := tallies(pairs)
	sum := 0.0
	for _, t := range all {
		sum += 2 * float64(t.right) / float64(t.wanted+t.given)
	}
	return sum / float64(len(all))
}

// balancedAccuracy returns the mean over the wanted labels of the share that was right.
func balancedAccuracy(pairs []Pair) float64 {
	sum, labels := 0.0, 0
	for _, t := range tallies(pairs) {
		if t.wanted > 0 {
			sum += float64(t.right) / float64(t.wanted)
			labels++
		}
	}
	return sum / float64(labels)
}

// matthews returns the correlation of what was wanted and given (Gorodkin 2004, for any
// number of labels): 0 where all of one of them are the same label.
func matthews(pairs []Pair) float64 {
	n := float64(len(pairs))
	right, both, wanted, given := 0.0, 0.0, 0.0, 0.0
	for _, t := range tallies(pairs) {
		w, g := float64(t.wanted), float64(t.given)
		right += float64(t.right)
		both += w * g
		wanted += w * w
		given += g * g
	}
	spread := (n*n - wanted) * (n*n - given)
	if spread == 0 {
		return 0
	}
	return (n*right - both) / math.Sqrt(spread)
}
