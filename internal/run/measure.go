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
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/machine"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// MeasureOptions of a measurement. What they have in common with [Options] means
// the same.
type MeasureOptions struct {
	Env env.Environment
	// Dir is the run folder. Required.
	Dir string
	// Plan and Data (opened by the caller, all records together) are required.
	Plan plan.Measurement
	Data *record.Data
	// PassTokens is about how many tokens go through the model at once; 0 takes the default.
	PassTokens int
}

// MeasureResult is a finished measurement.
type MeasureResult struct {
	Result
	Plan plan.Measurement
	// Outcome are the noisy counts, Shares what follows from them for each prompt, and
	// Difference how much better the first of two is.
	Outcome    measure.Outcome
	Shares     []stat.Estimate
	Difference *stat.Estimate
}

// Measure carries out the plan of a measurement. It returns as [Do] does.
func Measure(ctx context.Context, o MeasureOptions) (*MeasureResult, error) {
	w := newMeasurer(o, osDisk{})
	result, err := newEngine(w, w.exec).do(ctx)
	if err != nil {
		return nil, err
	}
	out := &MeasureResult{Result: *result, Plan: w.plan}
	out.Outcome, out.Shares, out.Difference, err = w.numbers()
	return out, err
}

// measurer is a run that measures prompts.
type measurer struct {
	options MeasureOptions
	plan    plan.Measurement
	exec    *execution
	reader  reader
	free    func() int64 // memory of this machine
}

func newMeasurer(o MeasureOptions, d disk) *measurer {
	w := &measurer{options: o, plan: o.Plan, free: machine.Free}
	w.exec = newExecution(&w.options.Env, records{o.Data}, o.Dir, d)
	return w
}

func (w *measurer) planFile() any { return w.plan }

func (w *measurer) describe() spec {
	return spec{
		Name: w.plan.Task.Name + " measurement", Private: true, Event: w.plan.Event(),
		Adjacency: w.plan.Adjacency(), Unit: w.plan.Unit, Epsilon: w.plan.Epsilon, Delta: w.plan.Delta,
	}
}

func (w *measurer) check() (err error) {
	if w.plan, err = plan.Checked(w.plan); err != nil {
		return err
	}
	switch {
	case !w.exec.env.Model.Valid() && w.asksModel():
		return errors.New("a measurement needs a trusted model")
	case w.options.Data == nil:
		return errors.New("a measurement needs records, and no data was opened")
	case w.options.Data.Unit() != w.plan.Unit:
		return fmt.Errorf("the plan protects the unit %s, and the data was opened with the unit %s: open it with that of the plan", w.plan.Unit, w.options.Data.Unit())
	case w.options.Data.Parts() != 1:
		return fmt.Errorf("the data was opened in %d parts, and a measurement draws from all records alike: open it together", w.options.Data.Parts())
	}
	if err := w.checkEncoder(); err != nil {
		return err
	}
	return checkSize(w.options.Data, w.plan.Measure.Draw, 0)
}

// checkEncoder finds a missing encoder, or another one than that of the evidence.
func (w *measurer) checkEncoder() error {
	for _, n := range w.plan.Prompts {
		if name := n.Prompt.Nearest.Encoder; n.Prompt.Nearest.Used() && (!w.exec.env.Encoder.Valid() || w.exec.env.Encoder.Name() != name) {
			return fmt.Errorf("prompt %q gives questions the examples nearest to them by the encoder %s, and none was opened, or another: use the version of the program and of the encoder that it was chosen with", n.Name, name)
		}
	}
	if w.plan.Evidence == nil {
		return nil
	}
	if !w.exec.env.Encoder.Valid() {
		return fmt.Errorf("prompts use evidence of the encoder %s, and none was opened", w.plan.Evidence.Encoder)
	}
	_, err := evidence.Open(w.plan.Evidence, w.exec.env.Encoder)
	return err
}

