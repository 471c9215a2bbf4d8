package sotto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/pool"
	"github.com/sotto-dp/sotto/internal/rows/convert"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/schema"
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

// Synthesize writes synthetic examples. Errors: *[InputError] for a request that cannot be
// met, *[ledger.RefusedError] if the budget does not allow it (nothing is charged),
// *[InterruptedError] for a run that can continue by the same call.
func (c *Client) Synthesize(ctx context.Context, o SynthesizeOptions) (*Run, error) {
	return c.synthesize(ctx, o, o.Request.internal())
}

// Choose has the records choose a prompt: [Client.Synthesize] with the method "choose".
func (c *Client) Choose(ctx context.Context, o SynthesizeOptions) (*Run, error) {
	return c.synthesize(ctx, o, o.Request.internal().By(plan.Chooses))
}

// Learn makes a private classifier of texts, for a task with a closed list of labels: [Client.Synthesize] with
// the method "learn". All of ε is for adding the records up, but what [LearnRequest] keeps for measuring.
// No language model takes part, and none is opened.
func (c *Client) Learn(ctx context.Context, o SynthesizeOptions) (*Run, error) {
	return c.synthesize(ctx, o, o.Request.internal().By(plan.Learns))
}

func (c *Client) synthesize(ctx context.Context, o SynthesizeOptions, request plan.Request) (result *Run, err error) {
	s := &synthesis{options: o, request: request, call: c.call(o.Use)}
	defer func() { err = errors.Join(err, s.call.close()) }()
	for _, step := range []func(context.Context) error{s.precheck, s.invent, s.encode, s.suit, s.settle, s.open} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	carried := run.Options{Env: s.call.environment(), Dir: o.Out, Plan: s.plan, Data: s.call.data, PassTokens: o.PassTokens}
	if !s.plan.Learns() { // else no model is there
		variations := &pool.Variations{Task: s.plan.Task, Time: o.Pool.Time, Open: func(ctx context.Context) (lm.Model, func(), error) {
			return s.author(ctx, o.Pool.Time, "texts like those that were chosen: it sees these and the task")
		}}
		defer variations.Close()
		carried.Parallel, carried.Vary, carried.Repeats = s.parallel(), variations.After, s.repeats()
	}
	done, err := run.Do(ctx, carried)
	if err != nil {
		return nil, err
	}
	return &Run{Result: Result(*done), Plan: s.plan}, nil
}

// synthesis is a call of Synthesize.
type synthesis struct {
	options SynthesizeOptions
	call    *call
	// request as the steps complete it.
	request plan.Request
	plan    Plan
	// hosted is how long another model wrote.
	hosted time.Duration
}

// newPlan makes the plan of a request, or takes the one that was given, and finds what is missing to carry it out.
func (s *synthesis) newPlan(request plan.Request) (Plan, error) {
	p, err := planned(s.options.Plan, request, plan.New)
	if err != nil {
		return p, err
	}
	if err := allowed(s.options.Use, p.Private(), p.Claim(), p.Method()); err != nil {
		return p, err
	}
	switch {
	case s.options.Out == "":
		return p, wrong("a folder to write to is missing")
	case p.Reads() && s.options.Source.Location == "":
		return p, wrong("the data is missing: a file of records, or a database")
	case p.Choose != nil && p.Choose.Vary > 0 && !s.options.Pool.hosted() && s.call.client.served():
		return p, wrong("texts like the winner's are written by a model in this process, or by one that is named for the pool: a server that scores records is asked nothing else meanwhile")
	}
	return p, nil
}

// invents reports whether a model makes up what prompts are built from, before anything is planned.
func (s *synthesis) invents() bool {
	return s.options.Plan == nil && (s.options.Pool.hosted() || s.options.Pool.wordings() > 0)
}

// precheck finds what would end the run later, so that no server works in vain: one that writes the pool, or one that
// scores records. A run that continues was charged.
func (s *synthesis) precheck(ctx context.Context) error {
	if s.invents() {
		if err := s.inventable(); err != nil {
			return err
		}
	} else if s.options.Plan != nil || s.request.Choosing == nil || !s.call.client.remote() || s.options.Approval != nil {
		return nil
	}
	if begun, ok := planOf(s.options.Out); ok && (!s.invents() || begun.Choose != nil && begun.Choose.Made != nil) {
		return nil
	}
	r := s.request.Provisional()
	if s.options.Pool.hosted() {
		r = r.Authored()
	}
	p, err := s.newPlan(r)
	if err != nil {
		return err
	}
	if s.call.client.remote() && !s.call.client.spec.Trusted {
		return &backend.UntrustedError{}
	}
	if local := !strings.Contains(s.options.Source.Location, ":"); local {
		path, _ := convert.Split(s.options.Source.Location)
		if _, err := os.Stat(path); err != nil {
			return wrong("the data: %v", err)
		}
	}
	if !p.Private() || !p.Reads() || s.options.Seed != nil {
		return nil
	}
	// What is opened here is used by the run: records are read once.
	if err := s.call.findLedger(ctx); err != nil || s.call.ledger == nil {
		return err
	}
	if err := s.call.openData(ctx, s.options.Source, p.Task, p.Unit, !p.WritesFromRecords()); err != nil {
		return err
	}
	return s.checkBudget(ctx, r)
}

