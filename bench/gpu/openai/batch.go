// Package openai serves a model over HTTP as OpenAI does, to programs that know nothing
// else, many requests at once.
//
// The one idea: all requests live in one session of the model. Each pass extends every text
// in the making by one token and reads the prompts that have come since; whoever is done
// leaves, and nobody waits for the slowest. What prompts have in common (the examples of a
// program that is tried on many questions) is computed once.
//
// It is for experiments on public data. Nothing here is private: prompts of different
// clients share what they begin with.
package openai

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sotto-dp/sotto/internal/fault"
	"github.com/sotto-dp/sotto/lm"
)

// Options of a batcher.
type Options struct {
	// Tokens that all texts in the making and what they share may hold together.
	// Default: 65536.
	Tokens int
}

// Batcher writes texts for many callers at once.
type Batcher struct {
	model   lm.Scorer
	session lm.Session
	room    int
	queue   chan *job
	ended   chan struct{}
	stop    context.CancelFunc
	finish  sync.Once

	// Only its own goroutine uses these.
	shared prefixes
	active []*job
	held   int // tokens that active ones may come to hold

	passes, requests, failures atomic.Int64
}

// job is a text in the making.
type job struct {
	ctx     context.Context
	prompt  []lm.Token
	options lm.GenerateOptions
	random  *rand.Rand

	sequence lm.Sequence
	next     []lm.Token
	written  []lm.Token
	text     lm.Text
	err      error
	done     chan struct{}
}

// most returns how many tokens a job may come to hold.
func (j *job) most() int { return len(j.prompt) + j.options.MaxTokens }

// New starts a batcher over a model, which stays the caller's to close.
func New(model lm.Scorer, o Options) (*Batcher, error) {
	ctx, stop := context.WithCancel(context.Background())
	session, err := model.Open(ctx)
	if err != nil {
		stop()
		return nil, err
	}
	if o.Tokens <= 0 {
		o.Tokens = 1 << 16
	}
	b := &Batcher{model: model, session: session, room: o.Tokens, queue: make(chan *job, 4096), ended: make(chan struct{}), stop: stop}
	b.shared = prefixes{session: session}
	go func() {
		defer fault.Watch()
		b.serve(ctx)
	}()
	return b, nil
}

// Close ends the texts in the making with [lm.ErrClosed].
func (b *Batcher) Close() error {
	var err error
	b.finish.Do(func() {
		b.stop()
		<-b.ended
		err = b.session.Close()
	})
	return err
}

// Load is what a batcher has done so far.
type Load struct {
	// Requests that came over HTTP, and how many of them were not answered with a text.
	Requests, Failures int64
	// Passes of the model.
	Passes int64
}

// Load reports what was done so far.
func (b *Batcher) Load() Load {
	return Load{Requests: b.requests.Load(), Failures: b.failures.Load(), Passes: b.passes.Load()}
}

// Write completes a prompt.
func (b *Batcher) Write(ctx context.Context, prompt []lm.Token, o lm.GenerateOptions) (lm.Text, error) {
	if err := o.Check(); err != nil {
		return lm.Text{}, err
	}
	limit := b.model.Info().Context
	switch {
	case len(prompt) == 0:
		return lm.Text{}, errors.New("the prompt is empty: give one")
	case len(prompt)+o.MaxTokens > limit:
		return lm.Text{}, &lm.ContextError{Have: len(prompt), Adding: o.MaxTokens, Limit: limit}
	case len(prompt)+o.MaxTokens > b.room:
		return lm.Text{}, fmt.Errorf("a text of %d tokens does not fit into the %d that there is room for: give more", len(prompt)+o.MaxTokens, b.room)
	}
	j := &job{ctx: ctx, prompt: prompt, options: o, random: rand.New(rand.NewPCG(o.Seed, 0)), done: make(chan struct{})}
	select {
	case b.queue <- j:
	case <-b.ended:
		return lm.Text{}, lm.ErrClosed
	}
	select {
	case <-j.done:
		return j.text, j.err
	case <-b.ended:
		return lm.Text{}, lm.ErrClosed
	}
}

