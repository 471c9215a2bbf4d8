package sotto

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/answer"
	"github.com/sotto-dp/sotto/internal/env"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// AnswerOptions say what answers are made from, and who pays for them.
type AnswerOptions struct {
	// Request is what is asked for; its Task is required, and Epsilon and Size for methods
	// with a guarantee. Its Epsilon is for Request.Answers answers together. Plan is used
	// instead if it is set.
	Request plan.Request
	Plan    *plan.Answers
	Source  Source
	// Model to open; the zero value is the default one, embedded. Trusted is used instead
	// if it is set, and stays open. Encoder is opened where the method needs one, unless
	// it is set.
	Model   backend.Spec
	Trusted lm.Trusted
	Encoder lm.TrustedEmbedder
	// Ledger is the path of an SQLite file or a PostgreSQL URL. Required for methods with
	// a guarantee, unless seeded. NewLedger is as in [SynthesizeOptions].
	Ledger    string
	NewLedger bool
	// Dataset is how people call the data if the ledger does not know it yet, Labels
	// those of the charges.
	Dataset string
	Labels  map[string]string
	// NonPrivate allows methods without a guarantee.
	NonPrivate bool
	// Seed is for tests and simulations: what comes out is NOT PRIVATE.
	Seed *uint64
	// Parallel, Cut and Partial are as in [answer.Options]. Parallel is 4 by default where
	// an answer keeps its draw, and else 1.
	Parallel     int
	Cut, Partial bool
	// Observe, if set, is told how it goes.
	Observe func(Progress)
}

// ChargedError says that questions were charged and not answered.
type ChargedError = answer.ChargedError

// Answers is a session in which questions are answered.
type Answers struct {
	*answer.Session
	// Plan of an answer.
	Plan plan.Answers
	// Model is what people call it.
	Model string
	// Problems are records that were left out.
	Problems record.Problems

	encoder lm.TrustedEmbedder
	owned   bool // the encoder was opened here
	opened  opened
}

// OpenAnswers opens what questions are answered from. No record is read but to check and
// index them, and nothing is charged.
func OpenAnswers(ctx context.Context, o AnswerOptions) (_ *Answers, err error) {
	p, err := o.plan()
	if err != nil {
		return nil, err
	}
	if err := o.check(p); err != nil {
		return nil, err
	}
	a := &Answers{Plan: p, opened: opened{tell: o.notice}}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err := a.open(ctx, o); err != nil {
		return nil, err
	}
	a.Session, err = answer.Open(ctx, answer.Options{
		Environment: a.opened.environment(env.Environment{Dataset: o.Dataset, Labels: o.Labels, Seed: o.Seed, Observe: o.Observe}),
		Plan:        p, Data: a.opened.data, Encoder: a.encoder, Parallel: a.parallel(o.Parallel), Cut: o.Cut, Partial: o.Partial,
	})
	return a, err
}

// Answer answers one question. Errors are those of [answer.Session.Answer].
func Answer(ctx context.Context, o AnswerOptions, input string) (_ *answer.Answer, err error) {
	a, err := OpenAnswers(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return a.Session.Answer(ctx, input, nil)
}

// Close closes what was opened.
func (a *Answers) Close() error {
	var all []error
	if a.owned {
		all = append(all, a.encoder.Close())
	}
	return errors.Join(append(all, a.opened.close())...)
}

// Guarantee is what n answers cost together, and nothing else.
func (a *Answers) Guarantee(n int64) (privacy.Guarantee, error) {
	if !a.Plan.Private() || a.Session.Seed != nil {
		return privacy.Guarantee{}, fmt.Errorf("answers of %s have no guarantee", a.Plan.Method())
	}
	event := privacy.Canonical(privacy.Repeat{N: n, Event: a.Plan.Event()})
	epsilon, err := accountant.Auto{}.Epsilon(event, a.Plan.Adjacency, a.Plan.Delta)
	return privacy.Guarantee{
		Event: event, Adjacency: a.Plan.Adjacency, Unit: a.Plan.Unit, Epsilon: epsilon, Delta: a.Plan.Delta, Accountant: accountant.Auto{}.Name(),
	}, err
}

// plan is what will be carried out.
func (o *AnswerOptions) plan() (plan.Answers, error) {
	if o.Plan == nil {
		return plan.NewAnswers(o.Request)
	}
	if err := o.Plan.Check(); err != nil {
		return plan.Answers{}, &plan.InputError{Reason: fmt.Sprintf("the plan cannot be carried out: %v", err)}
	}
	return *o.Plan, nil
}

// check finds what is missing before anything is opened.
func (o *AnswerOptions) check(p plan.Answers) error {
	wrong := func(format string, args ...any) error { return &plan.InputError{Reason: fmt.Sprintf(format, args...)} }
	reads := p.Scheme().Kind != ""
	switch {
	case p.Claim() != "" && !o.NonPrivate:
		return wrong("%s; it is for comparisons, and has to be allowed explicitly (--non-private)", p.Claim())
	case !p.Private() && !o.NonPrivate:
		return wrong("the method %s protects nobody: it is for comparisons, and has to be allowed explicitly (--non-private)", p.Method())
	case reads && o.Source.Location == "":
		return wrong("the data is missing: a file of records, or a database")
	case reads && o.Source.Private == "":
		return wrong("a private folder is missing, for the key by which the ledger knows the data again")
	case o.charges(p) && o.Ledger == "":
		return wrong("a ledger is missing: what protects records is that every use of them is charged to a budget")
	}
	return nil
}

func (o *AnswerOptions) charges(p plan.Answers) bool {
	return p.Private() && o.Seed == nil && p.Scheme().Kind != ""
}

// notice tells something once.
func (o *AnswerOptions) notice(format string, args ...any) {
	if o.Observe != nil {
		o.Observe(Progress{Kind: Notice, Answering: true, Message: fmt.Sprintf(format, args...)})
	}
}

func (a *Answers) open(ctx context.Context, o AnswerOptions) error {
	if a.Plan.Scheme().Kind != "" {
		a.opened.destined(o.Model, o.Trusted)
	}
	if err := a.opened.openModel(ctx, o.Model, o.Trusted); err != nil {
		return err
	}
	a.Model = a.opened.name
	if err := a.openEncoder(o.Encoder); err != nil {
		return err
	}
	if o.charges(a.Plan) {
		if err := a.opened.openLedger(ctx, o.Ledger, o.NewLedger, o.Source.Private); err != nil {
			return err
		}
	}
	if a.Plan.Scheme().Kind != "" {
		if err := a.opened.openData(ctx, o.Source, a.Plan.Task, a.Plan.Unit, true); err != nil {
			return err
		}
		a.Problems = a.opened.data.Problems()
	}
	return nil
}

// openEncoder takes an encoder that is open already, or opens one if the method needs it.
func (a *Answers) openEncoder(given lm.TrustedEmbedder) (err error) {
	a.encoder = given
	if _, needs := a.Plan.Ensemble.Method.(*ensemble.Embedding); !needs || given.Valid() {
		return nil
	}
	a.encoder, err = backend.TrustedEncoder()
	a.owned = err == nil
	return err
}

// parallel is how many answers to write at once.
func (a *Answers) parallel(told int) int {
	switch {
	case told > 0:
		return told
	case !a.opened.model.Info().Deterministic || a.Plan.Scheme().Per == scheme.PerToken:
		return 1
	}
	return 4
}