// checkBudget finds a budget that the run will not fit into. The plan is not made yet, and costs a little less or more:
// what is asked for is a little less.
func (s *synthesis) checkBudget(ctx context.Context, r plan.Request) error {
	const less = 0.95
	r.Epsilon *= less
	p, err := s.newPlan(r)
	if err != nil {
		return nil // the run says why
	}
	sum := s.call.data.Fingerprint()
	id, err := ledger.NewFingerprint(sum[:])
	if err != nil {
		return err
	}
	by := &account.Account{Ledger: s.call.ledger, Dataset: id, Adjacency: p.Adjacency, Unit: p.Unit, Labels: s.options.Labels}
	err = s.call.ledger.CanReserve(ctx, by.Request(account.Use{Event: p.Event()}), 1)
	if _, refused := errors.AsType[*ledger.RefusedError](err); refused {
		return by.Explain(ctx, err)
	}
	return nil // data that is new, or saved anew, is found out about by the run
}

// inventable finds what is missing before a model is asked.
func (s *synthesis) inventable() error {
	c, hosted := s.request.Choosing, s.options.Pool.hosted()
	switch {
	case s.options.Approval != nil:
		return wrong("a plan that is approved before it is carried out cannot depend on what a model makes up first: leave out the pool's model and other wordings")
	case c == nil:
		return wrong("a model that makes up what prompts are built from is for records that choose")
	case s.options.Pool.Texts < 0:
		return wrong("a model is asked for %d texts: it should be a positive number", s.options.Pool.Texts)
	case hosted && s.request.Discover:
		return wrong("a model that sees no record is asked for texts before labels are discovered: give a public list of labels, or leave the model out")
	case hosted && len(c.Sets) > 0 && c.Rounds < 2:
		return wrong("ready-made sets are chosen from in one round, in which a model's texts have no part: ask for more rounds, or leave one out")
	case s.options.Out == "":
		return wrong("a folder to write to is missing")
	case s.options.Source.Location == "":
		return wrong("the data is missing: a file of records, or a database")
	}
	return nil
}

// minAuthorTime is how long a model may take that writes, however short the run is.
const minAuthorTime = time.Minute

// invent has what prompts are built from made up, before anything is planned: a model that
// fails costs nothing. A run that continues has what it began with, and nobody is asked again.
func (s *synthesis) invent(ctx context.Context) error {
	if !s.invents() || s.request.Choosing.Made != nil {
		return nil
	}
	p := s.options.Pool
	own := *s.request.Choosing
	s.request.Choosing = &own
	if begun, ok := planOf(s.options.Out); ok && begun.Choose != nil && begun.Choose.Made != nil {
		own.Made = begun.Choose.Made
		if p.remote() && p.Model.Model != "" && p.Model.Model != own.Made.Model {
			return &FolderError{Dir: s.options.Out, Reason: fmt.Sprintf("it holds a run whose texts are by %s: name that model, or choose another folder for another run", own.Made.Model)}
		}
		return nil
	}
	limit := p.Time
	if limit <= 0 { // it is part of the run, and has the time of it
		limit = max(cmp.Or(max(s.options.Time, 0), plan.DefaultTime), minAuthorTime)
	}
	began := time.Now()
	author, closing, err := s.author(ctx, limit, "texts to choose from: it sees the task")
	if err != nil {
		return err
	}
	defer closing()
	own.Made, err = s.made(ctx, author, limit)
	s.hosted = time.Since(began)
	return err
}

// author is the model that writes what is said, and what closes it: nothing of it is kept.
func (s *synthesis) author(ctx context.Context, limit time.Duration, what string) (lm.Model, func(), error) {
	p := s.options.Pool
	switch {
	case p.Author != nil:
		return p.Author, func() {}, nil
	case p.Model == nil:
		if err := s.call.openModel(ctx, true); err != nil {
			return nil, nil, err
		}
		return s.call.model.Public(), func() {}, nil
	case p.remote():
		s.call.note("%s is asked for %s, and no record", backend.Address(p.Model.URL), what)
	}
	m, err := pool.Open(ctx, *p.Model, limit)
	if err != nil {
		return nil, nil, err
	}
	return m, func() { _ = m.Close() }, nil
}

// made asks for texts and wordings. Its arguments hold no record.
func (s *synthesis) made(ctx context.Context, by lm.Model, limit time.Duration) (*plan.PoolContent, error) {
	p := s.options.Pool
	out := &plan.PoolContent{Model: pool.NameOf(by.Info())}
	a := &pool.Author{Model: by, Task: s.request.Task, Conditions: s.request.Conditions, Time: limit}
	if p.hosted() {
		n := cmp.Or(p.Texts, s.request.Choosing.Pool, max(plan.OwnPool, 3*len(s.request.Task.Labels)))
		list, tally, err := a.Examples(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("nothing is charged: %w", err)
		}
		out.Examples = list
		s.call.note("%s wrote texts to choose from: %s", out.Model, tally.String())
	}
	if n := p.wordings(); n > 0 && a.Task.WithDefaults().Answer.Instruction != "" {
		list, tally, err := a.Rewordings(ctx, n)
		var poor *pool.Error
		switch {
		case errors.As(err, &poor) && p.hosted() && ctx.Err() == nil: // texts are there
			s.call.note("%s gave no other wordings of the instruction: %s", out.Model, tally.String())
		case err != nil:
			return nil, err
		default:
			out.Instructions = list
			s.call.note("%s worded the instruction otherwise: %s", out.Model, tally.String())
		}
	}
	return out, nil
}

