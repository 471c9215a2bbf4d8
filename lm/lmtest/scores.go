package lmtest

import (
	"math"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

func (s *suite) testInfo(t *testing.T) {
	i := s.info
	if i.Name == "" || i.Backend == "" {
		t.Errorf("a model has a name and a back-end, not %q and %q", i.Name, i.Backend)
	}
	if i.Context <= 0 || i.Vocabulary <= 0 {
		t.Errorf("context %d and vocabulary %d must be known", i.Context, i.Vocabulary)
	}
	if i.Vocabulary != s.model.Tokenizer().Size() {
		t.Errorf("the vocabulary has %d tokens and the tokeniser %d", i.Vocabulary, s.model.Tokenizer().Size())
	}
	if i.BatchInvariant && i.Tolerance != 0 || !i.BatchInvariant && i.Tolerance <= 0 {
		t.Errorf("batch-invariant %v does not go with tolerance %v", i.BatchInvariant, i.Tolerance)
	}
}

func (s *suite) testTokenizer(t *testing.T) {
	tok := s.model.Tokenizer()
	for i, text := range texts {
		for _, token := range s.tokens[i] {
			expect.Within(t, "token", int(token), 0, tok.Size()-1)
			expect.True(t, "a token of text", !tok.Control(token), token)
		}
		back, err := tok.Decode(t.Context(), s.tokens[i])
		if err != nil {
			t.Fatal(err)
		}
		if back != text {
			t.Errorf("text %d comes back as %q", i, back)
		}
	}
	if len(tok.Ends()) == 0 {
		t.Error("no token ends a text")
	}
	for _, end := range tok.Ends() {
		if !tok.Control(end) {
			t.Errorf("token %d ends a text and is not a control token", end)
		}
		spelled, err := tok.Decode(t.Context(), []lm.Token{end})
		if err != nil || spelled != "" {
			t.Errorf("a control token decodes to %q, error %v", spelled, err)
		}
	}
}

func (s *suite) testDistributions(t *testing.T) {
	for i, tokens := range s.tokens {
		asks := []lm.Ask{s.ask(), {Candidates: s.candidates[:1]}}
		if s.info.Can.All {
			asks = append(asks, lm.Ask{All: true})
		}
		for _, ask := range asks {
			scores := s.fresh(t, tokens, ask)
			var sum float64
			for _, l := range scores.LogProbs {
				if math.IsNaN(l) || l > 0 {
					t.Fatalf("text %d: a log-probability is %v", i, l)
				}
				sum += math.Exp(l)
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("text %d: probabilities sum to %v", i, sum)
			}
		}
	}
}

// restrict renormalises scores of a whole vocabulary over candidates.
func restrict(all lm.Scores, candidates []lm.Token) []float64 {
	picked := make([]float64, len(candidates))
	for i, c := range candidates {
		picked[i] = all.LogProbs[c]
	}
	return lm.LogSoftmax(picked)
}

func (s *suite) testRestricted(t *testing.T) {
	if !s.info.Can.All {
		s.restrictedToTop(t)
		return
	}
	// Both go through float64 sums of other terms, so they agree to rounding.
	tolerance := 1e-9 + s.info.Tolerance
	for i, tokens := range s.tokens {
		all := s.fresh(t, tokens, lm.Ask{All: true})
		want := restrict(all, s.candidates)
		got := s.fresh(t, tokens, s.ask())
		if !slices.Equal(got.Tokens, s.candidates) {
			t.Fatal("scores are not of the candidates in their order")
		}
		for j, w := range want {
			if math.Abs(got.LogProbs[j]-w) > tolerance*(1+math.Abs(w)/20) {
				t.Errorf("text %d, candidate %d: %v, but %v in the whole distribution", i, j, got.LogProbs[j], w)
			}
		}
	}
}

// restrictedToTop compares with the best tokens, where there is no more to compare with.
func (s *suite) restrictedToTop(t *testing.T) {
	if !s.info.Can.Top {
		t.Skip("the back-end gives candidates only")
	}
	for i, tokens := range s.tokens {
		top := s.fresh(t, tokens, lm.Ask{Top: s.atMost(5)})
		got := s.fresh(t, tokens, lm.Ask{Candidates: top.Tokens})
		want := lm.LogSoftmax(top.LogProbs)
		for j, w := range want {
			if math.Abs(got.LogProbs[j]-w) > s.info.Tolerance*(1+math.Abs(w)/20) {
				t.Errorf("text %d, candidate %d: %v, but %v among the best", i, j, got.LogProbs[j], w)
			}
		}
	}
}

// atMost is k, or as many best tokens as the back-end gives.
func (s *suite) atMost(k int) int {
	if s.info.Top > 0 {
		return min(k, s.info.Top)
	}
	return k
}

func (s *suite) testCandidateOrder(t *testing.T) {
	order := slices.Clone(s.candidates)
	for i := range order {
		j := (i * 7) % len(order)
		order[i], order[j] = order[j], order[i]
	}
	for _, tokens := range s.tokens {
		want := s.fresh(t, tokens, s.ask())
		got := s.fresh(t, tokens, lm.Ask{Candidates: order})
		for i, token := range order {
			at, _ := slices.BinarySearch(s.candidates, token)
			if !s.close(got.LogProbs[i], want.LogProbs[at]) {
				t.Fatalf("a candidate scores %v in one order and %v in another", want.LogProbs[at], got.LogProbs[i])
			}
		}
	}
}

func (s *suite) testTop(t *testing.T) {
	if !s.info.Can.Top {
		t.Skip("the back-end does not give its best tokens")
	}
	k := s.atMost(10)
	for i, tokens := range s.tokens {
		top := s.fresh(t, tokens, lm.Ask{Top: k})
		if len(top.Tokens) != k || len(top.LogProbs) != k {
			t.Fatalf("asked for %d tokens, got %d", k, len(top.Tokens))
		}
		if !slices.IsSortedFunc(top.LogProbs, func(a, b float64) int {
			if a > b {
				return -1
			}
			return 1
		}) {
			t.Errorf("text %d: the best tokens are not in order", i)
		}
		if !s.info.Can.All {
			continue
		}
		all := s.fresh(t, tokens, lm.Ask{All: true})
		for j, token := range top.Tokens {
			if !s.close(top.LogProbs[j], all.LogProbs[token]) {
				t.Errorf("text %d: best token %d has %v, but %v among all", i, j, top.LogProbs[j], all.LogProbs[token])
			}
		}
		if s.info.BatchInvariant && !slices.Equal(top.Tokens, lm.Best(all.LogProbs, k)) {
			t.Errorf("text %d: the best tokens are not those of the whole distribution", i)
		}
	}
}
