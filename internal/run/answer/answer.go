package answer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/machine"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Options of a session.
type Options struct {
	// Env has the model, which is required, and the ledger that pays. A data set
	// that the ledger does not know gets a budget for the answers of the plan together, or
	// for all that are asked for at once if these are more. Seeded answers depend on the
	// seed and on how many questions the session was asked before, so that the same list
	// of questions gets the same answers however many are written at once.
	Env env.Environment
	// Plan of one answer. Required.
	Plan plan.Answers
	// Data is opened by the caller, as one part. Required unless the plan reads no record.
	Data *record.Data
	// Encoder is required for plans that compare sentences.
	Encoder lm.TrustedEmbedder
	// Parallel is how many answers are written at once; 0 means 1.
	Parallel int
	// Cut questions that are longer than the task allows. Default: refuse them.
	Cut bool
	// Partial lets [Session.All] answer as many questions as the budget allows. Default:
	// it answers none if it cannot answer all.
	Partial bool
	// Hold, if set, is called when a question is charged and before a record is drawn for it.
	// What it returns is called before anything shows that the answer is written or has failed,
	// the ledger's rows among it: how long that took depends on who was drawn. It may be called
	// more than once.
	Hold func(context.Context) (show func())
}

// Answer to a question.
type Answer struct {
	Input string `json:"input"`
	Text  string `json:"answer"`
	// Steps is how many tokens the mechanism chose.
	Steps int `json:"steps"`
	// Private: the answer is covered by Event, which Charge pays for. Without records
	// there is no event and no charge.
	Private bool            `json:"private"`
	Event   privacy.Event   `json:"-"`
	Charge  ledger.ChargeID `json:"charge,omitempty"`
	// Spent of Limit, and what is Left: the ε, at Delta, of the budget that has least left
	// after this answer and those that were written together with it. Zero if nothing was
	// charged.
	Spent float64 `json:"epsilon_spent"`
	Left  float64 `json:"epsilon_left"`
	Limit float64 `json:"epsilon_limit"`
	Delta float64 `json:"delta"`
	// InSeries is how many more answers are paid for by the charge that paid for this one.
	InSeries int64 `json:"answers_in_series,omitempty"`
	// Warnings that people should read.
	Warnings []string `json:"warnings,omitempty"`
}

// Session answers questions. Its methods may be called concurrently.
type Session struct {
	options Options
	account account.Account
	charged bool
	event   privacy.Event
	// isolation is how it is known that a prompt's scores depend on it alone.
	isolation lm.Isolation
	drawKey   func() (noise.Key, error)
	free      func() int64 // memory of this machine
	// price is the ε of answers together, at the plan's δ.
	price func(n int64) (float64, error)

	reporting sync.Mutex
	// mu guards what follows.
	mu    sync.Mutex
	asked uint64 // questions
	// again, if the list of questions can be repeated; begun: it was before.
	again    *again
	begun    bool
	usage    lm.Usage
	warnings []string // to be added to the next answer
	// filters says of lists of budgets whether all of them are filters.
	filters map[string]bool
	// sums says whether a budget adds up what single charges cost; nil: not known yet.
	sums *bool
}

// Open checks what a session is made of. No record is read.
func Open(ctx context.Context, o Options) (*Session, error) {
	s := &Session{options: o, drawKey: noise.NewKey, free: machine.Free}
	return s, s.open(ctx)
}

func (s *Session) open(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if s.price == nil {
		s.price = s.composed
	}
	s.caution()
	return nil
}

// composed is what the accountant makes of answers one after the other.
func (s *Session) composed(n int64) (float64, error) {
	epsilon, err := s.options.Plan.Total(n)
	return epsilon.Upper, err
}

// Usage is what the model has done for the session. It depends on the records that were
// drawn: do not publish it.
func (s *Session) Usage() lm.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage
}

// CheckBudget is a [*ledger.RefusedError] if n more answers, asked for one by one, do not fit
// the budget. Nothing is charged, nor set aside: others may be faster.
func (s *Session) CheckBudget(ctx context.Context, n int64) error {
	return s.afford(ctx, n, s.options.Plan.Answers)
}

// afford is CheckBudget of answers that are asked for so many at once.
func (s *Session) afford(ctx context.Context, n, together int64) error {
	if !s.charged {
		return nil
	}
	err := s.measure(ctx, n, together)
	if _, ok := errors.AsType[*ledger.UnknownDatasetError](err); ok {
		return nil // it gets a budget of what is asked for
	}
	if err = s.account.Explain(ctx, err); err != nil && n > 1 {
		err = fmt.Errorf("%d answers together: %w", n, err)
	}
	return err
}

// Answer answers a question. stream, if not nil, gets what is released so far each time
// that there is more of it, from this goroutine. Errors: *[plan.InputError] for a question
// that cannot be asked, *[ledger.RefusedError] if the budget does not allow it (nothing is
// charged and no record was drawn), *[ChargedError] for what failed after that.
func (s *Session) Answer(ctx context.Context, input string, stream func(soFar string)) (*Answer, error) {
	items, err := s.questions(ctx, []string{input})
	if err != nil {
		return nil, err
	}
	items[0].stream = stream
	if err := s.answer(ctx, items, 1); err != nil {
		return nil, err
	}
	return items[0].answer, nil
}

// All answers many questions, and hands each answer to done in their order: i counts from
// 0. If not all of them can be asked, or fit the budget, none is answered. After any other
// error those that were handed over stand; with one of done itself nothing more is asked.
func (s *Session) All(ctx context.Context, inputs []string, done func(i int, a *Answer) error) error {
	items, err := s.questions(ctx, inputs)
	if err != nil || len(items) == 0 {
		return err
	}
	total := int64(len(items))
	if !s.options.Partial && !(s.begun && s.again.repeats()) { // of a list that continues, some is charged already
		if err := s.afford(ctx, total, total); err != nil {
			return err
		}
	}
	for len(items) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		group := items[:min(len(items), s.again.group(items[0].index, max(1, s.options.Parallel)))]
		items = items[len(group):]
		failed := s.answer(ctx, group, total)
		for _, q := range group {
			if q.answer == nil {
				continue
			}
			if err := done(q.at, q.answer); err != nil {
				return errors.Join(err, failed)
			}
			if err := s.again.kept(q.index + 1); err != nil {
				return errors.Join(err, failed)
			}
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}