// repeats reports whether the author of variations writes the same for the same.
func (s *synthesis) repeats() bool {
	info := s.call.model.Info()
	return !s.options.Pool.hosted() && // of another it is not known before it is asked
		info.Deterministic && info.BatchInvariant
}

// encode opens the encoder where records are added up as evidence, and names it in the request. A run that
// continues is without evidence if it began so.
func (s *synthesis) encode(ctx context.Context) (err error) {
	if p := s.options.Plan; p != nil {
		if c := p.Choose; p.Evidence == nil && (c == nil || c.Nearest == nil) {
			return nil
		}
		var of *schema.Schema
		if p.Evidence != nil {
			of = p.Evidence.Schema
		}
		return s.call.openEncoder(of)
	}
	begun, ok := planOf(s.options.Out)
	if !ok {
		begun, ok = s.options.Approval.approved()
	}
	if c := s.request.Choosing; c != nil {
		own := *c
		s.request.Choosing = &own
		own.Schema = cmp.Or(c.Schema, s.options.Source.Schema)
		if ok && begun.Choose != nil && begun.Evidence == nil && c.Evidence == 0 {
			own.Evidence = -1
		}
	}
	if l := s.request.Learning; l != nil {
		own := *l
		own.Schema = cmp.Or(l.Schema, s.options.Source.Schema)
		s.request.Learning = &own
	}
	s.request, err = s.call.withEncoder(ctx, s.request, nil)
	return err
}

// suit makes the request fit the model: prompts are judged in the form that it is asked in, and the time
// of the run is turned into work. A run that continues has all that as it began: the speed of a machine is
// never the same twice.
func (s *synthesis) suit(ctx context.Context) error {
	if s.options.Plan != nil || s.request.Choosing == nil {
		return nil
	}
	own := *s.request.Choosing
	s.request.Choosing = &own
	if begun, ok := planOf(s.options.Out); ok && begun.Choose != nil {
		own.Work = cmp.Or(own.Work, begun.Choose.Work)
		own.Form = cmp.Or(own.Form, begun.Choose.Form.Name())
		own.Pool = cmp.Or(own.Pool, begun.Shots)
		return nil
	}
	if approved, ok := s.options.Approval.approved(); ok && approved.Choose != nil {
		// How fast the model was then is approved too; in which form it is asked is seen again.
		own.Work = cmp.Or(own.Work, approved.Choose.Work)
		own.Pool = cmp.Or(own.Pool, approved.Shots)
	}
	if own.Form != "" && own.Work != 0 {
		return nil
	}
	if err := s.call.openModel(ctx, true); err != nil {
		return err
	}
	s.request = s.request.For(s.call.model.Info())
	if own.Work != 0 {
		return nil
	}
	speed, err := plan.Measure(ctx, s.call.model.Public())
	if err != nil {
		return fmt.Errorf("measure the model: %w", err)
	}
	if s.call.encoder.Valid() {
		if speed.Encode, err = plan.MeasureEncoder(ctx, s.call.encoder); err != nil {
			return fmt.Errorf("measure the encoder: %w", err)
		}
	}
	shape, err := shapeOf(ctx, s.call.model.Tokenizer(), s.request)
	if err != nil {
		return err
	}
	s.request, err = s.request.Within(s.left(), shape, speed)
	return err
}

// left is what there is of the time once another model has written, and half of it in any case. How long that took is
// public: it saw no record. How long reading the records takes is not, and does not count: the plan is released.
func (s *synthesis) left() time.Duration {
	whole := cmp.Or(max(s.options.Time, 0), plan.DefaultTime)
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

// settle makes the plan, and holds it against the one that was approved.
func (s *synthesis) settle(context.Context) (err error) {
	if s.plan, err = s.newPlan(s.request); err != nil {
		return err
	}
	s.call.base.Texts, s.call.base.MaxTokens = s.plan.Texts(), s.plan.Tokens
	return s.options.Approval.Check(s.plan, s.plan.Event())
}

// open opens what the plan needs.
func (s *synthesis) open(ctx context.Context) error {
	opens := s.call.openRun
	if s.plan.Learns() {
		opens = s.call.openRecords
	}
	return opens(ctx, s.options.Source, s.plan.Task, s.plan.Unit, !s.plan.WritesFromRecords(), s.plan.Reads(), s.plan.Private() && s.options.Seed == nil)
}

// parallel is how many texts to write at once.
func (s *synthesis) parallel() int {
	switch {
	case s.options.Parallel > 0:
		return s.options.Parallel
	case !s.call.model.Info().Deterministic:
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
