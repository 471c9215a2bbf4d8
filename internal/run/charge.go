package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/env"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/account"
)

// reserve has the worst case charged before any record is drawn. A run that goes on asks
// again under the same key: the ledger then finds the charge and makes none.
func (r *engine) reserve(ctx context.Context) error {
	if !r.charged() || r.closed() {
		return nil
	}
	c, err := r.charge(ctx, "run "+r.header.Run, r.work.promise().Event)
	var unknown *ledger.UnknownDatasetError
	if errors.As(err, &unknown) && r.progress.charge == "" {
		if err = r.initBudget(ctx); err == nil {
			c, err = r.charge(ctx, "run "+r.header.Run, r.work.promise().Event)
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
	case c.State == ledger.Committed && !r.work.repeats():
		return r.refuse("its charge %s is committed, so that another copy of the folder has released what it paid for. Start again in another folder", c.ID)
	case known != "":
		return nil
	}
	if err := r.note(entry{State: reserved, Charge: c.ID, Event: c.Event}); err != nil {
		return err
	}
	r.tell(env.Progress{Kind: env.Reserved, Charge: c.ID})
	return nil
}

// dataset is how the ledger calls the data.
func (r *engine) dataset() (ledger.Fingerprint, error) {
	if r.known != "" {
		return r.known, nil
	}
	sum, _ := r.work.fingerprint()
	return ledger.NewFingerprint(sum[:])
}

// account pays for the run.
func (r *engine) account(ctx context.Context) (*account.Account, error) {
	dataset, err := r.dataset()
	if err != nil {
		return nil, err
	}
	of := r.work.promise()
	p := &account.Account{
		Ledger: r.ledger, Dataset: dataset, Name: r.Dataset,
		Adjacency: of.Adjacency, Unit: of.Unit, Labels: r.Labels,
		// It has numbers of records: the result, which is kept, does not.
		Tell: func(message string) { r.tell(env.Progress{Kind: env.Noted, Message: message}) },
	}
	return p, r.work.recognise(ctx, p)
}

// charge reserves an event under a key.
func (r *engine) charge(ctx context.Context, key string, e privacy.Event) (ledger.Charge, error) {
	p, err := r.account(ctx)
	if err != nil {
		return ledger.Charge{}, err
	}
	r.asked = true
	// Plans without a proof are not charged: see Plan.Private.
	return p.Reserve(ctx, account.Use{
		Event: e, Run: fmt.Sprintf("%s %s", r.work.promise().Name, r.header.Run), Key: key,
	})
}

// initBudget gives a data set that the ledger does not know what this run was asked to
// keep to. More is for its owner to grant.
func (r *engine) initBudget(ctx context.Context) error {
	p, err := r.account(ctx)
	if err != nil {
		return err
	}
	notice, err := p.Enter(ctx, account.First{
		Epsilon: r.work.promise().Epsilon, Delta: r.work.promise().Delta, By: "run " + r.header.Run, Key: "budget " + r.header.Run,
	})
	if err != nil || notice == "" {
		return err
	}
	r.warn(env.Progress{Kind: env.Budgeted, Message: notice + ", which this run uses. For more see sotto ledger grant"})
	return nil
}

// commit tells the ledger that all is released, and closes the journal.
func (r *engine) commit(ctx context.Context) error {
	if !r.charged() || r.closed() {
		return nil
	}
	spent, err := r.work.spent(ctx)
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
	r.tell(env.Progress{Kind: env.Committed, Charge: c.ID})
	return nil
}
