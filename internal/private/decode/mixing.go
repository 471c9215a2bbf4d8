package decode

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/noise"
)

func init() {
	register[Mixing](method.Spec{
		Name: "mixing", Rank: 2, Guarantee: method.Proven,
		Summary: "mix each record's scores with the public ones, within a bounded range",
		Idea: "Each drawn record has a prompt of its own, whose scores are mixed with those without any record: as much of them as keeps the range of " +
			"the difference within a bound. A token is drawn from the product, or the geometric mean, of all mixtures.",
		Cost:  "As clipped: a batch of sequences a token, kept for the whole text.",
		When:  "Beside clipped: a record keeps the shape of what it says, and is scaled rather than cut.",
		Cites: "Flemings et al. 2025, “Differentially private in-context learning via sampling few-shot mixed with zero-shot outputs”; Dong, Durfee and Rogers 2020 (bounded range)",
		Draws: "a batch of records for each text, one in each prompt", Calibrates: "range",
		Steps: []string{
			"Draw records, and give each a prompt of its own.",
			"Ask for the scores of the next token without any record, and with each.",
			"Scale each record's difference to the public scores by the largest factor, up to a limit, at which its range over the public candidates is at most the width.",
			"Add the scaled differences to the public scores, and draw a token by softmax.",
			"Append it, and continue until a stop token or the limit T.",
		},
		Not:   "Where a few tokens stand far apart: scaling makes everything that such a record says small, and clipping only what stands out.",
		Event: "poisson(q, repeat(T, boundedrange(c))), or with a draw a token repeat(T, poisson(q, boundedrange(c)))", Theorem: "P32",
		Needs: "scores of the most likely tokens",
		Settings: []method.Setting{
			method.Batch("what suits the method"), method.Per(), method.Temperature("0.5"), method.Candidates(),
			{Name: "mean", Type: method.Choice, Help: "how to put prompts together: geometric or product, the paper's", Choices: []string{geometricMean, productMean}},
			maxSetting(),
		},
	}, planMixing)
}

// maxSetting is how much of a record's difference counts.
func maxSetting() method.Setting {
	return method.Setting{Name: "max_lambda", Type: method.Float, Help: "the largest λ, how much of what a record says is mixed in", Default: "1.5"}
}

// How mixing puts the densities of its prompts together: by their geometric mean at a
// temperature; or by their product, as published, which sharpens the public part too, to the
// temperature 1/batch, and so writes nearly the same text every time.
const (
	geometricMean = "geometric"
	productMean   = "product"
)

// enoughWidth is the room in nats that the default batch of mixing leaves to a record.
const enoughWidth = 8

// mixingBatches are the sizes that the default batch of mixing is chosen from. The smallest is
// the paper's.
var mixingBatches = []int{4, 8, 16, 32, 64}

// planMixing chooses the batch, by roughly calibrated ranges, and then the range.
func planMixing(a method.Ask) (*Mixing, error) {
	return method.Batched(a, mixingBatches, func(batch int, by accountant.Accountant) (*Mixing, bool, error) {
		temperature := a.Values.Float("temperature", 0.5)
		if a.Values.Word("mean", geometricMean) == productMean {
			if a.Values.Has("temperature") {
				return nil, false, method.Wrong("the product of %d densities has the temperature 1/%d: leave the temperature out, or take the geometric mean", batch, batch)
			}
			temperature = 1 / float64(batch)
		}
		sampling, err := a.Draw(scheme.Per(a.Values.Word("per", string(scheme.PerText))), batch, 0)
		if err != nil {
			return nil, false, err
		}
		m, err := method.CalibrateBy(by, a, func(x float64) *Mixing {
			return &Mixing{
				Draw: sampling, Expected: float64(batch), Range: x, Temperature: temperature, MaxLambda: a.Values.Float("max_lambda", 0), Candidates: a.Values.Tokens(),
			}
		})
		return m, err == nil && m.Width() >= enoughWidth, err
	})
}

// Mixing mixes the scores φ_i of each prompt with the public ones φ_0 and chooses a token
// from the product of what comes out, φ_0 + λ_i(φ_i − φ_0) in logarithms: v has
// probability ∝ exp(score(v)/(Expected·Temperature)),
//
//	score(v) = Expected·base(v) + Σ_i λ_i(φ_i(v) − φ_0(v))
//	λ_i      = min(MaxLambda, Width / range_S(φ_i − φ_0))
//
// with the range over the public candidates S. It is the decoder of Flemings et al. 2025,
// "Differentially private in-context learning via sampling few-shot mixed with zero-shot
// outputs", except for how much a prompt may say: λ_i bounds the range of its differences
// in closed form, where the paper bounds a Rényi divergence of one order, from which its
// guarantee does not follow ([PublishedMixing]). Temperature 1/Expected is the paper's
// product of densities; 1 is their geometric mean.
//
// Precondition: one unit adds or removes one prompt, whose scores depend on its record
// and on public tokens alone. Postcondition: boundedrange(Range) on the drawn records.
// Proof: the prompt contributes λ_i(φ_i − φ_0) less its least entry, a constant that the
// choice does not see. On the grid that is a vector of whole steps in [0, Width], by
// clamping and whatever λ_i was computed to be, in a sum that all else enters unchanged,
// the number of prompts included (Expected is a constant). So the exponents of the draw
// move by a vector whose entries differ by at most Width/(Expected·Temperature), and
// Width is the largest whole number of steps for which that is at most Range. Softmax of
// such exponents is Range-bounded-range ([noise.Selector.Softmax]).
//
// With several records in a prompt, or with a draw of fixed size (under replace-one
// adjacency), one unit exchanges a prompt's vector for another instead: the difference
// of the two spans up to twice Width, so that Width is half as large.
type Mixing struct {
	// Draw: per text or per token, with one record in a prompt.
	Draw scheme.Scheme `json:"draw"`
	// Expected is the number of prompts n̄, as often as which public scores count. It is
	// declared, never counted.
	Expected float64 `json:"expected"`
	// Range is c, what a step costs.
	Range float64 `json:"range"`
	// Temperature τ of the geometric mean of all prompts.
	Temperature float64 `json:"temperature"`
	// MaxLambda is the largest λ; 0 means 1.5.
	MaxLambda float64 `json:"max_lambda,omitempty"`
	// Candidates is K, the number of best public tokens to choose among; 0 takes the
	// whole vocabulary.
	Candidates int `json:"candidates"`
}

