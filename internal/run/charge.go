package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// reserve has the worst case charged before any record is drawn. A run that continues asks
// again under the same key: the ledger then finds the charge and makes none.
func (r *engine) reserve(ctx context.Context) error {
	if !r.exec.charged() || r.exec.progress.closed() {
		return nil
	}
	c, err := r.exec.charge(ctx, "run "+r.exec.progress.header.Run, r.exec.spec.Event)
	if _, ok := errors.AsType[*ledger.UnknownDatasetError](err); ok && r.exec.progress.charge == "" {
		if err = r.initBudget(ctx); err == nil {
			c, err = r.exec.charge(ctx, "run "+r.exec.progress.header.Run, r.exec.spec.Event)
		}
	}
	if err != nil {
		return err
	}
	switch known := r.exec.progress.charge; {
	case known != "" && known != c.ID:
		return r.exec.folder.refuse("its charge %s is in another ledger than this: use that one", known)
	case c.State == ledger.Forfeited:
		return r.exec.folder.refuse("its charge %s was forfeited: the run is given up. Start again in another folder", c.ID)
	case c.State == ledger.Committed && !r.job.repeats():
		return r.exec.folder.refuse("its charge %s is committed, so that another copy of the folder has released what it paid for. Start again in another folder", c.ID)
	case known != "":
		return nil
	}
	standing, err := r.exec.standing(ctx, c)
	if err != nil {
		return err
	}
	return r.exec.announce(entry{State: reserved, Charge: c.ID, Event: c.Event, Account: standing}, env.Progress{Kind: env.Reserved, Charge: c.ID})
}

// initBudget gives a data set that the ledger does not know what this run was asked to
// keep to. More is for its owner to grant.
func (r *engine) initBudget(ctx context.Context) error {
	p, err := r.exec.account(ctx)
	if err != nil {
		return err
	}
	notice, err := p.Enter(ctx, account.First{
		Epsilon: r.exec.spec.Epsilon, Delta: r.exec.spec.Delta, By: "run " + r.exec.progress.header.Run, Key: "budget " + r.exec.progress.header.Run,
	})
	if err != nil || notice == "" {
		return err
	}
	r.exec.warn(env.Progress{Kind: env.Budgeted, Message: notice + ", which this run uses. For more see sotto ledger grant"})
	return nil
}

// commit reports to the ledger that all is released, and closes the journal.
func (r *engine) commit(ctx context.Context) error {
	if !r.exec.charged() || r.exec.progress.closed() {
		return nil
	}
	spent, err := r.job.spent(ctx)
	if err != nil {
		return err
	}
	c, err := r.exec.env.Ledger.Commit(ctx, ledger.CommitRequest{Charge: r.exec.progress.charge, Spent: spent, Filtered: spent != nil})
	if err != nil {
		return fmt.Errorf("commit the charge: %w", err)
	}
	for _, again := range r.exec.progress.recharges {
		if _, err := r.exec.env.Ledger.Commit(ctx, ledger.CommitRequest{Charge: again.charge}); err != nil {
			return fmt.Errorf("commit the charge of text %d: %w", again.text, err)
		}
	}
	checkpoint, err := r.exec.env.Ledger.Checkpoint(ctx)
	if err != nil {
		return fmt.Errorf("read the end of the ledger: %w", err)
	}
	return r.exec.announce(entry{State: committed, Charge: c.ID, Spent: c.Spent, Checkpoint: checkpoint.String()}, env.Progress{Kind: env.Committed, Charge: c.ID})
}
