package remote

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// scoreQuery requests the scores of the token after a list of tokens.
type scoreQuery struct {
	step   int // index among the steps, for errors
	tokens []lm.Token
	// One of these is set. All is top with all that the server has.
	candidates []lm.Token
	top        int
	// all, if not 0, is the number of tokens to return scores of.
	all int
	// size of the server's vocabulary.
	size int
	// alone: nothing may be computed beside it or taken from a cache.
	alone bool
	// slot is its place among queries that are sent at once.
	slot int
}

// answer holds log-probabilities over the vocabulary: of all requested candidates and maybe
// others, or of the best tokens.
type answer []tokenScore

type tokenScore struct {
	token   lm.Token
	logProb float64
}

// rounding is how far above 0 a log-probability may lie because a server sums float32
// numbers.
const rounding = 1e-3

// missing is what servers write for a token that they have no score of, or whose
// probability was too small for a float32: vLLM -9999, llama.cpp and SGLang the
// least float32. A float32 probability loses its precision from exp(-87) on and the
// score is off by more than 1e-3 below this.
const missing = -94

// check finds values that cannot be log-probabilities. Placeholders for missing scores are
// left out, so that these are found to be missing.
func (a answer) check() (answer, string) {
	seen := make(map[lm.Token]struct{}, len(a))
	kept := a[:0]
	for _, s := range a {
		if math.IsNaN(s.logProb) || s.logProb > rounding {
			return nil, "a log-probability is positive or not a number"
		}
		if _, twice := seen[s.token]; twice {
			return nil, "a token has two scores"
		}
		seen[s.token] = struct{}{}
		if s.logProb >= missing {
			kept = append(kept, tokenScore{s.token, math.Min(s.logProb, 0)})
		}
	}
	return kept, ""
}

// scores turns an answer into the requested scores.
func (q scoreQuery) scores(backend string, a answer) (lm.Scores, error) {
	a, wrong := a.check()
	if wrong != "" {
		return lm.Scores{}, &ReplyError{Backend: backend, Path: "a request for scores", Why: wrong}
	}
	if q.candidates != nil {
		found := make(map[lm.Token]float64, len(a))
		for _, s := range a {
			found[s.token] = s.logProb
		}
		logs := make([]float64, len(q.candidates))
		lacking := 0
		for i, token := range q.candidates {
			l, ok := found[token]
			if !ok {
				lacking++
			}
			logs[i] = l
		}
		if lacking > 0 {
			return lm.Scores{}, &lm.MissingScoreError{Backend: backend, Step: q.step, Missing: lacking}
		}
		return lm.Scores{Tokens: slices.Clone(q.candidates), LogProbs: lm.LogSoftmax(logs)}, nil
	}
	if len(a) < q.top {
		return lm.Scores{}, &lm.MissingScoreError{Backend: backend, Step: q.step, Missing: q.top - len(a)}
	}
	slices.SortFunc(a, func(x, y tokenScore) int {
		return cmp.Or(cmp.Compare(y.logProb, x.logProb), cmp.Compare(x.token, y.token))
	})
	if q.all > 0 {
		return whole(backend, q.all, a)
	}
	best := lm.Scores{}
	for _, s := range a[:q.top] {
		if s.token < 0 || int(s.token) >= q.size {
			return lm.Scores{}, &ReplyError{Backend: backend, Path: "a request for scores", Why: "a token is outside the vocabulary"}
		}
		best.Tokens = append(best.Tokens, s.token)
		best.LogProbs = append(best.LogProbs, s.logProb)
	}
	return best, nil
}

// whole puts the scores of a vocabulary in order. A server's model may have more
// rows than there are tokens; those are left out. The rest is normalised again: sums
// of 49152 float32 numbers are off by some 1e-4.
func whole(backend string, size int, a answer) (lm.Scores, error) {
	logs := make([]float64, size)
	found, sum := 0, 0.0
	for _, s := range a {
		sum += math.Exp(s.logProb)
		if s.token >= 0 && int(s.token) < size {
			logs[s.token] = s.logProb
			found++
		}
	}
	if found != size {
		return lm.Scores{}, &ReplyError{Backend: backend, Path: "a request for scores", Why: "tokens are outside the vocabulary"}
	}
	if math.Abs(sum-1) > 10*rounding {
		return lm.Scores{}, &lm.UnsoundError{Backend: backend, Why: fmt.Sprintf("the probabilities of its whole vocabulary add up to %.6g, not to one: they are not normalised", sum)}
	}
	return lm.Scores{LogProbs: lm.LogSoftmax(logs)}, nil
}
