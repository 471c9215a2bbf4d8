package sotto

import (
	"context"
	"errors"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/run/answer"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// AnswerOptions say what answers are made from.
type AnswerOptions struct {
	Use
	// Request is what is asked for; its Task is required, and Epsilon and Size for methods
	// with a guarantee. Its Epsilon is for Request.Answers answers together.
	Request Request
	// Plan is used instead of the Request if it is set.
	Plan *AnswerPlan
	// Source of the private records. Required for methods that read them.
	Source Source
	// Encoder of sentences. Default: opened where the method needs one.
	Encoder lm.TrustedEmbedder
	// Parallel is how many answers are written at once. Default: 4 where an answer keeps its
	// draw, and else 1.
	Parallel int
	// Cut questions that are longer than the task allows. Default: refuse them.
	Cut bool
	// Partial lets [AnswerSession.All] answer as many questions as the budget allows. Default: it
	// answers none if it cannot answer all.
	Partial bool
	// Hold, if set, is called when a question is charged and before a record is drawn for it.
	// What it returns is called, maybe more than once, before anything shows that the answer is
	// written or has failed, the ledger's rows among it. So a service can hide how long it took
	// to write, which depends on who was drawn. A stream is not held.
	Hold func(context.Context) (show func())
}

// Answer to a question, with what it cost.
type Answer struct {
	Input string `json:"input"`
	Text  string `json:"answer"`
	// Steps is how many tokens the mechanism chose.
	Steps int `json:"steps"`
	// Private: the answer is covered by Event, which Charge pays for. Without records there is no event and no charge.
	Private bool            `json:"private"`
	Event   privacy.Event   `json:"-"`
	Charge  ledger.ChargeID `json:"charge,omitempty"`
	// Spent of Limit, and what is Left: the ε, at Delta, of the budget that has least left after this answer and those
	// that were written together with it. Zero if nothing was charged.
	Spent float64 `json:"epsilon_spent"`
	Left  float64 `json:"epsilon_left"`
	Limit float64 `json:"epsilon_limit"`
	Delta float64 `json:"delta"`
	// InSeries is how many more answers are paid for by the charge that paid for this one.
	InSeries int64 `json:"answers_in_series,omitempty"`
	// Warnings that people should read.
	Warnings []string `json:"warnings,omitempty"`
}

// AnswerSession is a session in which questions are answered. Its methods may be called
// concurrently.
type AnswerSession struct {
	// Plan of an answer.
	Plan AnswerPlan
	// Model is what people call it.
	Model string
	// LeftOut is how many records could not be used. It depends on them: do not publish it.
	LeftOut int64

	session *answer.Session
	call    *call
	encoder lm.TrustedEmbedder
	owned   bool // the encoder was opened here
}

// Answers opens a session. No record is read except to check and index them, and nothing is
// charged before the first question.
func (c *Client) Answers(ctx context.Context, o AnswerOptions) (_ *AnswerSession, err error) {
	p, err := planned(o.Plan, o.Request.internal(), plan.NewAnswers)
	if err != nil {
		return nil, err
	}
	if err := allowed(o.Use, p.Private(), p.Claim(), p.Method()); err != nil {
		return nil, err
	}
	if err := o.Approval.Check(p, p.Event()); err != nil {
		return nil, err
	}
	reads := p.Scheme().Kind != ""
	if reads && o.Source.Location == "" {
		return nil, wrong("the data is missing: a file of records, or a database")
	}
	a := &AnswerSession{Plan: p, call: c.call(o.Use), encoder: o.Encoder}
	a.call.base.Answering = true
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err := a.open(ctx, o.Source, reads); err != nil {
		return nil, err
	}
	a.session, err = answer.Open(ctx, answer.Options{
		Env: a.call.environment(), Plan: p, Data: a.call.data, Encoder: a.encoder, Parallel: a.parallel(o.Parallel), Cut: o.Cut, Partial: o.Partial, Hold: o.Hold,
	})
	return a, err
}

// Answer answers one question. Errors are as those of [AnswerSession.Answer].
func (c *Client) Answer(ctx context.Context, o AnswerOptions, input string) (_ *Answer, err error) {
	a, err := c.Answers(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return a.Answer(ctx, input, nil)
}

// Answer answers a question. stream, if not nil, gets what is released so far each time
// that there is more of it, from this goroutine. Errors: *[InputError] for a question that
// cannot be asked, *[ledger.RefusedError] if the budget does not allow it (nothing is charged
// and no record was drawn), *[ChargedError] for what failed after that.
func (a *AnswerSession) Answer(ctx context.Context, input string, stream func(soFar string)) (*Answer, error) {
	done, err := a.session.Answer(ctx, input, stream)
	return (*Answer)(done), err
}

// All answers many questions, and hands each answer to done in their order: i counts from
// 0. If not all of them can be asked, or fit the budget, none is answered. After any other
// error those that were handed over stand; with one of done itself nothing more is asked.
func (a *AnswerSession) All(ctx context.Context, inputs []string, done func(i int, a *Answer) error) error {
	return a.session.All(ctx, inputs, func(i int, a *answer.Answer) error { return done(i, (*Answer)(a)) })
}

// ChargedError says that questions were charged and not answered.
type ChargedError = answer.ChargedError

// ListState is where a list of questions stands.
type ListState struct {
	// Begun: it was begun before. Complete: nothing is left to do.
	Begun, Complete bool
}

// ResumeFrom makes the next call of All one that resumes after a crash: questions that were charged
// and whose answers were lost are not charged again, and get the answers that they would have
// had. inputs are all questions; answered, which is called when nobody else has the list, says how
// many of them have an answer. All then takes the rest. path gets a key before anything is
// charged, of which a part goes whenever answers are handed over, and the rest with Complete; keep
// it as secret as the records. With a model that does not repeat itself exactly, what was lost is
// charged again.
func (a *AnswerSession) ResumeFrom(path string, inputs []string, answered func(begun bool) (int, error)) (ListState, error) {
	found, err := a.session.ResumeFrom(path, inputs, answered)
	return ListState(found), err
}

// Complete erases the key of a list: all answers that there will be are kept. Abandon also removes
// the file, of a list of which nothing was charged.
func (a *AnswerSession) Complete() error { return a.session.Complete() }

// Abandon removes the file of a list of which nothing was charged.
func (a *AnswerSession) Abandon() error { return a.session.Abandon() }

// CheckBudget is a [*ledger.RefusedError] if n more answers, asked for one by one, do not fit
// the budget. Nothing is charged, nor set aside: others may be faster.
func (a *AnswerSession) CheckBudget(ctx context.Context, n int64) error {
	return a.session.CheckBudget(ctx, n)
}

// Usage returns what the model has done for the session. It depends on the records that
// were drawn: do not publish it.
func (a *AnswerSession) Usage() lm.Usage { return a.session.Usage() }

// Close closes what was opened.
func (a *AnswerSession) Close() error {
	var encoder error
	if a.owned {
		encoder = a.encoder.Close()
	}
	var list error
	if a.session != nil {
		list = a.session.Release()
	}
	return errors.Join(encoder, list, a.call.close())
}

func (a *AnswerSession) open(ctx context.Context, from Source, reads bool) error {
	if err := a.call.openModel(ctx, reads); err != nil {
		return err
	}
	a.Model = a.call.name
	if err := a.openEncoder(); err != nil || !reads {
		return err
	}
	if a.Plan.Private() && a.call.use.Seed == nil {
		if err := a.call.openLedger(ctx); err != nil {
			return err
		}
	}
	if err := a.call.openData(ctx, from, a.Plan.Task, a.Plan.Unit, true); err != nil {
		return err
	}
	a.LeftOut = a.call.data.Problems().Count
	return nil
}

// openEncoder opens an encoder if the method needs one and none was given.
func (a *AnswerSession) openEncoder() (err error) {
	if spec, _ := method.Lookup(a.Plan.Method()); !spec.Encodes || a.encoder.Valid() {
		return nil
	}
	a.encoder, err = backend.TrustedEncoder(a.call.client.spec.Encoder)
	a.owned = err == nil
	return err
}

// parallel is how many answers to write at once.
func (a *AnswerSession) parallel(given int) int {
	switch {
	case given > 0:
		return given
	case !a.call.model.Info().Deterministic || a.Plan.Scheme().Per == scheme.PerToken:
		return 1
	}
	return 4
}
