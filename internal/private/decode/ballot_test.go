//go:build example

package decode

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
)

// ballotSubject holds what a ballot declares against what select does.
func ballotSubject(b *Ballot, selection func(View) mechanism.Selection) subject {
	return subject{
		b,
		func(v View, _ *script) []look { return []look{lookOf(selection(v))} },
		func(v View) []float64 { return noisyMaxOf(selection(v)) },
	}
}

var aBallot = &Ballot{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.3, Prompts: 3, PerPrompt: 2}, Epsilon: 1.3}

func init() { added["ballot"] = ballotSubject(aBallot, aBallot.selection) }

// TestBallotPlanted: ballots with a mistake do not keep what they declare, and the suite finds each.
func TestBallotPlanted(t *testing.T) {
	for name, wrong := range map[string]func(View) mechanism.Selection{
		"the rate of one side": func(v View) mechanism.Selection {
			s := aBallot.selection(v)
			s.Rate *= 2
			return s
		},
		"two votes": func(v View) mechanism.Selection {
			s := aBallot.selection(v)
			for i := range s.Scores {
				s.Scores[i] *= 2
			}
			return s
		},
		"a rate by the number of votes": func(v View) mechanism.Selection {
			s := aBallot.selection(v)
			s.Rate /= float64(1 + len(v.Prompts))
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			caught := false
			rapid.Check(t, func(t *rapid.T) {
				for range 20 {
					p := pairs(aBallot.Scheme()).Draw(t, "views")
					caught = caught || moved(ballotSubject(aBallot, wrong), p.a, p.b, scripts().Draw(t, "answers")) != nil
				}
			})
			if !caught {
				t.Error("nothing found it")
			}
		})
	}
}

// TestBallotWhole: in small worlds the exact law of whole texts, draws included, keeps to what is declared.
func TestBallotWhole(t *testing.T) {
	b := *aBallot
	b.Draw.Rate, b.Draw.Prompts, b.Epsilon = 0.4, 2, 0.9
	worst := trial{subject: ballotSubject(&b, b.selection), records: 2, tokens: 3, steps: 2, worlds: 100}.withDefaults().worst(t)
	if worst > 1 || worst < 0.5 {
		t.Errorf("texts reveal %.3f times what is declared", worst)
	}
}
