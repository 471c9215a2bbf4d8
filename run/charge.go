package run

import (
	"context"
	"errors"
	"fmt"

	"sotto/privacy"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/purse"
	"sotto/private/decode"
	"sotto/private/draw"
)

// reserve has the worst case charged before any record is drawn. A run that goes on asks
// again under the same key: the ledger then finds the charge and makes none.
func (r *runner) reserve(ctx context.Context) error {
	if !r.charged() || r.closed() {
		return nil
	}
	c, err := r.charge(ctx, "run "+r.header.Run, r.Plan.Event())
	var unknown *ledger.UnknownDatasetError
	if errors.As(err, &unknown) && r.progress.charge == "" {
		if err = r.initBudget(ctx); err == nil {
			c, err = r.charge(ctx, "run "+r.header.Run, r.Plan.Event())
		}
	}
	if err != nil {
		return err
	}
	switch known := r.progress.charge; {
	case known != "" && known != c.ID:
		return r.refuse("its charge %s is in another ledger than this: use that one", known)
	case c.State == ledger.Forfeited:
		return r.refuse("its charge %s was forfeited: the run is given up. Start again in another folder", c.ID)
	case c.State == ledger.Committed && !r.header.Model.exact() && r.done() < r.Plan.Shots:
		return r.refuse("its charge %s is committed, so that another copy of the folder has released what it paid for. Start again in another folder", c.ID)
	case known != "":
		return nil
	}
	if err := r.note(entry{State: reserved, Charge: c.ID, Event: c.Event}); err != nil {
		return err
	}
	r.tell(Event{Kind: Reserved, Charge: c.ID})
	return nil
}

// purse pays for the run.
func (r *runner) purse() (*purse.Purse, error) {
	dataset, err := r.dataset()
	return &purse.Purse{
		Ledger: r.ledger, Dataset: dataset, Name: r.Dataset,
		Adjacency: r.Plan.Adjacency, Unit: r.Plan.Unit, Labels: r.Labels,
	}, err
}

// charge reserves an event under a key.
func (r *runner) charge(ctx context.Context, key string, e privacy.Event) (ledger.Charge, error) {
	p, err := r.purse()
	if err != nil {
		return ledger.Charge{}, err
	}
	r.asked = true
	// Plans without a proof are not charged: see Plan.Private.
	return p.Reserve(ctx, purse.Use{
		Event: e, Run: fmt.Sprintf("%s %s %s", r.Plan.Task.Name, r.Plan.Method(), r.header.Run), Key: key,
	})
}

// initBudget gives a data set that the ledger does not know what this run was asked to
// keep to. More is for its owner to grant.
func (r *runner) initBudget(ctx context.Context) error {
	p, err := r.purse()
	if err != nil {
		return err
	}
	notice, err := p.Enter(ctx, purse.First{
		Epsilon: r.Plan.Epsilon, Delta: r.Plan.Delta, By: "run " + r.header.Run, Key: "budget " + r.header.Run,
	})
	if err != nil {
		return err
	}
	r.warn(Event{Kind: Budgeted, Message: notice + ", which this run uses. For more see sotto ledger grant"})
	return nil
}

// recharge pays again for a text that was begun and lost.
func (r *runner) recharge(ctx context.Context, index int) error {
	t := &r.texts[index]
	attempt := t.attempt + 1
	if r.charged() && t.paid < attempt {
		part, _ := r.place(index)
		e := privacy.Canonical(decode.TextEvent(r.Plan.Parts[part].Method, r.Plan.Tokens))
		c, err := r.charge(ctx, fmt.Sprintf("run %s text %d attempt %d", r.header.Run, index+1, attempt), e)
		if err != nil {
			return fmt.Errorf("charge text %d again, which was begun before: %w", index+1, err)
		}
		if err := r.note(entry{State: recharged, Text: index + 1, Attempt: attempt, Charge: c.ID, Event: e.String()}); err != nil {
			return err
		}
		r.warn(Event{Kind: Recharged, Text: index + 1, Charge: c.ID, Message: fmt.Sprintf("text %d was begun and lost; the model does not repeat itself exactly, so that it is charged again", index+1)})
	}
	t.attempt = attempt
	return nil
}

// commit tells the ledger that all is released, and closes the journal.
func (r *runner) commit(ctx context.Context) error {
	if !r.charged() || r.closed() {
		return nil
	}
	spent, err := r.spent(ctx)
	if err != nil {
		return err
	}
	c, err := r.ledger.Commit(ctx, ledger.CommitRequest{Charge: r.progress.charge, Spent: spent, Filtered: spent != nil})
	if err != nil {
		return fmt.Errorf("commit the charge: %w", err)
	}
	for _, again := range r.recharges {
		if _, err := r.ledger.Commit(ctx, ledger.CommitRequest{Charge: again.charge}); err != nil {
			return fmt.Errorf("commit the charge of text %d: %w", again.text, err)
		}
	}
	checkpoint, err := r.ledger.Checkpoint(ctx)
	if err != nil {
		return fmt.Errorf("read the end of the ledger: %w", err)
	}
	if err := r.note(entry{State: committed, Charge: c.ID, Spent: c.Spent, Checkpoint: checkpoint.String()}); err != nil {
		return err
	}
	r.tell(Event{Kind: Committed, Charge: c.ID})
	return nil
}

// spent is what the run really did, where less than the worst case may be charged: each
// step is an event of its own, all are on the same part, and every budget is a filter.
// Else nil.
func (r *runner) spent(ctx context.Context) (privacy.Event, error) {
	if len(r.Plan.Parts) != 1 || r.Plan.Parts[0].Method.Law().Per != draw.PerToken || len(r.recharges) > 0 {
		return nil, nil
	}
	from, err := r.purse()
	if err != nil {
		return nil, err
	}
	if adaptive, err := from.Adaptive(ctx, nil); err != nil || !adaptive {
		return nil, err
	}
	p := r.Plan
	part := p.Parts[0]
	part.Texts, p.Tokens = 1, int(r.steps())
	p.Parts = p.Parts[:0:0]
	p.Parts = append(p.Parts, part)
	return p.Event(), nil
}
