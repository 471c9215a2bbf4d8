package lm

import (
	"context"
	"errors"
	"math"
	"testing"
)

// TestCheckGiven: answers about given tokens that no distributions have.
func TestCheckGiven(t *testing.T) {
	info := Info{Backend: "server", Capacity: Capacity{Context: 10, Vocabulary: 4}, Can: Capabilities{Given: true}}
	ask := Ask{Given: 2}
	log := math.Log
	for name, c := range map[string]struct {
		scores Scores
		ok     bool
	}{
		"sound":              {Scores{Tokens: []Token{1, 2}, LogProbs: []float64{log(0.9), log(0.8)}, Best: []Token{1, 2}}, true},
		"unlikely":           {Scores{Tokens: []Token{1, 2}, LogProbs: []float64{log(0.4), log(0.001)}, Best: []Token{0, 3}}, true},
		"a score too few":    {Scores{Tokens: []Token{1, 2}, LogProbs: []float64{log(0.9)}, Best: []Token{1, 2}}, false},
		"no best tokens":     {Scores{Tokens: []Token{1, 2}, LogProbs: []float64{log(0.9), log(0.8)}}, false},
		"best outside":       {Scores{Tokens: []Token{1, 2}, LogProbs: []float64{log(0.4), log(0.4)}, Best: []Token{1, 4}}, false},
		"not a number":       {Scores{Tokens: []Token{1, 2}, LogProbs: []float64{math.NaN(), log(0.8)}, Best: []Token{1, 2}}, false},
		"positive":           {Scores{Tokens: []Token{1, 2}, LogProbs: []float64{0.1, log(0.8)}, Best: []Token{1, 2}}, false},
		"better than best":   {Scores{Tokens: []Token{1, 2}, LogProbs: []float64{log(0.9), log(0.8)}, Best: []Token{1, 3}}, false},
		"best of less share": {Scores{Tokens: []Token{1, 2}, LogProbs: []float64{log(0.2), log(0.8)}, Best: []Token{1, 2}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckScores(info, ask, c.scores)
			var unsound *UnsoundError
			if (err == nil) != c.ok || err != nil && !errors.As(err, &unsound) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// fixedSession is a session of one step, whose answer is fixed.
type fixedSession struct {
	Session
	scores Scores
}

func (a fixedSession) Step(context.Context, []Step) ([]Scores, error) { return []Scores{a.scores}, nil }

// TestCheckedGiven: scores of other tokens than the given ones are not used.
func TestCheckedGiven(t *testing.T) {
	info := Info{Backend: "server", Capacity: Capacity{Context: 10, Vocabulary: 4}}
	scores := Scores{Tokens: []Token{1, 2}, LogProbs: []float64{-0.1, -0.2}, Best: []Token{1, 2}}
	for _, tokens := range [][]Token{{0, 1, 2}, {1, 2, 3}} {
		_, err := checkedSession{fixedSession{scores: scores}, info}.Step(t.Context(), []Step{{Sequence: 1, Tokens: tokens, Ask: Ask{Given: 2}}})
		if ok := tokens[0] == 0; (err == nil) != ok {
			t.Errorf("tokens %v: %v", tokens, err)
		}
	}
}
