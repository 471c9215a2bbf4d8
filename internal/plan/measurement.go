package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

// Measurement fixes how prompts are measured on private records, except for randomness and data.
// It is public, and so are the prompts in it.
type Measurement struct {
	Task prompt.Task `json:"task"`
	// Epsilon and Delta that were asked for; what the measurement costs is at most that.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Unit is what the guarantee is about, under the adjacency of the draw.
	Unit privacy.Unit `json:"unit"`
	// Size is the declared number of units.
	Size    int64           `json:"size"`
	Prompts []NamedPrompt   `json:"prompts"`
	Measure measure.Measure `json:"measure"`
	// Evidence is what prompts use that use any: one for all of them. It is whole, so that a run that continues
	// has what it began with, and anyone who reads the numbers what they are about.
	Evidence *evidence.Evidence `json:"evidence,omitempty"`
}

// NamedPrompt is a prompt, and how people call it.
type NamedPrompt struct {
	Name   string        `json:"name"`
	Prompt prompt.Prompt `json:"prompt"`
}

// MeasurementRequest is what a user asks for. The zero value of a field leaves the choice to
// [NewMeasurement].
type MeasurementRequest struct {
	// Task and Prompts are required.
	Task    prompt.Task
	Prompts []NamedPrompt
	// Evidence is that of the release that the prompts which use evidence are of; nil if none does.
	Evidence *evidence.Evidence
	// Form of prompts that have none. By default [MeasurementRequest.For] decides by the model.
	Form prompt.Form
	// Epsilon is required. Delta is min(1e-6, n^-1.1).
	Epsilon, Delta float64
	// Unit is a record by default.
	Unit privacy.Unit
	// Size is the declared number of units. Required.
	Size int64
	// Records is about how many are asked, each about every prompt; DefaultRecords by
	// default, or all if there are fewer. Noise weighs the less the more are asked, at the same
	// ε: what bounds it is time.
	Records int64
	// Grade of a record: right or wrong by default, and for written outputs their overlap
	// with what the model writes.
	Grade measure.Grade
	// Sampler is Poisson by default; a fixed size is for replace-one adjacency.
	Sampler scheme.Kind
	// Uncounted: records are not counted by label, for example since how many have each is declared. Where they are
	// is decided by how much noise that adds.
	Uncounted bool
}

// DefaultRecords is how many records are asked by default: sampling alone leaves an interval
// of ± 3 points then, for a minute or two of the default model on two processors.
const DefaultRecords = 1000

// NewMeasurement makes a plan that keeps to the ε and δ of a request.
func NewMeasurement(r MeasurementRequest) (Measurement, error) {
	if err := r.fill(); err != nil {
		return Measurement{}, err
	}
	p := Measurement{
		Task: r.Task, Epsilon: r.Epsilon, Delta: r.Delta, Unit: r.Unit, Size: r.Size, Prompts: r.laidOut(),
		Measure:  measure.Measure{Draw: r.sampling(), Prompts: len(r.Prompts), Grade: r.Grade},
		Evidence: r.Evidence,
	}
	if !r.Uncounted && r.Grade == measure.Right && labelled(r.Task) {
		p.Measure.Labels = len(r.Task.Labels)
	}
	if err := p.calibrate(); err != nil {
		return Measurement{}, err
	}
	if p.Measure.Labels > 0 && !p.affordsLabels() {
		p.Measure.Labels = 0
		if err := p.calibrate(); err != nil {
			return Measurement{}, err
		}
	}
	if err := p.Check(); err != nil {
		return Measurement{}, wrong("%v", err)
	}
	return p, nil
}

