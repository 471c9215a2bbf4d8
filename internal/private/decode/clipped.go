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
	"github.com/sotto-dp/sotto/prompt"
)

func init() {
	register[Clipped](method.Spec{
		Name: "clipped", Rank: 1, Look: 1, Guarantee: method.Proven,
		Summary: "clip how far each record moves the public scores, and choose by their mean",
		Idea: "Each drawn record has a prompt of its own. How far its scores differ from those without any record is centred, clipped and averaged; " +
			"a token is drawn by the public scores plus that mean, at a temperature. Clipping bounds what one record can do, so that the draw itself is the noise.",
		Cost:  "One sequence for each record of the batch, kept for the whole text: about a batch of sequences a token, and no prompt is read twice.",
		When:  "The default for writing texts and answers.",
		Cites: "Dong, Durfee and Rogers 2020 (bounded range); Vinod et al. 2025, InvisibleInk (clipped differences)",
		Draws: "a batch of records for each text, one in each prompt", Calibrates: "range",
		Steps: []string{
			"Draw a batch of B records for the whole text, each by itself with probability q = B/n.",
			"Ask the model for the scores of the next token without any record, and with each drawn record in a prompt of its own. The candidates are the best tokens of the public scores.",
			"For each record take the difference to the public scores, centre it, and clip it to between −C and C.",
			"Add the mean of the differences (the sum over B, times the gain) to the public scores, divide by the temperature τ, and draw a token by softmax. One record moves the exponents by a range of c = 2C·gain/(Bτ) at most.",
			"Append the token to all prompts and continue until a stop token or the limit T.",
		},
		Not:   "With few records of a label: q = B/n is then large, and C has to be small.",
		Event: "poisson(q, repeat(T, boundedrange(c)))", Theorem: "P32",
		Needs: "scores of the most likely tokens",
		Settings: []method.Setting{
			method.Batch("what suits the method"), method.Per(), method.Temperature("0.5"), gainSetting("1 for tasks with a list of labels, else 2, for texts and answers alike"),
			centreSetting("median; none for answers and for tasks of kind generate"), method.Candidates(),
		},
	}, planClipped)
}

// enoughClip is the room in nats that the default batch leaves to a record.
const enoughClip = 1.5

// clippedBatches are the sizes that the default is chosen from.
var clippedBatches = []int{16, 32, 64, 128}

// planClipped chooses the batch, by roughly calibrated ranges, and then the range.
func planClipped(a method.Ask) (*Clipped, error) {
	return method.Batched(a, clippedBatches, func(batch int, by accountant.Accountant) (*Clipped, bool, error) {
		sampling, err := a.Draw(scheme.Per(a.Values.Word("per", string(scheme.PerText))), batch, 0)
		if err != nil {
			return nil, false, err
		}
		m, err := method.CalibrateBy(by, a, func(x float64) *Clipped {
			return &Clipped{
				Draw: sampling, Expected: float64(batch), Range: x, Temperature: a.Values.Float("temperature", 0.5),
				Gain: a.Values.Float("gain", DefaultGain(a.Task)), Candidates: max(1, a.Values.Tokens()),
				Centre: Centre(a.Values.Word("centre", string(defaultCentre(a)))),
			}
		})
		return m, err == nil && m.Clip() >= enoughClip, err
	})
}

// DefaultGain returns how much what records say counts in texts of a task, by default.
func DefaultGain(t prompt.Task) float64 {
	if t.Open() {
		return 2
	}
	return 1
}

// defaultCentre of clipped differences: an answer to a question has few tokens that fit,
// which records mostly agree on, and a median among candidates that do not fit takes from
// what is left of that after clipping. Of texts that only fit a label many do.
func defaultCentre(a method.Ask) Centre {
	if a.Answering || a.Task.Kind == prompt.Generate {
		return Uncentred
	}
	return "" // the method's own
}

// Clipped chooses a token v with probability ∝ exp(score(v)/Temperature),
//
//	score(v) = base(v) + Gain/Expected · Σ_i clip_C(φ_i(v) − φ_0(v) − m_i)
//
// where φ_i are the scores of the prompt with record i, φ_0 those without one, and m_i
// centres record i's differences. It is the default: with one draw a text, the prompts'
// caches last for the text, and sampling amplifies the text as a whole.
//
// Precondition: one unit adds or removes one prompt, whose scores depend on its record
// and on public tokens alone. Postcondition: boundedrange(Range) on the drawn records.
// Proof: the prompt contributes a vector of whole steps in [−C, C] to a sum that all else
// enters unchanged, the number of prompts included (Expected is a constant). So the
// scores of the draw move by a vector whose entries differ by at most 2C·Gain/(Expected·
// Temperature), and C is the largest whole number of steps for which that is at most
// Range. Softmax of such scores is Range-bounded-range ([noise.Selector.Softmax]).
//
// With several records in a prompt, or with a draw of fixed size (under replace-one
// adjacency), one unit exchanges a prompt's vector for another instead: C is half as large.
type Clipped struct {
	// Draw: per text, with one record in a prompt.
	Draw scheme.Scheme `json:"draw"`
	// Expected is the number B of prompts that the sum is divided by. It is declared,
	// never counted.
	Expected float64 `json:"expected"`
	// Range is c, what a step costs.
	Range float64 `json:"range"`
	// Temperature τ of the choice.
	Temperature float64 `json:"temperature"`
	// Gain γ on the mean difference; 0 means 1.
	Gain float64 `json:"gain,omitempty"`
	// Candidates is K, the number of best public tokens that are candidates for sure.
	Candidates int `json:"candidates"`
	// Centre of a record's differences; "" is Median.
	Centre Centre `json:"centre,omitempty"`
}