// preflight makes sure that a record's grades depend on it alone, and that the longest question
// there may be fits the model after each prompt: one that does not counts as wrong.
func (w *measurer) preflight(ctx context.Context) error {
	if w.asksModel() {
		if err := w.reader.isolate(ctx, w.exec, false, true); err != nil {
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
	room, longest := w.exec.env.Model.Info().Context, 0
	for _, n := range w.plan.Prompts {
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
	return w.exec.env.Model.CheckMemory(w.free(), "the measurement", "nothing was charged; end other programs, measure prompts with fewer or shorter examples, or use a model with fewer layers",
		measure.Loads(w.options.PassTokens, 0, longest, longest)...)
}

// longest is how many tokens a prompt with the longest question and answer takes at most.
func (w *measurer) longest(ctx context.Context, n plan.NamedPrompt) (int, error) {
	return reply.Longest(ctx, w.exec.env.Model, w.plan.Task, n.Prompt)
}

// asksModel reports whether a language model answers: evidence alone needs none.
func (w *measurer) asksModel() bool { return len(w.plan.Forms()) > 0 }

// modelHeader is who sees records: a language model, or where none is asked the encoder.
func (w *measurer) modelHeader() model {
	if !w.asksModel() {
		return modelOfEncoder(w.exec.env.Encoder)
	}
	return modelOf(w.exec.env.Model, w.exec.env.ModelName, w.reader.isolation())
}

func (w *measurer) stages() []func(context.Context) error {
	return []func(context.Context) error{w.look}
}

// repeats: the journal has the numbers, or they would come out the same from the key.
func (w *measurer) repeats() bool {
	return w.exec.progress.measured != nil || w.exec.progress.header.Model.exact()
}

func (*measurer) spent(context.Context) (privacy.Event, error) { return nil, nil }

// look draws records, has them judge the prompts, and notes the noisy counts. Nothing of it
// is anywhere before that.
func (w *measurer) look(ctx context.Context) error {
	if w.exec.progress.measured != nil {
		return nil
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	key := w.exec.key
	if w.exec.progress.attempt > 0 {
		key = key.Derive(fmt.Sprintf("attempt %d", w.exec.progress.attempt))
	}
	m, err := w.measurement(ctx, key)
	if err != nil {
		return err
	}
	out, err := m.Counts(ctx, w.plan.List())
	if err != nil {
		return err
	}
	if got, paid := out.Event.String(), w.plan.Event().String(); got != paid || len(out.Counts) != len(w.plan.Prompts) {
		return fmt.Errorf("the prompts were measured by %s, which the plan does not pay for: this is an internal error; nothing of it is released", got)
	}
	data, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode the counts: %w", err)
	}
	return w.exec.announce(entry{State: measured, Measured: data}, env.Progress{Kind: env.Counted})
}

// measurement is one that would be made with a key. No record is read.
func (w *measurer) measurement(ctx context.Context, key noise.Key) (*measure.Measurer, error) {
	return measure.New(ctx, measure.Options{
		Model: w.reader.judge(w.exec), Isolation: w.reader.judges.Isolation(), Task: w.plan.Task, Forms: w.plan.Forms(), Pool: w.options.Data, Parts: w.options.Data.Parts(), Key: key, Measure: w.plan.Measure, PassTokens: w.options.PassTokens,
		Evidence: w.plan.Evidence, Encoder: w.exec.env.Encoder,
		Usage: func(u lm.Usage) {
			w.reader.usage = u
			w.exec.report(env.Progress{Kind: env.Judged, Round: 1, Rounds: 1, Usage: u})
		},
	})
}

// begin notes that records are going to be looked at by a model that would not give the same
// grades again, and pays again where that was noted before: a second look is a second use
// of the records, with another draw and other noise.
func (w *measurer) begin(ctx context.Context) error {
	if w.exec.progress.header.Model.exact() {
		return nil
	}
	attempt := w.exec.progress.attempt
	if w.exec.progress.looking {
		attempt++
		if w.exec.charged() && w.exec.progress.paid < attempt {
			if err := w.exec.chargeAgain(ctx, "the measurement", fmt.Sprintf("attempt %d", attempt), w.plan.Event(), entry{Attempt: attempt}); err != nil {
				return err
			}
		}
	}
	return w.exec.note(entry{State: measuring, Attempt: attempt})
}

// numbers reads what was measured off the journal, with what follows from it.
func (w *measurer) numbers() (out measure.Outcome, shares []stat.Estimate, difference *stat.Estimate, err error) {
	if err = bounded.UnmarshalJSON(w.exec.progress.measured, bounded.Large, &out); err != nil || len(out.Counts) != len(w.plan.Prompts) {
		return out, nil, nil, w.exec.folder.refuse("its journal holds no counts of the plan's prompts; start again in another folder")
	}
	if shares, err = w.plan.Rows(out); err == nil {
		difference, err = w.plan.Difference(out)
	}
	return out, shares, difference, err
}

func (w *measurer) fill(_ context.Context, out *Result) error {
	out.Usage = w.reader.usage
	return nil
}

// caution warns of a δ that has no privacy guarantee and of sizes that are far off, and says what to
// expect, all before the charge.
func (w *measurer) caution() {
	if w.exec.progress.charge == "" {
		w.exec.uncharged(w.options.Data.Declared([]int64{w.plan.Size}))
	}
	w.exec.warnOfClaim(w.plan.Delta, w.plan.Size)
}
