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
	register[PublishedMixing](method.Spec{
		Name: "mixing-published", Of: "mixing", Guarantee: method.Claimed, Scheduled: true, Sampler: scheme.FixedSize,
		Summary: "mixing by the paper's rule, whose guarantee is claimed and NOT PROVEN",
		Idea: "As mixing, with the largest λ at which a Rényi divergence of one order between a mixture and the public density is within a bound. " +
			"The paper's theorem does not hold, so that there is neither a charge nor a certificate.",
		Cost:  "All prompts are read anew for each token.",
		When:  "To repeat the paper's numbers on data that may be shown.",
		Cites: "Flemings et al. 2025, algorithm 1 and theorem B.3",
		Draws: "a fixed number of records for each token, one in each prompt", Calibrates: "beta, by the paper's rule",
		Steps: []string{
			"For each token, draw records, one in each prompt, and ask for the scores with each and without any.",
			"For each prompt, find by bisection the largest λ up to 1.5 at which the mixed distribution is within a Rényi divergence of the public one, at one order α, in both directions.",
			"Draw a token from the normalised product of the mixed distributions, append it, and draw anew.",
		},
		Not:   "On data that nobody may see: the published proof does not hold, and there is a counter-example in the tests.",
		Needs: "scores of the most likely tokens",
		Settings: []method.Setting{
			method.Batch("4"), method.Candidates(), maxSetting(),
			{Name: "order", Type: method.Int, Help: "the order α of its divergence", Default: "as the paper chooses it", Min: 2},
		},
	}, planPublished)
}

// publishedShots is the number of records that mixing as published draws for a token
// by default: as in all the paper's experiments.
const publishedShots = 4

// PublishedMixing is [Mixing] as published (Flemings et al. 2025, algorithm 1): a token
// is drawn from the product of the mixed densities, and λ_i is the largest in [0, MaxLambda]
// at which the Rényi divergence of order Order between the mixed density and the public
// one, in both directions, is at most Beta·Order.
//
// It has no guarantee. The paper's theorem B.3 claims (α, 4βα)-RDP for a token by adding
// up divergences of product measures, and by a triangle inequality that needs the bound
// at every order. But what is drawn is one token from a normalised product of densities,
// and the bound holds at one order: with four prompts and three tokens there are
// densities within the bound that exceed the claim (mixing_published_test.go). So there
// is neither a certificate nor a charge.
type PublishedMixing struct {
	// Draw: of a fixed size, per token, with one record in a prompt.
	Draw scheme.Scheme `json:"draw"`
	// Order is α, and Beta the radius β of the ball around the public density, over α.
	Order int     `json:"order"`
	Beta  float64 `json:"beta"`
	// MaxLambda is the largest λ; 0 means 1.5.
	MaxLambda float64 `json:"max_lambda,omitempty"`
	// Candidates is the number of best public tokens to choose among; 0 takes the whole
	// vocabulary.
	Candidates int `json:"candidates"`
}

// Name implements [Method].
func (*PublishedMixing) Name() string { return "mixing-published" }

// Proof implements [Method]: the published one does not hold.
func (*PublishedMixing) Proof() string { return "" }

// Claim implements [Claimer].
func (*PublishedMixing) Claim() string {
	return "Flemings et al. 2025, theorem B.3, whose proof does not hold: it adds up divergences of product measures, and what is drawn is one token from a normalised product of densities"
}

// Claimer is a method without a guarantee that a publication claims one for.
type Claimer interface {
	Method
	// Claim cites it and says what is wrong with it.
	Claim() string
}

// Check implements [Method].
func (m *PublishedMixing) Check() error {
	if err := m.Draw.Check(); err != nil {
		return err
	}
	if m.Draw.Kind != scheme.FixedSize || m.Draw.Prompts > 0 {
		return fmt.Errorf("mixing as published draws a fixed number of records, one for each prompt; mixing with a proof draws in other ways too")
	}
	if m.Order < 2 {
		return fmt.Errorf("mixing as published needs a whole order of at least 2, not %d", m.Order)
	}
	if err := checkPositive("mixing as published", setting{"β", m.Beta}); err != nil {
		return err
	}
	return checkMixed("mixing as published", m.MaxLambda, m.Candidates)
}

// Scheme implements [Method].
func (m *PublishedMixing) Scheme() scheme.Scheme { return m.Draw }

// draw implements [Method].
func (m *PublishedMixing) draw(s scheme.Scheme) Method { out := *m; out.Draw = s; return &out }

// Amounts implements [Method].
func (m *PublishedMixing) Amounts() []method.Amount {
	return []method.Amount{{Symbol: "β", Value: m.Beta, After: ", claimed"}}
}

// Step implements [Method]: nothing is guaranteed.
func (*PublishedMixing) Step() privacy.Event { return privacy.NonPrivate{} }

// Shortlist implements [Method].
func (m *PublishedMixing) Shortlist() Shortlist { return Shortlist{Best: m.Candidates} }

// Select implements [Method].
func (m *PublishedMixing) Select(v View, s *noise.Stream) (int, error) {
	return m.selection(v).Softmax(s)
}

// selection is about the product of the prompts' mixed densities.
func (m *PublishedMixing) selection(v View) mechanism.Selection {
	sum := make([]int64, len(v.Public))
	values := make([]float64, len(v.Public))
	for _, prompt := range v.Prompts {
		for i := range values {
			values[i] = difference(prompt[i], v.Public[i])
		}
		lambda := m.lambda(v.Public, values)
		for i, d := range values {
			sum[i] += steps(lambda*d, nats)
		}
	}
	return mechanism.Selection{Scores: weigh(sum, v.Base, float64(max(1, len(v.Prompts)))), Exponent: nats, Rate: 1}
}

// halvings of [0, MaxLambda] leave λ known to the digits that matter.
const halvings = 40

// lambda is the largest λ in [0, MaxLambda] that stays in the ball. Both divergences grow
// with λ, since the logarithm of E_{p_0} e^{λd} is convex, so bisection finds it.
func (m *PublishedMixing) lambda(public, differences []float64) float64 {
	low, high := 0.0, maxOf(m.MaxLambda)
	radius := m.Beta * float64(m.Order)
	if symmetricDivergence(float64(m.Order), public, differences, high) <= radius {
		return high
	}
	for range halvings {
		middle := (low + high) / 2
		if symmetricDivergence(float64(m.Order), public, differences, middle) <= radius {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// symmetricDivergence is the larger of D_α(p_λ‖p_0) and D_α(p_0‖p_λ), p_λ ∝ p_0·e^{λd}.
// With A(t) = ln E_{p_0} e^{td} they are A(αλ) − αA(λ) and A((1−α)λ) + (α−1)A(λ), over
// α−1.
func symmetricDivergence(order float64, public, differences []float64, lambda float64) float64 {
	logMean := func(t float64) float64 {
		top := math.Inf(-1)
		for i, p := range public {
			top = max(top, difference(p, 0)+t*differences[i])
		}
		sum := 0.0
		for i, p := range public {
			sum += math.Exp(difference(p, 0) + t*differences[i] - top)
		}
		return top + math.Log(sum)
	}
	// public need not add up to one.
	none := logMean(0)
	one := logMean(lambda) - none
	there := logMean(order*lambda) - none - order*one
	back := logMean((1-order)*lambda) - none + (order-1)*one
	return max(there, back) / (order - 1)
}
