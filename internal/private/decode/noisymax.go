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
	register[NoisyMax](method.Spec{
		Name: "noisymax", Rank: 4, Look: 4, Guarantee: method.Proven, Scheduled: true,
		Summary: "take the token with the largest noisy sum of the prompts' probabilities",
		Idea: "As gaussian, with each prompt's probabilities scaled so that the largest is one, and exponential noise on the sums. " +
			"Nothing but the winner is released, which costs a pure ε for each token.",
		Cost:  "As gaussian: all prompts are read anew for each token.",
		When:  "To compare with the papers.",
		Cites: "Tang et al. 2024, algorithm 1 with report-noisy-max; McKenna and Sheldon 2020 (permute-and-flip)",
		Draws: "records for each token, spread over the prompts", Calibrates: "epsilon",
		Steps: []string{
			"For each token, draw records and put each into one of M prompts, at random.",
			"Ask for the probabilities of the next token with each prompt, and divide them by the largest.",
			"Add them up, and add exponential noise of rate ε_t/2 to each sum.",
			"Release the token with the largest noisy sum and nothing else; append it, and draw anew.",
		},
		Not:   "For anything but comparisons. It is not bounded-range and composes worse.",
		Event: "repeat(T, poisson(q, pure(ε_t)))", Theorem: "P32",
		Needs:    "scores of the most likely tokens",
		Settings: append(promptSettings(), method.Candidates()),
	}, func(a method.Ask) (*NoisyMax, error) {
		sampling, err := prompts(a)
		if err != nil {
			return nil, err
		}
		return method.Calibrate(a, func(x float64) *NoisyMax {
			return &NoisyMax{Draw: sampling, Candidates: a.Values.Tokens(), Epsilon: x}
		})
	})
}

// NoisyMax adds exponential noise to the sum of the prompts' probabilities, each scaled
// so that its largest is one, and takes the largest (Tang et al. 2024, algorithm 1 with
// report-noisy-max). Nothing but the winner is released.
//
// Precondition: one unit changes the records of one of the Draw.Prompts prompts.
// Postcondition: pure(Epsilon) on the drawn records. Proof: a prompt, empty or not,
// contributes entries between 0 and 1 on a grid ([relative]); exchanging one for another
// moves every entry of the sum by at most 1, some up and some down. The maximum under
// exponential noise of rate Epsilon/2 is then (2·Epsilon/2)-DP
// ([noise.Selector.PermuteAndFlip]). It is not bounded-range.
type NoisyMax struct {
	// Draw: per token, onto a fixed number of prompts.
	Draw scheme.Scheme `json:"draw"`
	// Candidates is the number of best public tokens to choose among; 0 takes the
	// whole vocabulary.
	Candidates int `json:"candidates"`
	// Epsilon is what a step costs, σ in the paper: more of it is less noise.
	Epsilon float64 `json:"epsilon"`
}

// Name implements [Method].
func (*NoisyMax) Name() string { return "noisymax" }

// Proof implements [Method].
func (*NoisyMax) Proof() string {
	return "report-noisy-max with exponential noise on a sum of vectors in [0,1] on a grid, one of which one unit exchanges: permute-and-flip of McKenna and Sheldon 2020"
}

// Check implements [Method].
func (n *NoisyMax) Check() error {
	if err := checkPrompts(n.Draw); err != nil {
		return err
	}
	if !(n.Epsilon >= minRate) || math.IsInf(n.Epsilon, 1) {
		return fmt.Errorf("noisymax needs an ε for a step of at least %v, not %v", minRate, n.Epsilon)
	}
	if n.Candidates < 0 {
		return fmt.Errorf("noisymax cannot choose among %d candidates: 0 takes all", n.Candidates)
	}
	return nil
}

// Scheme implements [Method].
func (n *NoisyMax) Scheme() scheme.Scheme { return n.Draw }

// draw implements [Method].
func (n *NoisyMax) draw(s scheme.Scheme) Method { out := *n; out.Draw = s; return &out }

// Amounts implements [Method].
func (n *NoisyMax) Amounts() []method.Amount {
	return []method.Amount{{Symbol: "ε", Value: n.Epsilon, After: " a token"}}
}

// Step implements [Method].
func (n *NoisyMax) Step() privacy.Event { return privacy.Pure{Epsilon: n.Epsilon} }

// Shortlist implements [Method].
func (n *NoisyMax) Shortlist() Shortlist { return Shortlist{Best: n.Candidates} }

// minRate keeps ε/2 a float64 that is exact, and not zero.
const minRate = 1e-300

// selection is about the sum of the prompts' vectors.
func (n *NoisyMax) selection(v View) mechanism.Selection {
	return mechanism.Selection{Scores: sumOf(v, relative), Exponent: mass, Rate: n.Epsilon / 2}
}

// Select implements [Method].
func (n *NoisyMax) Select(v View, s *noise.Stream) (int, error) {
	return n.selection(v).NoisyMax(s)
}

// relative turns log-probabilities into whole steps of 2^-mass of the largest of them,
// which is a whole. All entries lie between none and a whole, whatever came in.
func relative(logProbs []float64, dst []int64) []int64 {
	const whole = 1 << mass
	dst = dst[:0]
	top := math.Inf(-1)
	for _, lp := range logProbs {
		if lp > top {
			top = lp
		}
	}
	for _, lp := range logProbs {
		var n int64
		switch {
		case lp == top:
			n = whole
		case lp < top: // not NaN
			n = int64(math.Ldexp(math.Exp(lp-top), mass))
		}
		dst = append(dst, max(0, min(whole, n)))
	}
	return dst
}
