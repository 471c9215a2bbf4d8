// Package decode has one method more with this file in it: the smallest that there is, for
// the tests that add it from outside of all lists.
package decode

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

func init() {
	register[Toy](method.Spec{
		Name: "toy", Guarantee: method.Proven,
		Summary: "let each record vote for its most likely token",
		Idea:    "Each drawn record has a prompt of its own, which votes for a token. A token is drawn by its votes and its public score.",
		Cost:    "A batch of sequences a token.", When: "Never: it is an example.",
		Cites: "none", Draws: "a batch of records for each text, one in each prompt", Calibrates: "range", Needs: "scores of the most likely tokens",
		Settings: []method.Setting{
			method.Batch("16"), method.Candidates(),
			{Name: "toy_weight", Type: method.Float, Help: "how many votes a nat of the public scores counts", Default: "1", Max: 1000},
		},
	}, func(a method.Ask) (*Toy, error) {
		sampling, err := a.Draw(scheme.PerText, a.Values.Int("batch", 16), 0)
		if err != nil {
			return nil, err
		}
		return method.Calibrate(a, func(x float64) *Toy {
			return &Toy{Draw: sampling, Range: x, Weight: a.Values.Float("toy_weight", 1), Candidates: a.Values.Tokens()}
		})
	})
}

// Toy draws a token with probability ∝ exp(rate·(votes + Weight·base)), where each prompt
// votes for its most likely token.
//
// Precondition: one unit adds or removes one prompt, or exchanges it. Postcondition:
// boundedrange(Range) on the drawn records. Proof: one unit adds a vote, or takes it from one
// token and gives it to another: the entries of the votes move apart by at most 1, or 2. The
// rate is Range over that, and softmax of such scores is Range-bounded-range.
type Toy struct {
	Draw       scheme.Scheme `json:"draw"`
	Range      float64       `json:"range"`
	Weight     float64       `json:"weight"`
	Candidates int           `json:"candidates"`
}

// Name implements [Method].
func (*Toy) Name() string { return "toy" }

// Proof implements [Method].
func (*Toy) Proof() string {
	return "exponential mechanism on votes of which one unit adds, removes or exchanges one: bounded range"
}

// Check implements [Method].
func (t *Toy) Check() error {
	if !(t.Range >= minRate) || math.IsInf(t.Range, 1) || !(t.Weight > 0 && t.Weight <= 1000) || t.Candidates < 0 {
		return fmt.Errorf("toy needs a positive range, not %v, and a weight up to 1000, not %v", t.Range, t.Weight)
	}
	return t.Draw.Check()
}

// Scheme implements [Method].
func (t *Toy) Scheme() scheme.Scheme { return t.Draw }

// draw implements [Method].
func (t *Toy) draw(s scheme.Scheme) Method { out := *t; out.Draw = s; return &out }

// Step implements [Method].
func (t *Toy) Step() privacy.Event { return privacy.BoundedRange{C: t.Range} }

// Amounts implements [Method].
func (t *Toy) Amounts() []method.Amount { return []method.Amount{{Symbol: "c", Value: t.Range}} }

// Shortlist implements [Method].
func (t *Toy) Shortlist() Shortlist { return Shortlist{Best: t.Candidates} }

// Select implements [Method].
func (t *Toy) Select(v View, s *noise.Stream) (int, error) { return t.selection(v).Softmax(s) }

func (t *Toy) selection(v View) mechanism.Selection {
	scores := weigh(make([]int64, len(v.Public)), v.Base, t.Weight)
	for _, prompt := range v.Prompts {
		best := 0
		for i, p := range prompt {
			if p > prompt[best] {
				best = i
			}
		}
		scores[best] += 1 << nats
	}
	rate := t.Range
	if t.Draw.Exchanges() {
		rate /= 2
	}
	return mechanism.Selection{Scores: scores, Exponent: nats, Rate: rate}
}
