package lm

import (
	"cmp"
	"math"
	"slices"
)

// LogSoftmax turns logits, or log-probabilities over a larger set, into
// log-probabilities among themselves. The order of the logits does not change
// a single bit of any score: terms are added in ascending order.
func LogSoftmax[F float32 | float64](logits []F) []float64 {
	out := make([]float64, len(logits))
	for i, x := range logits {
		out[i] = float64(x)
	}
	sorted := slices.Clone(out)
	slices.Sort(sorted)
	largest := sorted[len(sorted)-1]
	if math.IsInf(largest, -1) {
		// Every candidate is impossible: nothing distinguishes them.
		for i := range out {
			out[i] = -math.Log(float64(len(out)))
		}
		return out
	}
	var sum float64
	for _, x := range sorted {
		sum += math.Exp(x - largest)
	}
	log := largest + math.Log(sum)
	for i := range out {
		out[i] = math.Min(out[i]-log, 0)
	}
	return out
}

// Best returns the tokens of the k largest log-probabilities over a whole vocabulary, in
// descending order; equal ones by ascending token.
func Best[F float32 | float64](logProbs []F, k int) []Token {
	better := func(a, b Token) int {
		if c := cmp.Compare(logProbs[b], logProbs[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	}
	if k <= 0 {
		return nil
	}
	k = min(k, len(logProbs))
	// The best so far, with the worst of them on top.
	heap := make([]Token, 0, k)
	down := func(i int) {
		for {
			worst := i
			for _, child := range [2]int{2*i + 1, 2*i + 2} {
				if child < len(heap) && better(heap[child], heap[worst]) > 0 {
					worst = child
				}
			}
			if worst == i {
				return
			}
			heap[i], heap[worst] = heap[worst], heap[i]
			i = worst
		}
	}
	for t := range logProbs {
		token := Token(t)
		if len(heap) < k {
			heap = append(heap, token)
			if len(heap) == k {
				for i := k/2 - 1; i >= 0; i-- {
					down(i)
				}
			}
			continue
		}
		if better(token, heap[0]) < 0 {
			heap[0] = token
			down(0)
		}
	}
	slices.SortFunc(heap, better)
	return heap
}
