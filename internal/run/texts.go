package run

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// choose decides what each text is for.
func (r *runner) choose(context.Context) error {
	if r.exec.progress.conditions != nil || r.plan.Shots == 0 {
		return nil
	}
	list := r.plan.Conditions
	switch {
	case !r.plan.Task.Open():
		for _, p := range r.plan.Parts {
			list = append(list, p.Label)
		}
	case r.plan.Discover != nil:
		if list = r.exec.progress.found; len(list) == 0 {
			return r.exec.folder.refuse("no label has enough units to be released. The charge stays; give a public list of labels in another run")
		}
	}
	if len(list) == 0 {
		return r.exec.folder.refuse("the plan does not say what texts are for: give a public list of labels or inputs")
	}
	conditions, err := spread(list, r.plan.Shots, r.exec.key.Stream("labels"))
	if err != nil {
		return err
	}
	own, err := spread(list, r.plan.Texts()-r.plan.Shots, r.exec.key.Stream("labels of own texts"))
	if err != nil {
		return err
	}
	return r.exec.note(entry{State: chosen, Conditions: append(conditions, own...)})
}

// spread takes n of the list, uniformly without replacement; when there are more to take
// than there are, all of them come equally often, and the rest by the same rule. None of
// it looks at records (a label of a private record, copied, would be a leak).
func spread(list []string, n int, s *noise.Stream) ([]string, error) {
	order, err := s.Permutation(len(list))
	if err != nil {
		return nil, err
	}
	out := make([]string, n)
	for i := range out {
		out[i] = list[order[i%len(order)]]
	}
	return out, nil
}

// place is the part that a text is written from, and its place among the texts of that.
func (r *runner) place(index int) (part int, place int64) {
	if r.plan.Task.Open() {
		return 0, int64(index)
	}
	for i, p := range r.plan.Parts {
		if p.Label == r.exec.progress.conditions[index] {
			part = i
		}
	}
	for _, c := range r.exec.progress.conditions[:index] {
		if c == r.exec.progress.conditions[index] {
			place++
		}
	}
	return part, place
}

// methods returns the methods of the parts, with rates made from counted sizes.
func (r *runner) methods() []decode.Method {
	out := make([]decode.Method, len(r.plan.Parts))
	for i, part := range r.plan.Parts {
		out[i] = part.Method.Method
		if r.exec.progress.sizes == nil || !r.plan.WritesFromRecords() {
			continue
		}
		out[i] = counting(part, r.exec.progress.sizes[i])
	}
	return out
}

// counting draws less often from a part that is larger than the plan assumed, so that as
// many records as planned are expected. A draw with a smaller rate is a draw from a draw,
// and costs no more than was charged; a larger rate is never used. Disjoint batches cost
// the same however many there are.
func counting(part plan.Part, size int64) decode.Method {
	sampling := part.Method.Scheme()
	larger := float64(max(size, part.Size)) / float64(part.Size)
	switch sampling.Kind {
	case scheme.Poisson:
		sampling.Rate = min(sampling.Rate, sampling.Rate/larger)
	case scheme.Disjoint:
		sampling.Batches = max(sampling.Batches, int64(float64(sampling.Batches)*larger))
	default:
		return part.Method.Method
	}
	return decode.WithScheme(part.Method, sampling)
}

// own reports whether the model writes a text by itself: those come after all that the parts
// pay for. Where the plan has none, a text too many is one that nothing pays for.
func (r *runner) own(index int) bool { return index >= r.plan.Shots && index < r.plan.Texts() }

// method is the one that the plan has for a text.
func (r *runner) method(index int) decode.Method {
	if r.own(index) {
		return &r.plan.Choose.Own.Method
	}
	part, _ := r.place(index)
	return r.plan.Parts[part].Method.Method
}

// attemptStride keeps the randomness of attempts apart: no run has as many texts.
const attemptStride = 1 << 32

// job describes a text to the writer.
func (r *runner) job(index int, methods []decode.Method) decode.Job {
	part, place := r.place(index)
	t := r.exec.progress.texts[index]
	job := decode.Job{
		Text:      draw.Text{Index: uint64(index) + attemptStride*uint64(t.attempt), Part: part, Place: place},
		Condition: t.condition,
		Method:    methods[part],
	}
	if r.own(index) {
		job.Method = r.method(index)
	}
	return job
}

