package run

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
)

// chargeAgain pays for what was begun and lost, and notes that.
func (r *execution) chargeAgain(ctx context.Context, what, key string, e privacy.Event, noted entry) error {
	c, err := r.charge(ctx, fmt.Sprintf("run %s %s", r.progress.header.Run, key), e)
	if err != nil {
		return fmt.Errorf("charge %s again, which was begun before: %w", what, err)
	}
	noted.State, noted.Charge, noted.Event = recharged, c.ID, e.String()
	if noted.Account, err = r.standing(ctx, c); err != nil {
		return err
	}
	if err := r.note(noted); err != nil {
		return err
	}
	r.warn(env.Progress{Kind: env.Recharged, Text: noted.Text, Charge: c.ID, Message: what + " was begun and lost; the model does not repeat itself exactly, so that it is charged again"})
	return nil
}

// recharge pays again for a text that was begun and lost. One that no record is read for
// costs nothing.
func (r *runner) recharge(ctx context.Context, index int) error {
	t := &r.exec.progress.texts[index]
	attempt := t.attempt + 1
	method := r.method(index)
	if reads := method.Scheme().Kind != ""; r.exec.charged() && reads && t.paid < attempt {
		e, what := privacy.Canonical(decode.TextEvent(method, r.plan.Tokens)), fmt.Sprintf("text %d", index+1)
		if err := r.exec.chargeAgain(ctx, what, fmt.Sprintf("%s attempt %d", what, attempt), e, entry{Text: index + 1, Attempt: attempt}); err != nil {
			return err
		}
	}
	t.attempt = attempt
	return nil
}

// spent is what the run really did, where less than the worst case may be charged: each
// step is an event of its own, all are on the same part, and every budget is a filter.
// Else nil.
func (r *runner) spent(ctx context.Context) (privacy.Event, error) {
	if len(r.plan.Parts) != 1 || r.plan.Parts[0].Method.Scheme().Per != scheme.PerToken || len(r.exec.progress.recharges) > 0 {
		return nil, nil
	}
	from, err := r.exec.account(ctx)
	if err != nil {
		return nil, err
	}
	if adaptive, err := from.Adaptive(ctx, nil); err != nil || !adaptive {
		return nil, err
	}
	p := r.plan
	part := p.Parts[0]
	part.Texts, p.Tokens = 1, int(r.exec.progress.steps(r.plan.Shots))
	p.Parts = p.Parts[:0:0]
	p.Parts = append(p.Parts, part)
	return p.Event(), nil
}
