package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// Records opens private records for answers. All its fields are required.
type Records struct {
	// Client charges, with the model that sees records.
	Client *sotto.Client
	Model  lm.TrustedScorer
	// Source finds out where the records of a route are.
	Source func(task string, spec store.AnswerSpec) (sotto.Source, error)
	// Encoder opens the one of sentences, in this process, for all routes that need it.
	Encoder func() (lm.TrustedEmbedder, error)
	// Turns are those of the model, for all that use it.
	Turns *gateway.Turns
}

// online answers the questions of a route from private records.
type privateRoute struct {
	route   string
	records *Records
	answers *sotto.AnswerSession
	// allow counts an answer of a client; back takes it back if nothing was charged.
	allow func(ctx context.Context, who string) (back func(), err error)
	log   *slog.Logger

	mu     sync.Mutex
	closed bool
	using  sync.WaitGroup
}

// online opens the records of a route, and computes what an answer costs.
func (b *Builder) online(ctx context.Context, r store.Route) (*gateway.Private, *gateway.Price, error) {
	spec := r.Spec.Answers
	var p plan.Answers
	if err := json.Unmarshal(spec.Plan, &p); err != nil {
		return nil, nil, fmt.Errorf("its plan cannot be read: %w", err)
	}
	if !p.Private() {
		return nil, nil, errors.New("its plan has no privacy guarantee, and everybody with a key could ask: use a method with a guarantee")
	}
	one, err := p.Total(1)
	if err != nil {
		return nil, nil, fmt.Errorf("compute ε of an answer: %w", err)
	}
	records, err := b.Records(ctx)
	if err != nil {
		return nil, nil, err
	}
	from, err := records.Source(r.Spec.Task, *spec)
	if err != nil {
		return nil, nil, err
	}
	o := &privateRoute{route: r.Name, records: records, allow: b.allow, log: b.Log}
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	options := sotto.AnswerOptions{
		// By the label, an owner can give the route a budget of its own.
		Use: sotto.Use{Dataset: spec.Dataset, Labels: map[string]string{"route": r.Name}}, Plan: &p, Source: from, Hold: gateway.Hold,
	}
	if options.Encoder, err = records.encoderOf(p); err != nil {
		return nil, nil, err
	}
	private := &gateway.Private{Answerer: o, Turns: records.Turns, Pace: spec.Pace, Until: b.life}
	if load := newLoad(records.Model, options.Encoder); load != nil {
		private.Occupy = load.occupy
		if options.Encoder.Valid() {
			options.Encoder = options.Encoder.Within(load.instead)
		}
	}
	if o.answers, err = records.Client.Answers(ctx, options); err != nil {
		return nil, nil, err
	}
	price := &gateway.Price{Epsilon: max(p.Epsilon, one.Upper), Delta: p.Delta, Answers: p.Answers, One: one.Upper}
	return private, price, nil
}

// encoderOf is the encoder of this process, if the answers of a plan need one.
func (r *Records) encoderOf(p plan.Answers) (lm.TrustedEmbedder, error) {
	if spec, _ := method.Lookup(p.Method()); !spec.Encodes {
		return lm.TrustedEmbedder{}, nil
	}
	return r.Encoder()
}

// Answer implements [gateway.Answerer].
func (o *privateRoute) Answer(ctx context.Context, who, question string) (*gateway.PrivateAnswer, error) {
	if !o.begin() {
		return nil, gateway.Unavailable("this model was changed a moment ago: try again")
	}
	defer o.using.Done()
	asked, err := o.records.Model.Tokenizer().Encode(ctx, question)
	if err != nil {
		return nil, err
	}
	back := func() {}
	if o.allow != nil {
		if back, err = o.allow(ctx, who); err != nil {
			return nil, err
		}
	}
	a, err := o.answers.Answer(ctx, question, nil)
	if err != nil {
		return nil, o.explain(err, back)
	}
	for _, w := range a.Warnings {
		o.log.Warn(w, "route", o.route)
	}
	said := &gateway.PrivateAnswer{Text: a.Text, Asked: len(asked), Tokens: a.Steps, Full: a.Steps >= o.answers.Plan.Tokens, Charge: string(a.Charge), Paid: a.InSeries}
	if a.Limit > 0 { // else the ledger could not be read
		said.Spent, said.Left, said.Delta = a.Spent, &a.Left, a.Delta
	}
	return said, nil
}

// explain makes of an error what a client may be told, and takes the count back if nothing was
// charged.
func (o *privateRoute) explain(err error, back func()) error {
	if charged := (*sotto.ChargedError)(nil); errors.As(err, &charged) {
		// The cause may depend on who was drawn.
		id := ""
		if len(charged.Charges) > 0 {
			id = string(charged.Charges[0])
		}
		o.log.Error("an answer was charged and not given", "route", o.route, "charge", id)
		return gateway.Charged(id)
	}
	back()
	var wrong *sotto.InputError
	switch {
	case errors.Is(err, ledger.ErrBudget):
		return gateway.Budget("privacy_budget_exhausted", "the privacy budget of the data does not allow another answer, and nothing was read: its owner can grant more (sotto ledger grant)")
	case errors.As(err, &wrong):
		return gateway.Invalid(wrong.Reason)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	o.log.Error("a question cannot be asked; nothing was charged", "route", o.route, "error", err.Error())
	return gateway.Unavailable("private answers are not available now, and nothing was charged: anyone who runs this finds the reason in its log")
}

// begin notes that somebody asks.
func (o *privateRoute) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.using.Add(1)
	}
	return !o.closed
}

// Close closes the records when nobody asks any more.
func (o *privateRoute) Close() error {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.using.Wait()
	return o.answers.Close()
}

// grace is how long a version that was replaced can still be asked, by requests that found it
// a moment before.
const grace = 30 * time.Second

// retire closes what a route has open, once no request can have it any more.
func (b *Builder) retire(r *gateway.Route) {
	var closing []func() error
	if r.Judged != nil {
		closing = append(closing, r.Judged.Close)
	}
	if r.Private != nil {
		if c, is := r.Private.Answerer.(io.Closer); is {
			closing = append(closing, c.Close)
		}
	}
	if local, is := r.Upstream.(*gateway.Local); is && r.Shots != nil {
		closing = append(closing, func() error { return local.Forget(r.Shots) })
	}
	if len(closing) == 0 {
		return
	}
	b.retiring.Go(func() {
		defer fault.Watch()
		select {
		case <-time.After(grace):
		case <-b.ending():
		}
		for _, end := range closing {
			if err := end(); err != nil && b.Log != nil {
				b.Log.Error("what a route has open cannot be closed", "route", r.Name, "error", err.Error())
			}
		}
	})
}
