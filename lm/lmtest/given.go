package lmtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/lm"
)

// canGive skips a test where the back-end does not score given tokens, and makes sure
// that it says so.
func (s *suite) canGive(t *testing.T) {
	t.Helper()
	if s.info.Can.Given {
		return
	}
	session := s.open(t)
	q := must(t)(session.New())
	_, err := session.Step(context.Background(), []lm.Step{{Sequence: q, Tokens: s.tokens[0], Ask: lm.Ask{Given: 1}}})
	var unsupported *lm.UnsupportedError
	if !errors.As(err, &unsupported) {
		t.Fatalf("the back-end does not score given tokens: error %v is not an *UnsupportedError", err)
	}
	t.Skip("the back-end does not score given tokens")
}

// testGiven compares given tokens with what is asked for one token at a time.
func (s *suite) testGiven(t *testing.T) {
	s.canGive(t)
	for i, tokens := range s.tokens {
		for _, n := range []int{1, len(tokens) / 2, len(tokens) - 1} {
			what := fmt.Sprintf("the last %d tokens of text %d", n, i)
			got := s.fresh(t, tokens, lm.Ask{Given: n})
			s.checkGiven(t, what, got, tokens[len(tokens)-n:])
			session := s.open(t)
			q := must(t)(session.New())
			next := tokens[:len(tokens)-n]
			for j, token := range got.Tokens {
				s.checkPlace(t, fmt.Sprintf("%s, place %d", what, j), got, j, step(t, session, lm.Step{Sequence: q, Tokens: next, Ask: s.fullAsk(token)})[0])
				next = []lm.Token{token}
			}
		}
	}
}

// fullAsk is for a token's probability over the vocabulary, or as much of that as the
// back-end gives.
func (s *suite) fullAsk(token lm.Token) lm.Ask {
	switch {
	case s.info.Can.All:
		return lm.Ask{All: true}
	case s.info.Can.Top:
		return lm.Ask{Top: s.atMost(10)}
	}
	return lm.Ask{Candidates: []lm.Token{token}}
}

// checkPlace compares one place's answers with the scores after the tokens before it.
func (s *suite) checkPlace(t *testing.T, what string, got lm.Scores, j int, next lm.Scores) {
	t.Helper()
	token, best := got.Tokens[j], got.Best[j]
	at := func(token lm.Token) (float64, bool) {
		if next.Tokens == nil {
			return next.LogProbs[token], true
		}
		i := slices.Index(next.Tokens, token)
		return next.LogProbs[max(i, 0)], i >= 0 && len(next.Tokens) > 1
	}
	if want, ok := at(token); ok && !s.close(got.LogProbs[j], want) {
		t.Fatalf("%s: given %v, but %v asked for by itself", what, got.LogProbs[j], want)
	}
	first := next.Tokens
	if first == nil {
		first = lm.Best(next.LogProbs, 1)
	}
	if s.info.BatchInvariant && best != first[0] {
		t.Fatalf("%s: the best token is another than by itself", what)
	}
	// Elsewhere two tokens may be nearly as good, and change places.
	b, _ := at(best)
	if f, ok := at(first[0]); ok && !s.close(b, f) {
		t.Fatalf("%s: the best token has %v, but there is one of %v", what, b, f)
	}
}

func (s *suite) checkGiven(t *testing.T, what string, got lm.Scores, tokens []lm.Token) {
	t.Helper()
	if !slices.Equal(got.Tokens, tokens) {
		t.Fatalf("%s: the scores are of other tokens", what)
	}
	if err := lm.CheckScores(s.info, lm.Ask{Given: len(tokens)}, got); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// testGivenBatch asks for given tokens in one step with other asks, over what a fork
// shares, and continues after them.
func (s *suite) testGivenBatch(t *testing.T) {
	s.canGive(t)
	n := len(s.tokens)
	session := s.open(t)
	var steps []lm.Step
	for i := range 2 * n {
		tokens := s.tokens[i%n]
		cut := i % 3
		root := must(t)(session.New())
		if cut > 0 {
			step(t, session, lm.Step{Sequence: root, Tokens: tokens[:cut]})
		}
		fork := must(t)(session.Fork(root))
		ask := lm.Ask{Given: 1 + i%(len(tokens)-cut-1)}
		if i%5 == 4 {
			ask = s.ask()
		}
		steps = append(steps, lm.Step{Sequence: fork, Tokens: tokens[cut:], Ask: ask})
	}
	for i, got := range step(t, session, steps...) {
		what := fmt.Sprintf("step %d", i)
		want := s.fresh(t, s.tokens[i%n], steps[i].Ask)
		s.same(t, what, got, want)
		if s.info.BatchInvariant && !slices.Equal(got.Best, want.Best) {
			t.Fatalf("%s: other best tokens than alone", what)
		}
		if steps[i].Ask.Given > 0 {
			s.checkGiven(t, what, got, steps[i].Tokens[len(steps[i].Tokens)-steps[i].Ask.Given:])
		}
		after := step(t, session, lm.Step{Sequence: steps[i].Sequence, Ask: s.ask()})[0]
		s.same(t, what+", asked later", after, s.fresh(t, s.tokens[i%n], s.ask()))
	}
}
