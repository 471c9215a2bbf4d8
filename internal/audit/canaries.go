package audit

import (
	"cmp"
	"errors"
	"slices"
)

// Guesses are the best of what an adversary said about canaries of one run.
type Guesses struct {
	Canaries int64   `json:"canaries"`
	Guesses  int64   `json:"guesses"`
	Right    int64   `json:"right"`
	Epsilon  float64 `json:"epsilon"`
}

// shares of the canaries that are guessed about, the surest ones first. Each is tried, and each
// has its part of what may go wrong.
var shares = []int{1, 2, 4, 8, 16}

// Canaries bounds ε from one run: in says which canaries were in the data, by fair coins that
// nobody saw, and scores are higher for those that an adversary believes were. It guesses about those
// with the highest and with the lowest scores, about as many of each.
func Canaries(in []bool, scores []float64, delta, confidence float64) (Guesses, error) {
	var best Guesses
	if len(in) != len(scores) || len(in) < 2 {
		return best, errors.New("there should be a score for each canary, and two canaries at least")
	}
	order := make([]int, len(in))
	for i := range order {
		order[i] = i
	}
	// The order of equal scores is that of the canaries, which no coin decided.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	for _, share := range shares {
		half := len(in) / 2 / share
		if half == 0 {
			break
		}
		right := int64(0)
		for i := range half {
			if !in[order[i]] {
				right++
			}
			if in[order[len(order)-1-i]] {
				right++
			}
		}
		e, err := OneRun(int64(len(in)), int64(2*half), right, delta, 1-(1-confidence)/float64(len(shares)))
		if err != nil {
			return best, err
		}
		if best.Guesses == 0 || e > best.Epsilon {
			best = Guesses{int64(len(in)), int64(2 * half), right, e}
		}
	}
	return best, nil
}
