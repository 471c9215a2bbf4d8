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
	suites := func(name, help, otherwise string, t method.Type) method.Setting {
		return method.Setting{Name: name, Type: t, Help: help, Default: otherwise, Suites: true}
	}
	register[Radius](method.Spec{
		Name: "radius", Rank: 5, Look: 3, Guarantee: method.Proven, Scheduled: true,
		Summary: "find a ball in which most prompts agree, and add noise that fits it",
		Idea: "As gaussian, but the noise adapts: a noisy search finds how close the prompts' probabilities are to each other, the ball is shrunk to that, " +
			"and the noise of the mean is in proportion to the ball. What the search costs is part of ε.",
		Cost:  "As gaussian: all prompts are read anew for each token.",
		When:  "To compare with the paper.",
		Cites: "Gao et al. 2025, “Data-adaptive differentially private prompt synthesis for in-context learning” (AdaDPSyn), algorithms 1, 4 and 5",
		Draws: "records for each token, spread over the prompts", Calibrates: "sigma1",
		Steps: []string{
			"For each token, draw records and put each into one of M prompts, at random; ask for the probabilities of the next token with each.",
			"Search for a radius within which most prompts agree: three halvings, two noisy counts of neighbours each.",
			"Take a noisy mean of the prompts' probabilities.",
			"Ask with noise how many prompts are near it. If it is enough and the ball would shrink, project all prompts into the ball and take the mean again, with noise that fits the smaller ball; T̂ times at most.",
			"Take the token with the largest entry, append it, and draw anew.",
		},
		Not:   "For anything but comparisons: it asks three kinds of noisy questions a token, and all prompts are read anew.",
		Event: "repeat(T, poisson(q, compose(repeat(6, gaussian(σ0)), repeat(T̂+1, gaussian(σ1)), repeat(T̂, gaussian(σ2)))))", Theorem: "P32",
		Needs: "scores of the most likely tokens",
		Settings: append(promptSettings(), method.Candidates(),
			suites("rounds", "how often to shrink the ball, at most", "1", method.Int),
			suites("lambda", "by how much to widen the ball for the noise of its centre", "0.15", method.Float),
			suites("sigma0", "noise multiplier of the search", "10, or 7 times that of the mean if that is more", method.Float),
			suites("sigma2", "noise multiplier of the coverage", "3, or 2.4 times that of the mean if that is more", method.Float)),
	}, planRadius)
}

// planRadius shares the noise of a token out as the paper does at ε = 1: that of the radius
// is at least 7 times, that of the coverage at least 2.4 times that of the mean, and they are
// 10 and 3 where that is enough (Gao et al. 2025, tables 13 to 17). Without it, small ε
// could not be had: the two would spend more than all of it. The mean then gets what is
// left of the noise σ that one Gaussian would have, since 1/σ² adds up.
func planRadius(a method.Ask) (*Radius, error) {
	sampling, err := prompts(a)
	if err != nil {
		return nil, err
	}
	r := Radius{
		Draw: sampling, Candidates: a.Values.Tokens(), Lambda: a.Values.Float("lambda", 0.15), Rounds: a.Values.Int("rounds", 1),
		Sigma0: a.Values.Float("sigma0", 0), Sigma2: a.Values.Float("sigma2", 0),
	}
	if r.Sigma0 == 0 || r.Sigma2 == 0 {
		alone, err := method.Calibrate(a, func(x float64) *Gaussian { return &Gaussian{Draw: sampling, Candidates: r.Candidates, Sigma: x} })
		if err != nil {
			return nil, err
		}
		n := float64(r.Rounds)
		mean := alone.Sigma * math.Sqrt(6.0/(7*7)+n+1+n/(2.4*2.4))
		if r.Sigma0 == 0 {
			r.Sigma0 = max(10, math.Ceil(7*mean*10)/10)
		}
		if r.Sigma2 == 0 {
			r.Sigma2 = max(3, math.Ceil(2.4*mean*10)/10)
		}
	}
	return method.Calibrate(a, func(x float64) *Radius {
		out := r
		out.Sigma1 = x
		return &out
	})
}

