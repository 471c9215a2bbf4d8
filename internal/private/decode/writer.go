package decode

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Job is a text to write.
type Job struct {
	draw.Text
	// Condition that the text is for, such as a label, or the question that it answers:
	// public.
	Condition string
	// Method with its settings.
	Method Method
}

// Options of a [Writer].
type Options struct {
	// Model, Task, Pool and Key are required. Pool may be nil when no method draws.
	Model lm.TrustedScorer
	Task  prompt.Task
	Pool  draw.Pool
	Key   noise.Key
	// Tokens is the most that a text has, the one that ends it included; 0 takes the
	// task's limit.
	Tokens int
	// Rules shape texts.
	Rules Rules
	// Parallel is how many texts are written at once; 0 means 1. Texts do not depend
	// on it where the model is batch-invariant.
	Parallel int
	// Answering lays out prompts for answers: a job's condition is then the question, and
	// records are examples of questions that were answered. It is for tasks whose answers
	// are written, not chosen from a list.
	Answering bool
	// Stream, if set, gets what is released of a text each time that it has a new token,
	// from the goroutine that called Write. A token may be shown as soon as it is chosen:
	// the event of the text covers each of them.
	Stream func(Job, seal.Output)
	// Observe, if set, receives the progress: in numbers, never in content.
	Observe func(Progress)
	// Published computes every prompt of every token in full, the empty ones too, one
	// at a time, as the published programs do. It is for comparisons of speed.
	Published bool
}

// Progress counts what was done so far.
type Progress struct {
	// Text is the index of the text that has a new token, Tokens how many it has.
	Text   uint64
	Tokens int
	// Ended: the text is complete.
	Ended bool
	// Usage of the model since the writer was made.
	Usage lm.Usage
}

// Writer writes texts: the loop that all methods share.
type Writer struct {
	Options
	task      prompt.Task
	tokenizer lm.Tokenizer
	rules     Rules
	drawer    *draw.Drawer
	ends      map[lm.Token]bool
	spelt     map[lm.Token]string
	// fields of the prompt, where the rules have any.
	fields  prompt.Fields
	usage   lm.Usage
	picking time.Duration
}

// NewWriter checks the options.
func NewWriter(o Options) (*Writer, error) {
	if !o.Model.Valid() {
		return nil, fmt.Errorf("records may only be shown to a trusted model, and there is none")
	}
	if err := o.Rules.Check(); err != nil {
		return nil, err
	}
	o.Task = o.Task.WithDefaults()
	if o.Answering {
		if err := checkAnswering(o.Task); err != nil {
			return nil, err
		}
		o.Tokens = cmp.Or(o.Tokens, o.Task.Limits.AnswerTokens)
	}
	o.Tokens = cmp.Or(o.Tokens, o.Task.Limits.MaxTokens)
	if o.Tokens < 1 {
		return nil, fmt.Errorf("a text has at least one token, not %d", o.Tokens)
	}
	o.Parallel = max(1, o.Parallel)
	w := &Writer{Options: o, task: o.Task, tokenizer: o.Model.Tokenizer(), rules: o.Rules, ends: map[lm.Token]bool{}}
	if o.Rules.Fields {
		w.fields = o.Task.Fields()
	}
	for _, t := range w.tokenizer.Ends() {
		w.ends[t] = true
	}
	if o.Pool != nil {
		if err := draw.Genuine(o.Pool); err != nil {
			return nil, err
		}
		w.drawer = draw.NewDrawer(o.Pool, o.Key)
	}
	return w, nil
}

// Usage is what the model has done for the writer.
func (w *Writer) Usage() lm.Usage { return w.usage }

// Picking is how long the writer has aggregated scores and drawn noise, of all its time.
// It is for measurements: like [Writer.Usage] it depends on who was drawn.
func (w *Writer) Picking() time.Duration { return w.picking }

// Write writes the jobs' texts and hands each to done as soon as it is complete, which
// may be in another order than that of the jobs. After an error, texts that were not
// handed over are not released; writing them again with the same key, on a model that
// is deterministic, gives the same.
func (w *Writer) Write(ctx context.Context, jobs []Job, done func(Job, seal.Output) error) error {
	methods, err := w.methods(jobs)
	if err != nil {
		return err
	}
	l, err := w.begin(ctx)
	if err != nil {
		return err
	}
	err = l.run(ctx, jobs, methods, done)
	w.usage = w.usage.Plus(l.session.Usage())
	if closing := l.session.Close(); err == nil {
		err = closing
	}
	return err
}

// methods returns the methods of jobs, as the writer alone holds them.
func (w *Writer) methods(jobs []Job) ([]Method, error) {
	out := make([]Method, len(jobs))
	for i, job := range jobs {
		m, err := genuine(job.Method)
		if err != nil {
			return nil, err
		}
		if err := m.Check(); err != nil {
			return nil, err
		}
		if _, real := m.(*Real); real && w.Answering {
			return nil, fmt.Errorf("records as they are answer no question: choose another method")
		}
		out[i] = m
	}
	return out, nil
}

// release makes a text of some of the chosen tokens. What it does is post-processing.
func (w *Writer) release(ctx context.Context, t *text, tokens []lm.Token) (seal.Output, error) {
	text, err := w.tokenizer.Decode(ctx, tokens)
	if err != nil {
		return seal.Output{}, fmt.Errorf("spell the text: %w", err)
	}
	return seal.Release(w.tidy(text), len(t.tokens), TextEvent(t.method, w.Tokens)), nil
}

// tidy cuts a text at the first stop string or field, and makes its white space even.
func (w *Writer) tidy(text string) string {
	text, _ = w.cut(strings.ToValidUTF8(text, ""))
	return strings.TrimSpace(w.line(text))
}

// layout returns the layout of prompts.
func (w *Writer) layout() Layout { return Layout{w.task, w.tokenizer, w.Answering} }

func (w *Writer) line(text string) string { return w.layout().Line(text) }
