package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// check finds what is wrong with the options.
func (r *runner) check() (err error) {
	if r.plan, err = plan.Checked(r.plan); err != nil {
		return err
	}
	if err := release.CheckTask(r.plan.Task); err != nil {
		return &plan.InputError{Reason: err.Error()}
	}
	if (r.plan.Count != nil || r.plan.Discover != nil || r.plan.Ending != nil) && r.plan.Adjacency != privacy.AddRemove {
		// An exchanged unit touches two counts, and the plan's event has one.
		return fmt.Errorf("counting and discovery are paid for under %s adjacency, not %s: declare sizes, and give a public list of labels", privacy.AddRemove, r.plan.Adjacency)
	}
	if !r.exec.env.Model.Valid() && !r.plan.Learns() {
		return errors.New("a run needs a trusted model")
	}
	if c := r.plan.Choose; c != nil && c.Vary > 0 && r.options.Vary == nil {
		return errors.New("the plan has texts written like those of winners, and nobody is there to write them")
	}
	if err := r.checkEncoder(); err != nil {
		return err
	}
	return r.checkData()
}

// checkData holds the data against what the plan says of it.
func (r *runner) checkData() error {
	if r.options.Data == nil {
		if r.plan.Reads() {
			return errors.New("the plan reads records, and no data was opened")
		}
		return nil
	}
	if got := r.options.Data.Unit(); got != r.plan.Unit {
		return fmt.Errorf("the plan protects the unit %s, and the data was opened with the unit %s: open it with that of the plan", r.plan.Unit, got)
	}
	if !r.plan.WritesFromRecords() { // all records are read alike
		if m := r.plan.Measure; m != nil {
			return checkSize(r.options.Data, m.Draw, 0)
		}
		if r.plan.Choose == nil {
			return nil
		}
		if l := r.plan.Choose.Last; l != nil {
			if err := checkSize(r.options.Data, l.Draw, 0); err != nil {
				return err
			}
		}
		return checkSize(r.options.Data, r.plan.Choose.Draw, 0)
	}
	var labels []string
	for _, p := range r.plan.Parts {
		if p.Label != "" {
			labels = append(labels, p.Label)
		}
	}
	if !slices.Equal(labels, r.options.Data.Labels()) || r.options.Data.Parts() != len(r.plan.Parts) {
		return fmt.Errorf("the plan has %d parts and the data %d, with other labels: open it with the labels of the plan, in their order", len(r.plan.Parts), r.options.Data.Parts())
	}
	for i, p := range r.plan.Parts {
		if err := checkSize(r.options.Data, p.Method.Scheme(), i); err != nil {
			return err
		}
	}
	return nil
}

// checkSize finds a draw of a fixed size that is for another number of records.
func checkSize(data *record.Data, sampling scheme.Scheme, part int) error {
	if err := draw.CheckSize(data, sampling, part); err != nil {
		return &plan.InputError{Reason: err.Error()}
	}
	return nil
}

// reader is the model of a run as records are shown to it.
type reader struct {
	// isolated is the model where texts are written from records and something is claimed of
	// them, judges where records judge prompts. Either may be absent.
	isolated, judges lm.IsolatedScorer
	usage            lm.Usage
}

// isolate makes sure that a record's scores depend on that record alone before anything
// is charged as if they did. A run that claims nothing needs no such thing.
//
// What is written from records is written prompt by prompt. Records that judge are asked about one
// at a time, all prompts at once, where the model can be asked so, and else prompt by prompt.
func (r *reader) isolate(ctx context.Context, of *execution, writes, judges bool) (err error) {
	if !of.charged() {
		return nil
	}
	if writes || !judges {
		if r.isolated, err = lm.Isolate(ctx, of.env.Model); err != nil {
			return err
		}
	}
	if !judges {
		return nil
	}
	r.judges, err = lm.IsolateRecords(ctx, of.env.Model)
	if cannot := (*lm.NotIsolatedError)(nil); !errors.As(err, &cannot) || of.env.Model.NeedScores() != nil {
		return err
	}
	if r.isolated.Valid() {
		r.judges = r.isolated
		return nil
	}
	r.judges, err = lm.Isolate(ctx, of.env.Model)
	return err
}

// trusted is the model that texts are written from records by.
func (r *reader) trusted(of *execution) lm.TrustedScorer {
	if r.isolated.Valid() {
		return r.isolated.Model()
	}
	return of.env.Model
}

// judge is the model that records judge prompts by. How it keeps them apart is that of judges.
func (r *reader) judge(of *execution) lm.TrustedScorer {
	if r.judges.Valid() {
		return r.judges.Model()
	}
	return of.env.Model
}