// fill sets what was left open and checks the rest.
func (r *MeasurementRequest) fill() error {
	r.Task = r.Task.WithDefaults()
	unit, err := privacy.ParseUnit(string(r.Unit))
	if err != nil {
		return wrong("%v", err)
	}
	r.Unit = unit
	setDefault(&r.Records, DefaultRecords)
	setDefault(&r.Sampler, scheme.Poisson)
	setDefault(&r.Grade, measure.Default(r.Task))
	switch {
	case len(r.Prompts) < 1 || len(r.Prompts) > measure.MaxPrompts:
		return wrong("from 1 to %d prompts can be measured at once, not %d", measure.MaxPrompts, len(r.Prompts))
	case r.Size < 1:
		return wrong("the number of records is missing: declare about how many there are")
	case r.Records < 1:
		return wrong("%d records are to be asked: give a number of records such as %d", r.Records, DefaultRecords)
	}
	if err := privacy.CheckEpsilon(r.Epsilon); err != nil || r.Epsilon == 0 || math.IsInf(r.Epsilon, 1) {
		return about("Epsilon", "an ε above 0 is needed, such as 0.1, not %v", r.Epsilon)
	}
	setDefault(&r.Delta, privacy.DefaultDelta(r.Size))
	if err := privacy.CheckDelta(r.Delta); err != nil {
		return wrong("%v", err)
	}
	if err := measure.Suits(r.Grade, r.Task); err != nil {
		return wrong("%v", err)
	}
	return nil
}

// scheme draws as many as are to be asked.
func (r *MeasurementRequest) sampling() scheme.Scheme {
	asked := min(r.Records, r.Size)
	if r.Sampler == scheme.FixedSize {
		return scheme.Scheme{Kind: r.Sampler, Per: scheme.PerText, Take: asked, Of: r.Size}
	}
	return scheme.Scheme{Kind: r.Sampler, Per: scheme.PerText, Rate: float64(asked) / float64(r.Size)}
}

// calibrate finds the least noise with which the event keeps to ε and δ.
func (p *Measurement) calibrate() error {
	q := min(1, p.Measure.Draw.Expected(p.Size)/float64(p.Size))
	inner := math.Log1p(math.Expm1(p.Epsilon) / q)
	scale := float64(p.Measure.Tables()) / inner * (1 + 1e-9)
	scale, err := minNoise(scale, accountant.Target{Epsilon: p.Epsilon, Delta: p.Delta, Adjacency: p.Adjacency()}, func(scale float64) privacy.Event {
		p.Measure.Scale = scale
		return p.Event()
	})
	p.Measure.Scale = scale
	return err
}

// affordsLabels reports whether the noise on a share, with that on a table of labels paid for, is still below half of what
// the draw of records leaves open, as half of them are right. Else the number that was asked for is worth more.
func (p Measurement) affordsLabels() bool {
	cells := 1.
	if p.Measure.Prompts == 2 {
		cells = 2
	}
	// Laplace noise has a deviation of √2 times its scale, and half of it stays in a share.
	return p.Measure.Noise()*math.Sqrt(cells) <= math.Sqrt(p.Asked())/4
}

// Event is all that the measurement does to the data.
func (p Measurement) Event() privacy.Event { return p.Measure.Event() }

// Adjacency is what the guarantee is about, with Unit.
func (p Measurement) Adjacency() privacy.Adjacency { return p.Measure.Draw.Adjacency() }

// List are the prompts alone.
func (p Measurement) List() []prompt.Prompt {
	out := make([]prompt.Prompt, len(p.Prompts))
	for i, n := range p.Prompts {
		out[i] = n.Prompt
	}
	return out
}

