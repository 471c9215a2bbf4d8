package run

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/internal/env"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/privacy"
)

// recharge pays again for a text that was begun and lost. One that no record is read for
// costs nothing.
func (r *runner) recharge(ctx context.Context, index int) error {
	t := &r.texts[index]
	attempt := t.attempt + 1
	method := r.method(index)
	if reads := method.Scheme().Kind != ""; r.charged() && reads && t.paid < attempt {
		e := privacy.Canonical(decode.TextEvent(method, r.Plan.Tokens))
		c, err := r.charge(ctx, fmt.Sprintf("run %s text %d attempt %d", r.header.Run, index+1, attempt), e)
		if err != nil {
			return fmt.Errorf("charge text %d again, which was begun before: %w", index+1, err)
		}
		if err := r.note(entry{State: recharged, Text: index + 1, Attempt: attempt, Charge: c.ID, Event: e.String()}); err != nil {
			return err
		}
		r.warn(env.Progress{Kind: env.Recharged, Text: index + 1, Charge: c.ID, Message: fmt.Sprintf("text %d was begun and lost; the model does not repeat itself exactly, so that it is charged again", index+1)})
	}
	t.attempt = attempt
	return nil
}

// spent is what the run really did, where less than the worst case may be charged: each
// step is an event of its own, all are on the same part, and every budget is a filter.
// Else nil.
func (r *runner) spent(ctx context.Context) (privacy.Event, error) {
	if len(r.Plan.Parts) != 1 || r.Plan.Parts[0].Method.Scheme().Per != scheme.PerToken || len(r.recharges) > 0 {
		return nil, nil
	}
	from, err := r.account(ctx)
	if err != nil {
		return nil, err
	}
	if adaptive, err := from.Adaptive(ctx, nil); err != nil || !adaptive {
		return nil, err
	}
	p := r.Plan
	part := p.Parts[0]
	part.Texts, p.Tokens = 1, int(r.steps(r.Plan.Shots))
	p.Parts = p.Parts[:0:0]
	p.Parts = append(p.Parts, part)
	return p.Event(), nil
}
