package ensemble

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Job is a question to answer.
type Job struct {
	draw.Text
	// Input is the question: public.
	Input string
	// Method with its settings.
	Method Method
}

// Options of an [Answerer].
type Options struct {
	// Model, Task, Pool and Key are required.
	Model lm.TrustedScorer
	Task  prompt.Task
	Pool  draw.Pool
	Key   noise.Key
	// Encoder is required by the method embedding.
	Encoder lm.TrustedEmbedder
	// Tokens that a written answer has at most; 0 takes the task's limit.
	Tokens int
	// PassTokens is about how many tokens of prompts go through the model at once, and
	// bounds memory. Default 8192.
	PassTokens int
	// Observe, if set, receives the progress: in numbers, never in content. It may be
	// called by several goroutines.
	Observe func(Progress)
}

// Progress counts what was done so far.
type Progress struct {
	// Text is the index of the answer; Ended: it is complete.
	Text  uint64
	Ended bool
	// Usage of the model since the answerer was made.
	Usage lm.Usage
}

// Answerer answers questions. It may be used by several goroutines at once; an answer
// depends on its job, the key and the data alone where the model is batch-invariant.
type Answerer struct {
	Options
	tokenizer lm.Tokenizer
	ends      map[lm.Token]bool
	layout    decode.Layout

	mu     sync.Mutex // guards drawer and usage
	drawer *draw.Drawer
	usage  lm.Usage
}

const defaultPass = 8192

// NewAnswerer checks the options.
func NewAnswerer(o Options) (*Answerer, error) {
	if !o.Model.Valid() {
		return nil, fmt.Errorf("records may only be shown to a trusted model, and there is none")
	}
	if o.Pool == nil {
		return nil, fmt.Errorf("there are no records to draw from")
	}
	if err := draw.Genuine(o.Pool); err != nil {
		return nil, err
	}
	o.Task = o.Task.WithDefaults()
	o.Tokens, o.PassTokens = cmp.Or(o.Tokens, o.Task.Limits.AnswerTokens), cmp.Or(o.PassTokens, defaultPass)
	if o.Tokens < 1 || o.PassTokens < 1 {
		return nil, fmt.Errorf("an answer has at least one token, and so has a pass, not %d and %d", o.Tokens, o.PassTokens)
	}
	a := &Answerer{Options: o, tokenizer: o.Model.Tokenizer(), ends: map[lm.Token]bool{}, drawer: draw.NewDrawer(o.Pool, o.Key)}
	a.layout = decode.Layout{Task: o.Task, Tokenizer: a.tokenizer, Answering: true}
	for _, t := range a.tokenizer.Ends() {
		a.ends[t] = true
	}
	return a, nil
}

// Usage is what the model has done for the answerer.
func (a *Answerer) Usage() lm.Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.usage
}

// Answer answers one question. After an error nothing is released.
func (a *Answerer) Answer(ctx context.Context, job Job) (seal.Output, error) {
	if job.Method == nil {
		return seal.Output{}, fmt.Errorf("a question needs a method to be answered by")
	}
	var err error
	if job.Method, err = genuine(job.Method); err != nil {
		return seal.Output{}, err
	}
	if err := job.Method.Check(); err != nil {
		return seal.Output{}, err
	}
	if err := job.Method.Serves(a.Task); err != nil {
		return seal.Output{}, err
	}
	r, err := a.begin(ctx, job)
	if err != nil {
		return seal.Output{}, err
	}
	out, err := job.Method.answer(ctx, r)
	if closing := r.close(); err == nil {
		err = closing
	}
	if err != nil {
		return seal.Output{}, fmt.Errorf("%s: %w", job.Method.Name(), err)
	}
	return seal.ReleasePart(out.text, 1, job.Method.Event(), out.used), nil
}