// Centre is how the differences of one record are centred before they are clipped. The
// choice of a token does not see a constant; clipping does.
type Centre string

// The ways there are.
const (
	Median   Centre = "median"
	MidRange Centre = "mid-range"
	// Uncentred differences, as in InvisibleInk (Vinod et al. 2025).
	Uncentred Centre = "none"
	// Favourite leaves the largest difference as it is, and clips those that are more than 2C
	// below it: what a record is for is never cut, only what it is against.
	Favourite Centre = "favourite"
)

// Name implements [Method].
func (*Clipped) Name() string { return "clipped" }

// Proof implements [Method].
func (*Clipped) Proof() string {
	return "exponential mechanism on clipped differences to public scores, on a grid; bounded range of Dong, Durfee and Rogers 2020"
}

// Check implements [Method].
func (c *Clipped) Check() error {
	if err := c.Draw.Check(); err != nil {
		return err
	}
	err := checkPositive("clipped", setting{"expected number of records", c.Expected}, setting{"range", c.Range},
		setting{"temperature", c.Temperature}, setting{"gain", c.gain()})
	if err != nil {
		return err
	}
	if c.Candidates < 1 {
		return fmt.Errorf("clipped needs at least one candidate, not %d", c.Candidates)
	}
	switch c.Centre {
	case "", Median, MidRange, Uncentred, Favourite:
	default:
		return fmt.Errorf("unknown centre %q: one of %s, %s, %s, %s", c.Centre, Median, MidRange, Uncentred, Favourite)
	}
	return checkSelection("clipped", c.weight(), c.clip(), c.Range)
}

// Scheme implements [Method].
func (c *Clipped) Scheme() scheme.Scheme { return c.Draw }

// draw implements [Method].
func (c *Clipped) draw(s scheme.Scheme) Method { out := *c; out.Draw = s; return &out }

// Amounts implements [Method].
func (c *Clipped) Amounts() []method.Amount {
	return []method.Amount{{Symbol: "C", Value: c.Clip()}, {Symbol: "c", Value: c.Range}}
}

// Room returns how many nats a record has to say about a token, between two candidates.
func (c *Clipped) Room() float64 { return 2 * c.Clip() }

// Step implements [Method].
func (c *Clipped) Step() privacy.Event { return privacy.BoundedRange{C: c.Range} }

// Shortlist implements [Method]: besides the K best tokens those that a vote of all
// records could lift above the last of them.
func (c *Clipped) Shortlist() Shortlist {
	return Shortlist{Best: c.Candidates, Margin: 2 * c.Clip() * c.gain() / c.Expected}
}

func (c *Clipped) gain() float64 { return cmp.Or(c.Gain, 1) }

// rate is what one step of the sum counts for in the exponent, times 2^nats: the
// float64 that runs is the number that the proof is about.
func (c *Clipped) rate() float64 { return c.gain() / (c.Expected * c.Temperature) }

// weight is how often public scores count in the sum.
func (c *Clipped) weight() float64 { return c.Expected / c.gain() }

// clip is C in whole steps: the largest with 2·C·rate ≤ Range, or 4·C·rate where a unit
// exchanges a vector.
func (c *Clipped) clip() int64 {
	if c.Draw.Exchanges() {
		return room(c.rate(), c.Range, 4)
	}
	return room(c.rate(), c.Range, 2)
}

// Clip is C in nats: how far one record may move a token's score, before the mean.
func (c *Clipped) Clip() float64 { return math.Ldexp(float64(c.clip()), -nats) }

// selection is about the records' sum and the public scores, as many times as the records
// are expected to be.
func (c *Clipped) selection(v View) mechanism.Selection {
	return mechanism.Selection{Scores: weigh(c.sum(v), v.Base, c.weight()), Exponent: nats, Rate: c.rate()}
}

// Select implements [Method].
func (c *Clipped) Select(v View, s *noise.Stream) (int, error) {
	return c.selection(v).Softmax(s)
}

// sum adds up the clipped differences of all prompts, in steps.
func (c *Clipped) sum(v View) []int64 {
	clip := c.clip()
	sum := make([]int64, len(v.Public))
	values := make([]float64, len(v.Public))
	sorted := make([]float64, len(v.Public))
	for _, prompt := range v.Prompts {
		for i := range values {
			values[i] = difference(prompt[i], v.Public[i])
		}
		m := c.Centre.of(values, sorted, c.Clip())
		for i, d := range values {
			sum[i] += max(-clip, min(clip, steps(d-m, nats)))
		}
	}
	return sum
}

// of is the centre of one record's differences, which are clipped to so far from it; sorted
// is scratch.
func (c Centre) of(values, sorted []float64, clip float64) float64 {
	switch c {
	case Uncentred:
		return 0
	case Favourite:
		return slices.Max(values) - clip
	case MidRange:
		return (slices.Min(values) + slices.Max(values)) / 2
	}
	copy(sorted, values)
	slices.Sort(sorted)
	return sorted[(len(sorted)-1)/2]
}
