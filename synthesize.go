package sotto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/schema"
	"github.com/sotto-dp/sotto/sys/bounded"
)

// SynthesizeOptions say what to write, from what, and where to.
type SynthesizeOptions struct {
	Use
	// Request is what is asked for; its Task is required, and Epsilon and Size for methods with a guarantee.
	Request Request
	// Plan is used instead of the Request if it is set: one plan serves many runs.
	Plan *Plan
	// Source of the private records. Required for methods that read them.
	Source Source
	// Out is the folder of the run. An unfinished run of the same request continues.
	// Required.
	Out string
	// Parallel is how many texts are written at once. Default: 4 where a text keeps its
	// draw, since larger steps use the machine better; 1 where each token reads a draw of
	// its own, or where the model does not repeat itself and lost texts cost again.
	Parallel int
	// PassTokens is about how many tokens of records' questions go through the model at once
	// where they choose. Default 2048, which suits a processor; a GPU wants more.
	PassTokens int
	// Time is about how long the run may take in which records choose: writing what they choose
	// from, all rounds, and measuring. The model's speed is measured, and how much is done follows
	// from it, unless the request says how much Work that may be. Default: [plan.DefaultTime], five
	// minutes.
	Time time.Duration
	// Pool says who else makes up what prompts are built from, where records choose.
	Pool Pool
}

// Run is a finished one.
type Run struct {
	Result
	// Plan that was carried out.
	Plan Plan
}

// Synthesize writes synthetic examples. Errors: *[InputError] for a request that cannot be
// met, *[ledger.RefusedError] if the budget does not allow it (nothing is charged),
// *[InterruptedError] for a run that can continue by the same call.
func (c *Client) Synthesize(ctx context.Context, o SynthesizeOptions) (*Run, error) {
	return c.synthesize(ctx, o, o.Request.internal())
}

func (c *Client) synthesize(ctx context.Context, o SynthesizeOptions, request plan.Request) (result *Run, err error) {
	s := &synthesis{SynthesizeOptions: o, request: request, call: c.call(o.Use)}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, step := range []func(context.Context) error{s.afford, s.invent, s.encode, s.suit, s.settle, s.open} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	carried := run.Options{Environment: s.environment(), Dir: o.Out, Plan: s.plan, Data: s.data, PassTokens: o.PassTokens}
	if !s.plan.Learns() { // else no model is there
		author := &varying{synthesis: s, task: s.plan.Task, own: s.model.Public()}
		defer author.close()
		carried.Parallel, carried.Vary, carried.Repeats = s.parallel(), author.vary, author.repeats()
	}
	done, err := run.Do(ctx, carried)
	if err != nil {
		return nil, err
	}
	return &Run{Result: Result(*done), Plan: s.plan}, nil
}

// Choose has the records choose a prompt: [Client.Synthesize] with the method "choose".
func (c *Client) Choose(ctx context.Context, o SynthesizeOptions) (*Run, error) {
	return c.synthesize(ctx, o, o.Request.internal().By(plan.Chooses))
}

// Learn makes a private classifier of texts, for a task with a closed list of labels: [Client.Synthesize] with
// the method "learn". All of ε is for adding the records up, but what [Learning] keeps for measuring.
// No language model takes part, and none is opened.
func (c *Client) Learn(ctx context.Context, o SynthesizeOptions) (*Run, error) {
	return c.synthesize(ctx, o, o.Request.internal().By(plan.Learns))
}

// synthesis is a call of Synthesize.
type synthesis struct {
	SynthesizeOptions
	*call
	// request as the steps complete it.
	request plan.Request
	plan    Plan
	// hosted is how long another model wrote, and rested that what would end the run later was looked for.
	hosted time.Duration
	rested bool
}

// encode opens the encoder where records are added up as evidence, and names it in the request. A run that
// continues is without evidence if it began so.
func (s *synthesis) encode(ctx context.Context) (err error) {
	if s.Plan != nil {
		if c := s.Plan.Choose; s.Plan.Evidence == nil && (c == nil || c.Nearest == nil) {
			return nil
		}
		var of *schema.Schema
		if s.Plan.Evidence != nil {
			of = s.Plan.Evidence.Schema
		}
		return s.openEncoder(of)
	}
	begun, ok := planOf(s.Out)
	if !ok {
		begun, ok = s.Approval.approved()
	}
	if ok && begun.Choose != nil && begun.Evidence == nil && s.request.Choosing != nil && s.request.Choosing.Evidence == 0 {
		own := *s.request.Choosing
		own.Evidence = -1
		s.request.Choosing = &own
	}
	if asked := s.request.Choosing; asked != nil && asked.Schema == nil {
		own := *asked
		own.Schema, s.request.Choosing = s.Source.Schema, &own
	}
	if asked := s.request.Learning; asked != nil && asked.Schema == nil {
		own := *asked
		own.Schema, s.request.Learning = s.Source.Schema, &own
	}
	s.request, err = s.withEncoder(ctx, s.request, nil)
	return err
}

