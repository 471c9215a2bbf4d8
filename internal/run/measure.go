package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/sys/bounded"
	"github.com/sotto-dp/sotto/sys/machine"
)

// MeasureOptions of a measurement. What they have in common with [Options] means
// the same.
type MeasureOptions struct {
	env.Environment
	// Dir is the run folder. Required.
	Dir string
	// Plan and Data (opened by the caller, all records together) are required.
	Plan plan.Measurement
	Data *record.Data
	// PassTokens is about how many tokens go through the model at once; 0 takes the default.
	PassTokens int
}

// Measured is a finished measurement.
type Measured struct {
	Result
	Plan plan.Measurement
	// Outcome are the noisy counts, Shares what follows from them for each prompt, and
	// Difference how much better the first of two is.
	Outcome    measure.Outcome
	Shares     []stat.Estimate
	Difference *stat.Estimate
}

// Measure carries out the plan of a measurement. It returns as [Do] does.
func Measure(ctx context.Context, o MeasureOptions) (*Measured, error) {
	w := newMeasurer(o, osDisk{})
	result, err := newEngine(w, w.execution).do(ctx)
	if err != nil {
		return nil, err
	}
	out := &Measured{Result: *result, Plan: w.Plan}
	out.Outcome, out.Shares, out.Difference, err = w.numbers()
	return out, err
}

// measurer is a run that measures prompts.
type measurer struct {
	MeasureOptions
	*execution
	reader
	free func() int64 // memory of this machine
}

func newMeasurer(o MeasureOptions, d disk) *measurer {
	w := &measurer{MeasureOptions: o, free: machine.Free}
	w.execution = newExecution(&w.Environment, records{o.Data}, o.Dir, d)
	return w
}

func (w *measurer) plan() any { return w.Plan }

func (w *measurer) spec() spec {
	return spec{
		Name: w.Plan.Task.Name + " measurement", Private: true, Event: w.Plan.Event(),
		Adjacency: w.Plan.Adjacency(), Unit: w.Plan.Unit, Epsilon: w.Plan.Epsilon, Delta: w.Plan.Delta,
	}
}

func (w *measurer) check() (err error) {
	if w.Plan, err = plan.Checked(w.Plan); err != nil {
		return err
	}
	switch {
	case !w.Model.Valid() && w.asksModel():
		return errors.New("a measurement needs a trusted model")
	case w.Data == nil:
		return errors.New("a measurement needs records, and no data was opened")
	case w.Data.Unit() != w.Plan.Unit:
		return fmt.Errorf("the plan protects the unit %s, and the data was opened with the unit %s: open it with that of the plan", w.Plan.Unit, w.Data.Unit())
	case w.Data.Parts() != 1:
		return fmt.Errorf("the data was opened in %d parts, and a measurement draws from all records alike: open it together", w.Data.Parts())
	}
	if err := w.checkEncoder(); err != nil {
		return err
	}
	return checkSize(w.Data, w.Plan.Measure.Draw, 0)
}

// checkEncoder finds a missing encoder, or another one than that of the evidence.
func (w *measurer) checkEncoder() error {
	for _, n := range w.Plan.Prompts {
		if name := n.Prompt.Nearest.Encoder; n.Prompt.Nearest.Used() && (!w.Encoder.Valid() || w.Encoder.Name() != name) {
			return fmt.Errorf("prompt %q gives questions the examples nearest to them by the encoder %s, and none was opened, or another: use the version of the program and of the encoder that it was chosen with", n.Name, name)
		}
	}
	if w.Plan.Evidence == nil {
		return nil
	}
	if !w.Encoder.Valid() {
		return fmt.Errorf("prompts use evidence of the encoder %s, and none was opened", w.Plan.Evidence.Encoder)
	}
	_, err := evidence.Open(w.Plan.Evidence, w.Encoder)
	return err
}

// preflight makes sure that a record's grades depend on it alone, and that the longest question
// there may be fits the model after each prompt: one that does not counts as wrong.
func (w *measurer) preflight(ctx context.Context) error {
	if w.asksModel() {
		if err := w.isolate(ctx, w.execution, false, true); err != nil {
			return err
		}
	}
	// A model that cannot score labels is found here, and not when it is charged.
	if _, err := w.measurement(ctx, noise.KeyFromSeed(0)); err != nil {
		return err
	}
	if !w.asksModel() {
		return nil
	}
	room, longest := w.Model.Info().Context, 0
	for _, n := range w.Plan.Prompts {
		if n.Prompt.Evidence.How == prompt.Alone {
			continue // no model reads it
		}
		need, err := w.longest(ctx, n)
		if err != nil {
			return err
		}
		longest = max(longest, need)
		if room > 0 && need > room {
			return &plan.InputError{Reason: fmt.Sprintf("the prompt %q with the longest question there may be takes %d tokens, and the model has room for %d, so that questions would count as wrong that were not asked: use fewer or shorter examples, or lower the task's limits", n.Name, need, room)}
		}
	}
	return w.Model.CheckMemory(w.free(), "the measurement", "nothing was charged; end other programs, measure prompts with fewer or shorter examples, or use a model with fewer layers",
		measure.Loads(w.PassTokens, 0, longest, longest)...)
}