// writeTexts writes what is not released yet.
func (r *runner) writeTexts(ctx context.Context) error {
	var missing []int
	for i, t := range r.exec.progress.texts {
		if !t.released {
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	methods := r.methods()
	w, err := r.writer()
	if err != nil {
		return err
	}
	defer func() { r.reader.usage = w.Usage() }()
	if r.exec.progress.header.Model.exact() {
		return r.writeGroup(ctx, w, missing, methods)
	}
	for len(missing) > 0 {
		n := min(max(1, r.options.Parallel), len(missing))
		if err := r.begin(ctx, missing[:n]); err != nil {
			return err
		}
		if err := r.writeGroup(ctx, w, missing[:n], methods); err != nil {
			return err
		}
		missing = missing[n:]
	}
	return nil
}

func (r *runner) writer() (*decode.Writer, error) {
	o := decode.Options{
		Model: r.reader.trusted(r.exec), Task: r.plan.Task, Key: r.exec.key, Tokens: r.plan.Tokens, Rules: r.plan.Rules, Parallel: r.options.Parallel,
		Observe: func(p decode.Progress) {
			index := int(p.Text % attemptStride)
			r.reader.usage = p.Usage
			r.exec.report(env.Progress{Kind: env.Wrote, Text: index + 1, Condition: r.exec.progress.texts[index].condition, Tokens: p.Tokens, Usage: p.Usage})
		},
	}
	if r.options.Data != nil {
		o.Pool = r.options.Data
	}
	return decode.NewWriter(o)
}

// begin notes that texts are going to be written by a model that would not write them
// again as they were, and pays again for those of which that was noted before.
func (r *runner) begin(ctx context.Context, indices []int) error {
	for _, i := range indices {
		if r.exec.progress.texts[i].begun {
			if err := r.recharge(ctx, i); err != nil {
				return err
			}
		}
		if err := r.exec.note(entry{State: begun, Text: i + 1, Attempt: r.exec.progress.texts[i].attempt}); err != nil {
			return err
		}
	}
	return nil
}

// writeGroup writes texts and notes each as soon as it is complete.
func (r *runner) writeGroup(ctx context.Context, w *decode.Writer, indices []int, methods []decode.Method) error {
	jobs := make([]decode.Job, len(indices))
	for i, index := range indices {
		jobs[i] = r.job(index, methods)
		if err := r.placed(jobs[i]); err != nil {
			return err
		}
	}
	return w.Write(ctx, jobs, func(job decode.Job, out private.Output) error {
		index := int(job.Index % attemptStride)
		if err := r.covered(job, out); err != nil {
			return err
		}
		return r.exec.announce(entry{
			State: released, Text: index + 1, Attempt: r.exec.progress.texts[index].attempt,
			Condition: job.Condition, Output: out.Text(), Steps: out.Steps(),
		}, env.Progress{Kind: env.Released, Text: index + 1, Condition: job.Condition, Tokens: out.Steps(), Usage: r.reader.usage})
	})
}

// placed makes sure that a text is going to be written from the records of its label, and
// that there are no more texts of them than the plan pays for: what texts of different
// labels cost does not add up, because no record is in two parts.
func (r *runner) placed(job decode.Job) error {
	part := r.plan.Parts[job.Part]
	if job.Method.Scheme().Kind == "" {
		return nil // nobody is drawn
	}
	if !r.plan.Task.Open() && part.Label != job.Condition || job.Place >= part.Texts {
		return fmt.Errorf("text %d is number %d of part %d, which the plan does not pay for: this is an internal error; nothing was drawn for it", job.Index%attemptStride+1, job.Place+1, job.Part+1)
	}
	return nil
}

// covered makes sure that a text was written as the plan pays for, before it is released:
// by the method of its part, drawing no more often, with no more tokens.
func (r *runner) covered(job decode.Job, out private.Output) error {
	if !r.plan.Private() {
		return nil
	}
	planned := r.method(int(job.Index % attemptStride))
	sampling, allowed := job.Method.Scheme(), planned.Scheme()
	want := decode.TextEvent(job.Method, r.plan.Tokens)
	step := job.Method.Step().String() == planned.Step().String()
	if out.Steps() > r.plan.Tokens || out.Event().String() != want.String() || !step || sampling.Kind != allowed.Kind || sampling.Rate > allowed.Rate || sampling.Batches < allowed.Batches {
		return fmt.Errorf("text %d was written by %s in %d steps, which the plan does not pay for: this is an internal error; nothing of the text is released", job.Index%attemptStride+1, out.Event(), out.Steps())
	}
	return nil
}