// serve runs passes as long as there is something to write.
func (b *Batcher) serve(ctx context.Context) {
	defer close(b.ended)
	var waiting []*job
	for ctx.Err() == nil {
		if len(b.active)+len(waiting) == 0 {
			select {
			case j := <-b.queue:
				waiting = append(waiting, j)
			case <-ctx.Done():
				return
			}
		}
		for more := true; more; {
			select {
			case j := <-b.queue:
				waiting = append(waiting, j)
			default:
				more = false
			}
		}
		waiting = b.admit(ctx, waiting)
		b.pass(ctx)
	}
}

// admit lets those in that there is room for, in their order, and gives back the rest.
func (b *Batcher) admit(ctx context.Context, waiting []*job) []*job {
	var in []*job
	for len(waiting) > 0 {
		j := waiting[0]
		if j.err = j.ctx.Err(); j.err != nil {
			close(j.done)
			waiting = waiting[1:]
			continue
		}
		if b.held+j.most() > b.room {
			break
		}
		b.held += j.most()
		in, waiting = append(in, j), waiting[1:]
	}
	if len(in) == 0 {
		return waiting
	}
	prompts := make([][]lm.Token, len(in))
	for i, j := range in {
		prompts[i] = j.prompt
	}
	sequences, rest, err := b.shared.begin(ctx, prompts, b.room-b.held)
	if err != nil {
		for _, j := range in {
			b.leave(j, err)
		}
		return waiting
	}
	for i, j := range in {
		j.sequence, j.next = sequences[i], rest[i]
	}
	b.active = append(b.active, in...)
	return waiting
}

// leave answers a job.
func (b *Batcher) leave(j *job, err error) {
	b.held -= j.most()
	if j.sequence != 0 {
		err = errors.Join(err, b.session.Drop(j.sequence))
	}
	j.err = err
	close(j.done)
}

// pass extends all texts by a token.
func (b *Batcher) pass(ctx context.Context) {
	b.active = slices.DeleteFunc(b.active, func(j *job) bool {
		if err := j.ctx.Err(); err != nil {
			b.leave(j, err)
			return true
		}
		return false
	})
	if len(b.active) == 0 {
		return
	}
	steps := make([]lm.Step, len(b.active))
	for i, j := range b.active {
		ask := lm.Ask{All: true}
		if j.options.Temperature == 0 {
			ask = lm.Ask{Top: 1}
		}
		steps[i] = lm.Step{Sequence: j.sequence, Tokens: j.next, Ask: ask}
	}
	b.passes.Add(1)
	scores, err := b.session.Step(ctx, steps)
	var left []*job
	for i, j := range b.active {
		failed := err
		if failed == nil {
			failed = b.take(ctx, j, scores[i])
		}
		if failed != nil || j.text.Finish != "" {
			b.leave(j, failed)
			continue
		}
		left = append(left, j)
	}
	b.active = left
}

// take appends the next token of a text.
func (b *Batcher) take(ctx context.Context, j *job, s lm.Scores) error {
	token := pick(s, j.options.Temperature, j.random)
	j.written = append(j.written, token)
	j.next = []lm.Token{token}
	j.text.Tokens = len(j.written)
	if slices.Contains(b.model.Tokenizer().Ends(), token) {
		j.text.Finish = lm.FinishEnd
		return nil
	}
	text, err := b.model.Tokenizer().Decode(ctx, j.written)
	if err != nil {
		return err
	}
	j.text.Text = text
	for _, stop := range j.options.Stop {
		if at := strings.Index(j.text.Text, stop); at >= 0 {
			j.text.Text, j.text.Finish = j.text.Text[:at], lm.FinishStop
		}
	}
	if j.text.Finish == "" && len(j.written) == j.options.MaxTokens {
		j.text.Finish = lm.FinishLength
	}
	return nil
}

// pick takes the best token, or one at random by its probability.
func pick(s lm.Scores, temperature float64, random *rand.Rand) lm.Token {
	if temperature == 0 {
		return s.Tokens[0]
	}
	most := slices.Max(s.LogProbs)
	weights := make([]float64, len(s.LogProbs))
	var total float64
	for i, l := range s.LogProbs {
		weights[i] = math.Exp((l - most) / temperature)
		total += weights[i]
	}
	at := random.Float64() * total
	last := 0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		if last = i; at < w {
			break
		}
		at -= w
	}
	return lm.Token(last)
}