// longest is how many tokens a prompt with the longest question and answer takes at most.
func (w *measurer) longest(ctx context.Context, n plan.NamedPrompt) (int, error) {
	return reply.Longest(ctx, w.Model, w.Plan.Task, n.Prompt)
}

// asksModel reports whether a language model answers: evidence alone needs none.
func (w *measurer) asksModel() bool { return len(w.Plan.Forms()) > 0 }

// model is who sees records: a language model, or where none is asked the encoder.
func (w *measurer) model() model {
	if !w.asksModel() {
		return modelOfEncoder(w.Encoder)
	}
	return modelOf(w.Model, w.ModelName, w.isolation())
}

func (w *measurer) stages() []func(context.Context) error {
	return []func(context.Context) error{w.look}
}

// repeats: the journal has the numbers, or they would come out the same from the key.
func (w *measurer) repeats() bool { return w.measured != nil || w.header.Model.exact() }

func (*measurer) spent(context.Context) (privacy.Event, error) { return nil, nil }

// look draws records, has them judge the prompts, and notes the noisy counts. Nothing of it
// is anywhere before that.
func (w *measurer) look(ctx context.Context) error {
	if w.measured != nil {
		return nil
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	key := w.key
	if w.attempt > 0 {
		key = key.Derive(fmt.Sprintf("attempt %d", w.attempt))
	}
	m, err := w.measurement(ctx, key)
	if err != nil {
		return err
	}
	out, err := m.Counts(ctx, w.Plan.List())
	if err != nil {
		return err
	}
	if got, paid := out.Event.String(), w.Plan.Event().String(); got != paid || len(out.Counts) != len(w.Plan.Prompts) {
		return fmt.Errorf("the prompts were measured by %s, which the plan does not pay for: this is an internal error; nothing of it is released", got)
	}
	data, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode the counts: %w", err)
	}
	return w.announce(entry{State: measured, Measured: data}, env.Progress{Kind: env.Counted})
}

// measurement is one that would be made with a key. No record is read.
func (w *measurer) measurement(ctx context.Context, key noise.Key) (*measure.Measurer, error) {
	return measure.New(ctx, measure.Options{
		Model: w.judge(w.execution), Isolation: w.judges.Isolation(), Task: w.Plan.Task, Forms: w.Plan.Forms(), Pool: w.Data, Parts: w.Data.Parts(), Key: key, Measure: w.Plan.Measure, PassTokens: w.PassTokens,
		Evidence: w.Plan.Evidence, Encoder: w.Encoder,
		Usage: func(u lm.Usage) {
			w.usage = u
			w.report(env.Progress{Kind: env.Judged, Round: 1, Rounds: 1, Usage: u})
		},
	})
}

// begin notes that records are going to be looked at by a model that would not give the same
// grades again, and pays again where that was noted before: a second look is a second use
// of the records, with another draw and other noise.
func (w *measurer) begin(ctx context.Context) error {
	if w.header.Model.exact() {
		return nil
	}
	attempt := w.attempt
	if w.looking {
		attempt++
		if w.charged() && w.paid < attempt {
			if err := w.chargeAgain(ctx, "the measurement", fmt.Sprintf("attempt %d", attempt), w.Plan.Event(), entry{Attempt: attempt}); err != nil {
				return err
			}
		}
	}
	return w.note(entry{State: measuring, Attempt: attempt})
}

// numbers reads what was measured off the journal, with what follows from it.
func (w *measurer) numbers() (out measure.Outcome, shares []stat.Estimate, difference *stat.Estimate, err error) {
	if err = bounded.UnmarshalJSON(w.measured, bounded.Large, &out); err != nil || len(out.Counts) != len(w.Plan.Prompts) {
		return out, nil, nil, w.refuse("its journal holds no counts of the plan's prompts; start again in another folder")
	}
	if shares, err = w.Plan.Rows(out); err == nil {
		difference, err = w.Plan.Difference(out)
	}
	return out, shares, difference, err
}

func (w *measurer) fill(_ context.Context, out *Result) error {
	out.Usage = w.usage
	return nil
}

// caution warns of a δ that has no privacy guarantee and of sizes that are far off, and says what to
// expect, all before the charge.
func (w *measurer) caution() {
	if w.progress.charge == "" {
		w.uncharged(w.Data.Declared([]int64{w.Plan.Size}))
	}
	w.warnOfClaim(w.Plan.Delta, w.Plan.Size)
}