// suit makes the request fit the model: prompts are judged in the form that it is asked in, and the time
// of the run is turned into work. A run that continues has all that as it began: the speed of a machine is
// never the same twice.
func (s *synthesis) suit(ctx context.Context) error {
	c := s.request.Choosing
	if s.Plan != nil || c == nil {
		return nil
	}
	own := *c
	s.request.Choosing = &own
	if begun, ok := planOf(s.Out); ok && begun.Choose != nil {
		own.Work = cmp.Or(own.Work, begun.Choose.Work)
		own.Form = cmp.Or(own.Form, begun.Choose.Form.Name())
		own.Pool = cmp.Or(own.Pool, begun.Shots)
		return nil
	}
	if approved, ok := s.Approval.approved(); ok && approved.Choose != nil {
		// How fast the model was then is approved too; in which form it is asked is seen again.
		own.Work = cmp.Or(own.Work, approved.Choose.Work)
		own.Pool = cmp.Or(own.Pool, approved.Shots)
	}
	if own.Form != "" && own.Work != 0 {
		return nil
	}
	if err := s.openModel(ctx, true); err != nil {
		return err
	}
	s.request = s.request.For(s.model.Info())
	if own.Work != 0 {
		return nil
	}
	speed, err := plan.Measure(ctx, s.model.Public())
	if err != nil {
		return fmt.Errorf("measure the model: %w", err)
	}
	if s.encoder.Valid() {
		if speed.Encode, err = plan.MeasureEncoder(ctx, s.encoder); err != nil {
			return fmt.Errorf("measure the encoder: %w", err)
		}
	}
	shape, err := shapeOf(ctx, s.model.Tokenizer(), s.request)
	if err != nil {
		return err
	}
	s.request, err = s.request.Within(s.left(), shape, speed)
	return err
}

// left is what there is of the time once another model has written, and half of it in any case. How long that took is
// public: it saw no record. How long reading the records takes is not, and does not count: the plan is released.
func (s *synthesis) left() time.Duration {
	whole := cmp.Or(max(s.Time, 0), plan.DefaultTime)
	return max(whole-s.hosted, whole/2)
}

// planOf reads the plan of a run's folder, if there is one.
func planOf(dir string) (p Plan, ok bool) {
	data, err := bounded.ReadFile(filepath.Join(dir, "plan.json"), bounded.Huge)
	if err != nil || bounded.UnmarshalJSON(data, bounded.Huge, &p) != nil {
		return Plan{}, false
	}
	return p, true
}

// settle makes the plan, and finds what is missing before anything is opened.
func (s *synthesis) settle(context.Context) (err error) {
	if s.plan, err = planned(s.Plan, s.request, plan.New); err != nil {
		return err
	}
	s.base.Texts, s.base.MaxTokens = s.plan.Texts(), s.plan.Tokens
	if err := s.check(s.plan); err != nil {
		return err
	}
	return s.Approval.Check(s.plan, s.plan.Event())
}

// planned returns a plan that was given, or makes it.
func planned[P interface{ Check() error }, R any](given *P, request R, plans func(R) (P, error)) (P, error) {
	if given == nil {
		return plans(request)
	}
	if err := (*given).Check(); err != nil {
		return *given, wrong("the plan cannot be carried out: %v", err)
	}
	return *given, nil
}

// check finds what is missing before anything is opened.
func (s *synthesis) check(p Plan) error {
	if err := allowed(s.Use, p.Private(), p.Claim(), p.Method()); err != nil {
		return err
	}
	switch {
	case s.Out == "":
		return wrong("a folder to write to is missing")
	case p.Reads() && s.Source.Location == "":
		return wrong("the data is missing: a file of records, or a database")
	case p.Choose != nil && p.Choose.Vary > 0 && !s.Pool.hosted() && s.client.served():
		return wrong("texts like the winner's are written by a model in this process, or by one that is named for the pool: a server that scores records is asked nothing else meanwhile")
	}
	return nil
}

// allowed refuses methods without a proof, unless they are allowed explicitly.
func allowed(u Use, private bool, claim, method string) error {
	switch {
	case u.NonPrivate:
		return nil
	case claim != "":
		return wrongAbout("NonPrivate", "%s; it is for comparisons, and has to be allowed explicitly", claim)
	case !private:
		return wrongAbout("NonPrivate", "the method %s has no privacy guarantee: it is for comparisons, and has to be allowed explicitly", method)
	}
	return nil
}

// open opens what the plan needs.
func (s *synthesis) open(ctx context.Context) error {
	opens := s.openRun
	if s.plan.Learns() {
		opens = s.openRecords
	}
	return opens(ctx, s.Source, s.plan.Task, s.plan.Unit, !s.plan.WritesFromRecords(), s.plan.Reads(), s.plan.Private() && s.Seed == nil)
}

// parallel is how many texts to write at once.
func (s *synthesis) parallel() int {
	switch {
	case s.Parallel > 0:
		return s.Parallel
	case !s.model.Info().Deterministic:
		return 1
	case !s.plan.WritesFromRecords():
		return plan.OwnAtOnce
	}
	for _, part := range s.plan.Parts {
		if part.Method.Scheme().Per == scheme.PerToken {
			return 1
		}
	}
	return 4
}
