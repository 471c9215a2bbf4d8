package ensemble

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

func init() {
	register[Product](method.Spec{
		Name: "product", Summary: "draw a label by the product of the probabilities that prompts give it",
		Idea: "Each drawn record has a prompt of its own and is an expert: it gives every label of the task's list a probability. A label is drawn by the product of " +
			"what the experts say, each of them bounded, so that a prompt that is sure counts for more than one that is not, and no expert can rule a label out.",
		Cost: "That of vote: each prompt is read once for an answer, and nothing is written.",
		When: "Where few records are drawn for an answer, which is less work: what a prompt nearly said counts too, and it takes fewer of them to agree.",
		Cites: "Romijnders et al. 2026, “Private PoEtry: private in-context learning via product of experts” (arXiv 2602.05012): the product, log-probabilities clipped to [−γ, 0] with γ = 2, " +
			"the exponential mechanism. Ours: clipping from the record's favourite label instead of from 0, γ = 1, the public prompt as an expert, draws, and the account as bounded range; " +
			"their texts of several tokens are not here (clipped writes those)",
		Draws: "40 records for each answer, one in each prompt", Calibrates: "range",
		Steps: []string{
			"For each question, draw records and give each a prompt of its own; empty prompts say what the public one says.",
			"Ask each prompt, and the public one without records, for the log-probabilities of the labels.",
			"In each record's, raise what is more than γ below its largest to γ below it: they then differ by at most γ.",
			"Add up what all prompts say, the public one's as it is, times c/γ, and draw a label with probability proportional to exp of that. One record moves the exponents by a range of c at most.",
		},
		Not:   "Where the same examples would serve all questions: a chosen prompt is paid for once.",
		Event: "poisson(q, boundedrange(c)) for an answer", Theorem: "P42",
		Needs: "scores of given tokens", Labels: true,
		Settings: append(drawSettings(voters), method.Setting{
			Name: "clip", Type: method.Float, Help: "how many nats the labels of one prompt may be apart; the paper has 2", Default: "1",
		}, uncalibratedSetting()),
	}, planProduct)
}

// expertClip is γ in nats. On kept-back records answers with 1 were right more often than with
// the paper's 2 where noise is large, and within a point of that elsewhere.
const expertClip = 1

func planProduct(a method.Ask) (*Product, error) {
	p := Product{Clip: a.Values.Float("clip", expertClip), Calibrate: !a.Values.Is("uncalibrated")}
	var err error
	if p.Draw, err = drawn(a, scheme.PerText, voters); err != nil {
		return nil, err
	}
	return calibrate(a, func(x float64) *Product {
		out := p
		out.Range = x
		return &out
	})
}

// Product answers with one label of the task's list, drawn with probability
//
//	∝ exp(Range/Clip · (φ_0(l) + Σ_i max(φ_i(l) − max φ_i, −Clip)))
//
// where φ_i are the log-probabilities that prompt i has for the labels, and φ_0 those of the
// public prompt. With Range = Clip it is the product of the experts' probabilities, but for
// what is clipped; Range is how much the budget allows of it.
//
// Precondition: that of [Vote]. Postcondition: boundedrange(Range) on the drawn records. Proof:
// it is [decode.Clipped] with differences to nothing, from each record's favourite: a prompt
// contributes a vector of whole steps in [−C, C] with 2C at most Clip, to a sum that all else
// enters unchanged; the factor is such that 2C times it is at most Range. Exchanged, two such
// vectors make 4C, and the factor is half as large.
//
// The paper clips each log-probability to [−γ, 0] by itself. From the favourite, nothing is
// lost of what a record is for that is not near 0: the same range, and less is clipped. Empty
// prompts are experts like others, which say what the public one says.
type Product struct {
	// Draw: per text.
	Draw scheme.Scheme `json:"draw"`
	// Range is c, what an answer costs those who are drawn.
	Range float64 `json:"range"`
	// Clip is γ in nats: how far apart the labels of one prompt may be.
	Clip float64 `json:"clip"`
	// Calibrate is as in [Vote].
	Calibrate bool `json:"calibrate,omitempty"`
}

// Name implements [Method].
func (*Product) Name() string { return "product" }

// Proof implements [Method].
func (*Product) Proof() string {
	return "exponential mechanism on a sum of labels' clipped log-probabilities, of which one unit adds, removes or exchanges one vector: bounded range"
}

// Check implements [Method].
func (p *Product) Check() error {
	if !(p.Range >= minRange) || math.IsInf(p.Range, 1) {
		return fmt.Errorf("a product needs a positive range, not %v", p.Range)
	}
	if !positive(p.Clip) {
		return fmt.Errorf("a product needs a positive clip in nats, such as %v, not %v", expertClip, p.Clip)
	}
	if err := p.clipped().Check(); err != nil {
		return err
	}
	return checkOnce(p)
}

// Serves implements [Method].
func (*Product) Serves(t prompt.Task) error { return chooses("product", t) }

// Scheme implements [Method].
func (p *Product) Scheme() scheme.Scheme { return p.Draw }

// Amounts implements [Method].
func (p *Product) Amounts() []method.Amount { return []method.Amount{{Symbol: "c", Value: p.Range}} }

// Loud implements [Method]: all prompts for one label would not decide.
func (p *Product) Loud(prompts float64) bool { return p.Range*prompts < 1 }

// Work implements [Method].
func (p *Product) Work() Work { return asking(p.Calibrate) }

// Event implements [Method].
func (p *Product) Event() privacy.Event {
	return privacy.Canonical(p.Draw.Event(privacy.BoundedRange{C: p.Range}, 1))
}

// clipped chooses among labels as it does among tokens: by a sum over one expected prompt,
// which is the public one.
func (p *Product) clipped() *decode.Clipped {
	temperature := p.Clip / p.Range
	if p.Draw.Exchanges() {
		temperature *= 2
	}
	return &decode.Clipped{Draw: p.Draw, Expected: 1, Range: p.Range, Temperature: temperature, Centre: decode.Favourite, Candidates: 1}
}

// experts is what prompts say as [decode.Clipped] reads it: log-probabilities themselves, not
// their differences to the public ones, which are what empty prompts say.
func experts(v decode.View) decode.View {
	v.Prompts = append(slices.Clone(v.Prompts), slices.Repeat([][]float64{v.Base}, v.Empty)...)
	v.Public, v.Empty = make([]float64, len(v.Base)), 0
	return v
}

// pick draws a label.
func (p *Product) pick(v decode.View, s *noise.Stream) (int, error) {
	return p.clipped().Select(experts(v), s)
}

func (p *Product) answer(ctx context.Context, r *round) (outcome, error) {
	view, err := r.views(ctx, p.Calibrate, 1)
	if err != nil {
		return outcome{}, err
	}
	now, err := view(0)
	if err != nil {
		return outcome{}, err
	}
	label, err := p.pick(now, r.noise(0))
	if err != nil {
		return outcome{}, err
	}
	return outcome{text: r.Task.Labels[label]}, nil
}