// Forms are those of the prompts that a model is asked with; none, and not nil, if all are evidence alone.
func (p Measurement) Forms() []prompt.Form {
	out := []prompt.Form{}
	for _, n := range p.Prompts {
		if n.Prompt.Evidence.How == prompt.Alone {
			continue
		}
		if f := n.Prompt.Form.Name(); !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// Asked is how many records are asked, on average over who is drawn.
func (p Measurement) Asked() float64 { return p.Measure.Draw.Expected(p.Size) }

// Check finds what is wrong with a plan that was read from a file.
func (p Measurement) Check() error {
	if err := p.Measure.Check(); err != nil {
		return err
	}
	if len(p.Prompts) != p.Measure.Prompts {
		return fmt.Errorf("%d prompts are planned for, and there are %d", p.Measure.Prompts, len(p.Prompts))
	}
	seen := map[string]bool{}
	for _, n := range p.Prompts {
		if strings.TrimSpace(n.Name) == "" || seen[n.Name] {
			return fmt.Errorf("each prompt needs a name of its own: %q is not one", n.Name)
		}
		seen[n.Name] = true
		if err := n.Prompt.Check(p.Task); err != nil {
			return fmt.Errorf("prompt %q: %w", n.Name, err)
		}
		if n.Prompt.Evidence.How == prompt.Alone {
			continue // no model is asked
		}
		if err := measure.Reads(p.Measure.Grade, n.Prompt.Form); err != nil {
			return fmt.Errorf("prompt %q: %w", n.Name, err)
		}
	}
	if err := p.checkEvidence(); err != nil {
		return err
	}
	if p.Size < 1 {
		return fmt.Errorf("the number of records is missing")
	}
	if n := p.Measure.Labels; n > 0 && (!labelled(p.Task) || n != len(p.Task.Labels)) {
		return fmt.Errorf("records are to be counted by %d labels, and the task has no such list", n)
	}
	return measure.Suits(p.Measure.Grade, p.Task)
}

// checkEvidence finds evidence that is missing, that no prompt uses, or that is not the task's.
func (p Measurement) checkEvidence() error {
	at := slices.IndexFunc(p.Prompts, func(n NamedPrompt) bool { return n.Prompt.Evidence.Used() })
	switch {
	case at < 0 && p.Evidence == nil:
		return nil
	case at < 0:
		return fmt.Errorf("there is evidence, and no prompt uses it: leave it out")
	case p.Evidence == nil:
		return fmt.Errorf("prompt %q uses evidence, and there is none: give that of its release", p.Prompts[at].Name)
	}
	if err := p.Evidence.Check(); err != nil {
		return err
	}
	return p.Evidence.Suits(p.Task.Labels)
}

// Encoder is the name of the encoder that prompts give questions the nearest examples by; "" if none does.
func (p Measurement) Encoder() string {
	for _, n := range p.Prompts {
		if n.Prompt.Nearest.Used() {
			return n.Prompt.Nearest.Encoder
		}
	}
	return ""
}

// Rows read shares off counts: one for each prompt, in their order.
func (p Measurement) Rows(out measure.Outcome) ([]stat.Estimate, error) {
	cells := 1
	if out.Pair != nil {
		cells = 2
	}
	var rows []stat.Estimate
	for _, c := range out.Counts {
		e, err := stat.Noisy{Right: c.Right, Wrong: c.Wrong, Scale: p.Measure.Noise(), Cells: cells}.Share()
		if err != nil {
			return nil, err
		}
		rows = append(rows, e)
	}
	return rows, nil
}

// Difference is how much better the first of two prompts is; nil if there are not two.
func (p Measurement) Difference(out measure.Outcome) (*stat.Estimate, error) {
	if out.Pair == nil {
		return nil, nil
	}
	t := out.Pair
	e, err := stat.NoisyPair{Both: t.Both, First: t.First, Second: t.Second, Neither: t.Neither, Scale: p.Measure.Noise()}.Difference()
	return &e, err
}

// Expected is half the width of the interval to expect for a prompt that is right for a
// share of the records.
func (p Measurement) Expected(share float64) (float64, error) {
	right := int64(math.Round(p.Asked() * share))
	wrong := int64(math.Round(p.Asked())) - right
	counts := make([]measure.Count, 1)
	counts[0] = measure.Count{Right: right, Wrong: wrong}
	out := measure.Outcome{Counts: counts}
	if p.Measure.Prompts == 2 {
		out.Pair = &measure.Pair{}
	}
	rows, err := p.Rows(out)
	if err != nil {
		return 0, err
	}
	return (rows[0].High - rows[0].Low) / 2, nil
}
