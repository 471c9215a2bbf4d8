package ledger

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// Reserve charges the worst case of a run to every budget that applies, or to none: if the
// charge does not fit one of them, Reserve fails with a [*RefusedError] and nothing is
// charged.
//
// When it returns a charge, the charge is on disk. Only then may the run draw, score or sum
// private records. Recognising a data set and checking that it can be read may come before.
// After [ErrUnknown] it may not, and the charge may count.
func (l *Ledger) Reserve(ctx context.Context, req ReserveRequest) (Charge, error) {
	r, err := req.record()
	if err != nil {
		return Charge{}, err
	}
	var existing *charge
	var made Charge
	var known conclusion
	decide := func(s *state, at int64) (*change, error) {
		existing = nil
		d, err := s.find(req.Dataset)
		if err != nil {
			return nil, err
		}
		used, err := s.replay(d.fingerprint, r)
		if err != nil {
			return nil, err
		}
		if used != nil {
			existing = used.charge
			return nil, nil
		}
		if err := d.admitsReserve(r, at); err != nil {
			return nil, s.refused(d, err)
		}
		if err := s.judge(d, r, 1, at, l.meter, &known); err != nil {
			return nil, s.refused(d, err)
		}
		priced := *r
		priced.Costs = known.costs
		return &change{subject: d.fingerprint, record: &priced}, nil
	}
	// Measuring can take long. Do it here on what this process knows, so that it need not
	// be repeated while all others wait, unless they were faster.
	if err := l.acquire(ctx); err != nil {
		return Charge{}, err
	}
	_, _ = decide(l.state, l.now(l.state)) // the decision that counts is below
	l.release()

	err = l.write(ctx, decide, func(s *state, row *chain.Row) {
		if row != nil {
			made = s.charges[chargeID(*row)].clone()
		} else {
			made = existing.clone()
			made.Existed = true
		}
	})
	return made, err
}

// conclusion records whether a charge fits some accounts, as of a row.
type conclusion struct {
	head     chain.Head
	accounts []*account
	// costs to the sums budgets among them.
	costs []Cost
	err   error
}

// judge measures whether n charges, one after the other, fit all their budgets. It reuses a
// conclusion that is still current.
func (s *state) judge(d *dataset, r *reserveRecord, n, at int64, newMeter NewMeter, known *conclusion) error {
	accounts, err := d.applicable(r.Labels, at)
	if err != nil {
		return err
	}
	if head := s.rows.Head(); known.accounts == nil || known.head != head || !slices.Equal(known.accounts, accounts) {
		*known = conclusion{head: head, accounts: accounts}
		for _, a := range accounts {
			var cost Cost
			if cost, known.err = a.allows(newMeter, r.booked, n); known.err != nil {
				known.err = d.refusedBy(a, known.err)
				break
			}
			if a.Composition == Sums {
				known.costs = append(known.costs, cost)
			}
		}
	}
	return known.err
}

// refusedBy adds to a refusal whose budget it is, which may be one of a data set that this
// one counts toward.
func (d *dataset) refusedBy(a *account, err error) error {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		for _, x := range d.closure() {
			if slices.Contains(x.accounts, a) {
				refused.Dataset = x.fingerprint
			}
		}
	}
	return err
}

// refused adds to a refusal the row at which it was made.
func (s *state) refused(d *dataset, err error) error {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		refused.Dataset, refused.AsOf = cmp.Or(refused.Dataset, d.fingerprint), s.rows.Head().Count
	}
	return err
}

// record checks a request as far as possible without the ledger.
func (req *ReserveRequest) record() (*reserveRecord, error) {
	if req.Event == nil {
		return nil, input("the event is missing: give the worst case of the run")
	}
	if err := privacy.Validate(req.Event); err != nil {
		return nil, err
	}
	if req.Proof != Proven {
		return nil, &UnprovenError{Proof: req.Proof}
	}
	if err := checkProven(req.Event); err != nil {
		return nil, err
	}
	b, err := newChargedEvent(req.Event)
	if err != nil {
		return nil, err
	}
	r := &reserveRecord{
		Coverage: Coverage{Event: b.text, Adjacency: req.Adjacency, Unit: req.Unit},
		Run:      req.Run,
		Key:      req.Key,
		Series:   req.Series,
		booked:   b,
	}
	if len(req.Labels) > 0 {
		r.Labels = maps.Clone(req.Labels)
	}
	return r, r.check()
}

// Commit reports that the run of a charge released its result. Committing again
// with the same content changes nothing.
func (l *Ledger) Commit(ctx context.Context, req CommitRequest) (Charge, error) {
	r := &commitRecord{Charge: req.Charge}
	if req.Spent != nil {
		if err := privacy.Validate(req.Spent); err != nil {
			return Charge{}, err
		}
		var err error
		if r.booked, err = newChargedEvent(req.Spent); err != nil {
			return Charge{}, err
		}
		r.Spent = r.booked.text
	}
	return l.end(ctx, req.Charge, func(c *charge) (record, error) {
		r := *r
		if r.Spent == c.Event {
			r.Spent = ""
		}
		if c.State == Committed && c.Spent == r.Spent {
			return nil, nil
		}
		if r.Spent != "" && !req.Filtered {
			return nil, &StateError{c.ID, c.State, Committed, "unspent steps can be handed back only by a run that stopped through a privacy filter; without one, commit all that was reserved"}
		}
		return &r, nil
	})
}

// Forfeit gives up a run. Its charge counts in full forever, since the run may have
// released something before it died. Forfeiting again changes nothing.
func (l *Ledger) Forfeit(ctx context.Context, req ForfeitRequest) (Charge, error) {
	r := &forfeitRecord{req.Charge, req.Reason}
	if err := r.check(); err != nil {
		return Charge{}, err
	}
	return l.end(ctx, req.Charge, func(c *charge) (record, error) {
		if c.State == Forfeited {
			return nil, nil
		}
		return r, nil
	})
}

// end writes the record that ends a charge, unless decide finds that it has
// ended that way already.
func (l *Ledger) end(ctx context.Context, id ChargeID, decide func(*charge) (record, error)) (Charge, error) {
	var ended Charge
	err := l.write(ctx, func(s *state, at int64) (*change, error) {
		c := s.charges[id]
		if c == nil {
			return nil, &UnknownChargeError{id}
		}
		r, err := decide(c)
		if err != nil || r == nil {
			return nil, err
		}
		return &change{subject: c.Dataset, record: r}, nil
	}, func(s *state, _ *chain.Row) { ended = s.charges[id].clone() })
	return ended, err
}

// clone makes a copy that shares nothing with the ledger's own.
func (c Charge) clone() Charge {
	c.Labels = maps.Clone(c.Labels)
	c.Budgets = slices.Clone(c.Budgets)
	c.Costs = slices.Clone(c.Costs)
	return c
}