// MaxMixed is how much of a prompt's difference to the public scores is added to them
// at most, by default. Above 1 the difference is amplified.
const MaxMixed = 1.5

// Name implements [Method].
func (*Mixing) Name() string { return "mixing" }

// Proof implements [Method].
func (*Mixing) Proof() string {
	return "exponential mechanism on differences to public scores, scaled to a bounded range, on a grid; bounded range of Dong, Durfee and Rogers 2020"
}

// Check implements [Method].
func (m *Mixing) Check() error {
	if err := m.Draw.Check(); err != nil {
		return err
	}
	err := checkPositive("mixing", setting{"expected number of records", m.Expected}, setting{"range", m.Range}, setting{"temperature", m.Temperature})
	if err != nil {
		return err
	}
	if err := checkMixed("mixing", m.MaxLambda, m.Candidates); err != nil {
		return err
	}
	return checkSelection("mixing", m.Expected, m.width(), m.Range)
}

// checkMixed is about what mixing with and without a proof have in common.
func checkMixed(method string, maxLambda float64, candidates int) error {
	if m := maxOf(maxLambda); !(m > 0 && m <= farthest) {
		return fmt.Errorf("%s needs a largest λ between 0 and %v, not %v; the paper has %v", method, float64(farthest), m, MaxMixed)
	}
	if candidates < 0 || candidates == 1 {
		return fmt.Errorf("%s needs at least two candidates, or 0 for all, not %d: with one the answer is the public one, whatever records say", method, candidates)
	}
	return nil
}

// Scheme implements [Method].
func (m *Mixing) Scheme() scheme.Scheme { return m.Draw }

// draw implements [Method].
func (m *Mixing) draw(s scheme.Scheme) Method { out := *m; out.Draw = s; return &out }

// Amounts implements [Method].
func (m *Mixing) Amounts() []method.Amount {
	return []method.Amount{{Symbol: "W", Value: m.Width()}, {Symbol: "c", Value: m.Range}}
}

// Room returns how many nats a record has to say about a token, between two candidates.
func (m *Mixing) Room() float64 { return m.Width() }

// Step implements [Method].
func (m *Mixing) Step() privacy.Event { return privacy.BoundedRange{C: m.Range} }

// Shortlist implements [Method].
func (m *Mixing) Shortlist() Shortlist { return Shortlist{Best: m.Candidates} }

// rate is what one step of the sum counts for in the exponent, times 2^nats.
func (m *Mixing) rate() float64 { return 1 / (m.Expected * m.Temperature) }

// width is Width in whole steps: the largest with Width·rate ≤ Range, or 2·Width·rate
// where a unit exchanges a vector.
func (m *Mixing) width() int64 {
	if m.Draw.Exchanges() {
		return room(m.rate(), m.Range, 2)
	}
	return room(m.rate(), m.Range, 1)
}

// Width is how far the scores of one prompt may lie apart after λ, in nats.
func (m *Mixing) Width() float64 { return math.Ldexp(float64(m.width()), -nats) }

// selection is about the prompts' sum and the public scores, as many times as the prompts
// are expected to be.
func (m *Mixing) selection(v View) mechanism.Selection {
	return mechanism.Selection{Scores: weigh(m.sum(v), v.Base, m.Expected), Exponent: nats, Rate: m.rate()}
}

// Select implements [Method].
func (m *Mixing) Select(v View, s *noise.Stream) (int, error) {
	return m.selection(v).Softmax(s)
}

// sum adds up the scaled differences of all prompts, in steps.
func (m *Mixing) sum(v View) []int64 {
	width := m.width()
	sum := make([]int64, len(v.Public))
	values := make([]float64, len(v.Public))
	for _, prompt := range v.Prompts {
		for i := range values {
			values[i] = difference(prompt[i], v.Public[i])
		}
		lowest := slices.Min(values)
		lambda := min(maxOf(m.MaxLambda), m.Width()/(slices.Max(values)-lowest))
		for i, d := range values {
			if d > lowest { // λ may be infinite where there is no range
				sum[i] += max(0, min(width, steps(lambda*(d-lowest), nats)))
			}
		}
	}
	return sum
}

// maxOf is the largest λ of a setting.
func maxOf(maxLambda float64) float64 { return cmp.Or(maxLambda, MaxMixed) }