// Radius looks for a ball in which most prompts agree and adds noise to their mean that
// is no larger than the ball asks for (Gao et al. 2025, "Data-adaptive differentially
// private prompt synthesis for in-context learning", AdaDPSyn, algorithms 1, 4 and 5).
//
// Precondition: one unit changes the records of one of the Draw.Prompts prompts.
// Postcondition: on the drawn records, the composition of six gaussian(Sigma0), Rounds+1
// gaussian(Sigma1) and Rounds gaussian(Sigma2). Proof: every look at the prompts is a
// [query] whose integers move by no more than its sensitivity when one point of the
// [cloud] is exchanged for another; what is asked next depends on noisy answers only, so
// the Gaussian mechanisms compose adaptively. A token that took fewer questions than
// that is charged for all of them.
//
// The paper leaves open, and here is decided:
//   - ρM need not be whole; the number of prompts that have to agree is ρM rounded.
//   - Neighbour counts are capped at that number, so that without noise the search asks
//     for equality, and where all agree the noise decides. As published.
//   - A bound on the radius that is not below the current one ends the search. That is
//     known before the coverage is asked for, which is then not asked.
//   - The mean of which no entry is positive becomes the uniform vector as a centre.
//   - The token is the largest entry of the last noisy sum: that of the normalised mean,
//     without the ties that clamping and rounding make.
//   - Sensitivity 2R around a centre that is not the origin is about exchanging prompts.
//     It would not hold for one prompt more or less: the number of prompts is fixed.
type Radius struct {
	// Draw: per token, onto a fixed number of prompts.
	Draw scheme.Scheme `json:"draw"`
	// Candidates is the number of best public tokens to choose among; 0 takes the
	// whole vocabulary.
	Candidates int `json:"candidates"`
	// Sigma0, Sigma1 and Sigma2 are the noise multipliers of the search for a radius,
	// of the means, and of the coverage.
	Sigma0 float64 `json:"sigma0"`
	Sigma1 float64 `json:"sigma1"`
	Sigma2 float64 `json:"sigma2"`
	// Lambda λ widens the ball for the noise that its centre has.
	Lambda float64 `json:"lambda"`
	// Rounds T̂ of shrinking the ball, at most.
	Rounds int `json:"rounds"`
}

// The paper's constants.
const (
	// searches halve a radius of √2/2 until it is known to θ = 0.1.
	searches = 3
	// ρ = 0.8 of the prompts have to agree.
	agreeing, agreeingOf = 8, 10
	// μ = 0.55 of them have to be in a ball before it is used.
	covering, coveringOf = 11, 20
)

// counts is the exponent of the grid that counts are asked on. Whole numbers would do for
// privacy; rounded noise would move the thresholds by half a prompt.
const counts = 16

// loudest bounds multipliers: beyond it nothing of the prompts counts, and sums of
// noisy values stay far from overflow.
const loudest = 1000

// Name implements [Method].
func (*Radius) Name() string { return "radius" }

// Proof implements [Method].
func (*Radius) Proof() string {
	return "adaptive composition of Gaussian mechanisms on integers: neighbour counts (sensitivity 2), sums of vectors in a ball (2R), coverage (1), under exchange of one vector"
}

// Check implements [Method].
func (r *Radius) Check() error {
	if err := checkPrompts(r.Draw); err != nil {
		return err
	}
	for i, sigma := range []float64{r.Sigma0, r.Sigma1, r.Sigma2} {
		if !(sigma > 0 && sigma <= loudest) {
			return fmt.Errorf("radius needs a noise multiplier sigma%d in (0, %d], not %v", i, loudest, sigma)
		}
	}
	if !(r.Lambda >= 0) || math.IsInf(r.Lambda, 1) {
		return fmt.Errorf("radius needs a λ that is not negative, not %v; the paper has 0.15 to 0.25", r.Lambda)
	}
	if r.Rounds < 1 {
		return fmt.Errorf("radius needs at least one round, not %d; without one, the method gaussian is cheaper", r.Rounds)
	}
	if r.Candidates < 0 {
		return fmt.Errorf("radius cannot choose among %d candidates: 0 takes all", r.Candidates)
	}
	return nil
}

