package answer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// reserve has the worst case of one answer charged before any record is drawn for it.
// total is how many questions are asked at once.
func (s *Session) reserve(ctx context.Context, q *question, total int64) (err error) {
	if !s.charged {
		return nil
	}
	name := rand.Text()
	if s.again.repeats() {
		name = fmt.Sprintf("%s-%d", s.again.name, q.index)
	}
	use := account.Use{
		Event: s.event, Key: "answer " + name,
		Run: fmt.Sprintf("%s %s answer %s", s.options.Plan.Task.Name, s.options.Plan.Method(), name),
	}
	err = s.take(ctx, q, use, total)
	if _, ok := errors.AsType[*ledger.UnknownDatasetError](err); ok {
		if err = s.enter(ctx, name, total); err == nil {
			err = s.take(ctx, q, use, total)
		}
	}
	if errors.Is(err, ledger.ErrUnknown) {
		return &ChargedError{Err: err}
	}
	if err != nil {
		return err
	}
	s.report(env.Progress{Kind: env.Reserved, Question: q.at + 1, Questions: q.of, Charge: q.charge.ID})
	return nil
}

// pay reserves a use.
func (s *Session) pay(ctx context.Context, use account.Use) (ledger.Charge, error) {
	return surely(ctx, func() (ledger.Charge, error) { return s.account.Reserve(ctx, use) })
}

// surely does something again if it could not be found out whether it was done: with the
// same key the ledger then finds it, or does it.
func surely[T any](ctx context.Context, do func() (T, error)) (T, error) {
	out, err := do()
	if errors.Is(err, ledger.ErrUnknown) && ctx.Err() == nil {
		if again, failed := do(); failed == nil {
			return again, nil
		}
	}
	return out, err
}

// enter gives a data set that the ledger does not know a budget of the answers that were
// asked for. More is for its owner to grant.
func (s *Session) enter(ctx context.Context, name string, total int64) error {
	n := max(total, s.options.Plan.Answers)
	epsilon := s.options.Plan.Epsilon
	if n > s.options.Plan.Answers {
		price, err := s.price(n)
		if err != nil {
			return fmt.Errorf("compute the budget of %d answers: %w", n, err)
		}
		if math.IsInf(price, 1) {
			return &plan.InputError{Option: "Answers", Reason: fmt.Sprintf("%d answers like this have no finite ε at δ = %v together, since each takes its part of δ: plan for %d answers, so that they share it", n, s.options.Plan.Delta, n)}
		}
		epsilon = upward(price)
	}
	notice, err := s.account.Enter(ctx, account.First{
		Epsilon: epsilon, Delta: s.options.Plan.Delta, By: "answer " + name, Key: "budget " + name,
	})
	if err != nil || notice == "" { // somebody else has entered it in between
		return err
	}
	answers := "1 answer"
	if n > 1 {
		answers = fmt.Sprintf("%d answers", n)
	}
	s.warn(env.Budgeted, "%s, which is for %s. For more see sotto ledger grant", notice, answers)
	return nil
}

// upward rounds up to four digits, so that what is in the ledger can be read, and has
// room for what bounds of the same cost differ by.
func upward(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 1) {
		return v
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-3)
	return math.Ceil(v/unit+0.5) * unit
}

// commit reports to the ledger that an answer was released. It is the caller's whatever the
// ledger says: the reservation pays for it.
func (s *Session) commit(ctx context.Context, q *question, out private.Output) {
	if !s.charged {
		return
	}
	request := ledger.CommitRequest{Charge: q.charge.ID}
	if q.charge.Series {
		s.drawn(ctx, q, request, out)
		return
	}
	if used := s.used(out); used != nil && s.filtered(ctx, q.charge.Budgets) {
		request.Spent, request.Filtered = used, true
	}
	_, err := s.options.Env.Ledger.Commit(ctx, request)
	if errors.Is(err, ledger.ErrUnknown) {
		_, err = s.options.Env.Ledger.Commit(ctx, request) // the same again changes nothing
	}
	if err != nil {
		q.answer.Warnings = append(q.answer.Warnings, fmt.Sprintf("the charge %s of this answer could not be committed and stays reserved, in full: %v", q.charge.ID, err))
		return
	}
	s.report(env.Progress{Kind: env.Committed, Question: q.at + 1, Questions: q.of, Tokens: out.Steps(), Charge: q.charge.ID})
}

// used is what came to pass of an answer's event, where that can be separated: steps that
// have draws of their own, and the parts that a mechanism names. Else nil. Which part it is
// follows from what was released, so that a privacy filter may charge that alone.
func (s *Session) used(out private.Output) privacy.Event {
	if used := out.Used(); used != nil {
		return privacy.Canonical(used)
	}
	m := s.options.Plan.Write.Method
	if m == nil || m.Scheme().Per != scheme.PerToken || out.Steps() >= s.options.Plan.Tokens {
		return nil
	}
	return privacy.Canonical(decode.TextEvent(m, out.Steps()))
}

// filtered reports whether all these budgets are filters, as far as can be found out. How
// a budget composes never changes, and reading what is spent of it takes time.
func (s *Session) filtered(ctx context.Context, budgets []string) bool {
	key := strings.Join(budgets, "\n")
	s.mu.Lock()
	adaptive, known := s.filters[key]
	s.mu.Unlock()
	if known {
		return adaptive
	}
	adaptive, err := s.account.Adaptive(ctx, budgets)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filters == nil {
		s.filters = map[string]bool{}
	}
	s.filters[key] = adaptive
	return adaptive
}

// forfeit ends the charges of questions that were given up, in the ledger too. They count
// in any case.
func (s *Session) forfeit(ctx context.Context, group []*question, cause error) error {
	var charges []ledger.ChargeID
	for _, q := range group {
		if q.charge.ID == "" || q.answer != nil {
			continue
		}
		if s.again.repeats() {
			return cause // the charges wait for the list to continue
		}
		if charges = append(charges, q.charge.ID); q.charge.Series {
			continue // its part of the series is gone; the others are not
		}
		// If this fails the charge stays reserved, which counts the same.
		_, _ = s.options.Env.Ledger.Forfeit(ctx, ledger.ForfeitRequest{Charge: q.charge.ID, Reason: "the answer was not completed"})
	}
	if len(charges) == 0 {
		return cause
	}
	return &ChargedError{Charges: charges, Err: cause}
}

// odometer reads the budget that has least left of those that a group is charged to.
func (s *Session) odometer(ctx context.Context, group []*question) {
	if !s.charged {
		return
	}
	d, err := s.options.Env.Ledger.Balance(ctx, string(s.account.Dataset))
	for _, q := range group {
		if q.answer == nil {
			continue
		}
		if err != nil {
			q.answer.Warnings = append(q.answer.Warnings, fmt.Sprintf("what is left of the budget could not be read: %v", err))
			continue
		}
		first := true
		for _, b := range d.Budgets {
			if !slices.Contains(q.charge.Budgets, b.Name) || !first && b.Left >= q.answer.Left {
				continue
			}
			first = false
			q.answer.Spent, q.answer.Left, q.answer.Limit, q.answer.Delta = float64(b.Spent), b.Left, b.Epsilon, b.Delta
			q.answer.InSeries = q.left
		}
	}
}