// isolation is how records are kept apart in all of a run.
func (r *reader) isolation() lm.Isolation { return r.isolated.Isolation().And(r.judges.Isolation()) }

// identified is who sees records, as the journal says if there is one.
func (r *execution) identified(now func() model) model {
	if r.progress != nil && r.progress.header.Run != "" {
		return r.progress.header.Model
	}
	return now()
}

// checkWriter refuses a model without scores for a run that needs them.
func (r *runner) checkWriter() error {
	err := r.exec.env.Model.NeedScores()
	if err == nil {
		return nil
	}
	c := r.plan.Choose
	if c == nil || !c.Form.Turns() || r.plan.WritesFromRecords() {
		return err
	}
	if r.plan.Texts() > 0 {
		return fmt.Errorf("%w. Here: take the texts to choose from with --pool-model, which may be the same server, or from --examples, and leave the setting generation-share at 0", err)
	}
	return nil
}

// preflight makes sure that the longest prompt there may be leaves room for a text. What is
// found only while texts are written is charged, and depends on who was drawn.
func (r *runner) preflight(ctx context.Context) error {
	if r.plan.Evidence != nil { // what cannot be added up is found here, and not when it is charged
		s, err := r.summer(noise.KeyFromSeed(0))
		if err == nil {
			err = s.Preflight(ctx)
		}
		if err != nil {
			return err
		}
	}
	if r.plan.Learns() {
		return nil // no model reads a prompt
	}
	if err := r.checkWriter(); err != nil {
		return err
	}
	if err := r.reader.isolate(ctx, r.exec, r.plan.WritesFromRecords(), r.plan.Choose != nil); err != nil {
		return err
	}
	room := r.exec.env.Model.Info().Context
	if spec, _ := method.Lookup(r.plan.Method()); room == 0 || spec.Copies { // not known; copies records
		return nil
	}
	conditions := r.plan.Conditions
	if !r.plan.Task.Open() {
		conditions = r.plan.Task.Labels
	}
	if len(conditions) == 0 {
		conditions = []string{"word"} // to be discovered
	}
	longest, shared := 0., 0
	for _, c := range conditions {
		shape, err := plan.ShapeOf(ctx, r.exec.env.Model.Tokenizer(), r.plan.Task, []string{c})
		if err != nil {
			return err
		}
		shared = shape.Instruction
		for _, p := range r.plan.Parts {
			records := 0
			if sampling := p.Method.Scheme(); sampling.Kind != "" {
				records = max(1, sampling.PerPrompt)
			}
			longest = max(longest, float64(shape.Instruction)+shape.Head+float64(records)*shape.Record)
		}
	}
	if int(longest)+r.plan.Tokens > room {
		return &plan.InputError{Reason: fmt.Sprintf("a text of %d tokens after a prompt of up to %.0f does not fit the model's context of %d: ask for shorter texts, for fewer records in a prompt, or lower the task's limits", r.plan.Tokens, longest, room)}
	}
	if err := r.checkMemory(shared, int(longest)+r.plan.Tokens-shared); err != nil {
		return err
	}
	return r.checkChoosing(ctx)
}

// checkChoosing does that for the sequences of choosing, which begins after all texts.
func (r *runner) checkChoosing(ctx context.Context) error {
	c := r.plan.Choose
	if c == nil {
		return nil
	}
	shape, err := plan.AnswerShapeOf(ctx, r.exec.env.Model.Tokenizer(), r.plan.Task)
	if err != nil {
		return err
	}
	return r.exec.env.Model.CheckMemory(r.free(), "choosing", "nothing was charged; end other programs, ask for fewer or shorter examples in a set, or use a model with fewer layers",
		choose.Loads(r.options.PassTokens, held(r.options.PassTokens), shape.Instruction+int(math.Ceil(float64(c.MaxShots)*shape.Record)), int(math.Ceil(shape.Head+float64(1+c.Nearest.MaxExamples())*shape.Record)))...)
}

// checkMemory refuses a run whose sequences would not fit this machine's memory: what fails
// for want of it later is charged, and depends on who was drawn.
func (r *runner) checkMemory(shared, tokens int) error {
	prompts := 0
	for _, p := range r.plan.Parts {
		prompts = max(prompts, plan.AtMost(p.Prompts()))
	}
	return r.exec.env.Model.CheckMemory(r.free(), "the run", "nothing was charged; end other programs, write fewer texts at once (parallel), ask for smaller batches, shorter texts or records, or use a model with fewer layers",
		lm.Load{Shared: shared, Sequences: max(1, r.options.Parallel) * (1 + prompts), Tokens: tokens})
}