// Scheme implements [Method].
func (r *Radius) Scheme() scheme.Scheme { return r.Draw }

// draw implements [Method].
func (r *Radius) draw(s scheme.Scheme) Method { out := *r; out.Draw = s; return &out }

// Amounts implements [Method].
func (r *Radius) Amounts() []method.Amount {
	return []method.Amount{{Symbol: "σ₁", Value: r.Sigma1}}
}

// Step implements [Method].
func (r *Radius) Step() privacy.Event {
	times := func(n int, sigma float64) privacy.Event {
		return privacy.Repeat{N: int64(n), Event: privacy.Gaussian{Sigma: sigma}}
	}
	return privacy.Compose{Events: []privacy.Event{
		times(2*searches, r.Sigma0), times(r.Rounds+1, r.Sigma1), times(r.Rounds, r.Sigma2),
	}}
}

// Shortlist implements [Method].
func (r *Radius) Shortlist() Shortlist { return Shortlist{Best: r.Candidates} }

// Select implements [Method].
func (r *Radius) Select(v View, s *noise.Stream) (int, error) {
	return r.pick(newCloud(v), func(q mechanism.Query) error { return q.Ask(s) })
}

// asker answers a question in place.
type asker func(mechanism.Query) error

// pick is the algorithm; all it learns of the cloud are answers.
func (r *Radius) pick(c cloud, ask asker) (int, error) {
	target, err := r.search(c, ask)
	if err != nil {
		return 0, err
	}
	return r.refine(c, target, ask)
}

// refine shrinks a ball to a radius as long as it holds most prompts, and chooses by
// their sum in the last of them.
func (r *Radius) refine(c cloud, target int64, ask asker) (int, error) {
	radius := wide
	sum := c.sum()
	if err := ask(mechanism.Query{Values: sum, Sensitivity: float64(2 * radius), Sigma: r.Sigma1}); err != nil {
		return 0, err
	}
	for range r.Rounds {
		smaller, shrinks := r.shrink(target, radius, c.width, c.size)
		if !shrinks {
			break
		}
		centre := normalise(sum)
		covered := []int64{c.covered(centre, smaller) << counts}
		if err := ask(mechanism.Query{Values: covered, Sensitivity: 1 << counts, Sigma: r.Sigma2}); err != nil {
			return 0, err
		}
		if covered[0]*coveringOf < c.size*covering<<counts {
			break
		}
		radius = smaller
		sum = c.projected(centre, radius)
		if err := ask(mechanism.Query{Values: sum, Sensitivity: float64(2 * radius), Sigma: r.Sigma1}); err != nil {
			return 0, err
		}
	}
	return mechanism.Largest(sum), nil
}

// search finds a radius, in steps, within which most prompts have most others: the
// paper's GoodRadius. The number of questions does not depend on the answers.
func (r *Radius) search(c cloud, ask asker) (int64, error) {
	t := max(1, (2*c.size*agreeing+agreeingOf)/(2*agreeingOf))
	low, high := int64(0), wide
	for range searches {
		middle := (low + high) / 2
		enough := false
		for _, radius := range []int64{middle, middle / 2} {
			// t times the paper's L, to stay with whole numbers.
			agreement := []int64{c.agreement(radius, t) << counts}
			if err := ask(mechanism.Query{Values: agreement, Sensitivity: float64(2 * t << counts), Sigma: r.Sigma0}); err != nil {
				return 0, err
			}
			enough = enough || agreement[0] >= t*t<<counts
		}
		if enough {
			high = middle
		} else {
			low = middle
		}
	}
	return (low + high) / 2, nil
}

// shrink is the next radius, and whether it is one: the target widened for the noise of
// the centre. All of it is public.
func (r *Radius) shrink(target, radius int64, candidates int, prompts int64) (int64, bool) {
	// The conversion keeps the product apart from the sum, for the same bits on
	// machines that would fuse them.
	margin := float64(2 * r.Lambda * float64(radius) * r.Sigma1 * math.Sqrt(float64(candidates)) / float64(prompts))
	next := math.Ceil(float64(target) + margin)
	if !(next <= float64(radius)) {
		return 0, false
	}
	return int64(next), true
}
