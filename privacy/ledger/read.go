package ledger

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Balance is a budget and how much of it is spent.
type Balance struct {
	// Budget has the allowance after all grants and revocations.
	Budget
	// Spent is the ε, at the budget's δ, of all charges that count toward it, reserved and
	// forfeited ones in full. Left is what remains of the allowance. Spent shows progress;
	// the guarantee to analysts who decide by it when to stop is the allowance.
	Spent Epsilon `json:"spent"`
	Left  float64 `json:"left"`
	// SpentDelta and LeftDelta are the corresponding δ of a [Sums] budget.
	SpentDelta float64 `json:"spent_delta,omitempty"`
	LeftDelta  float64 `json:"left_delta,omitempty"`
	// Open is false outside the budget's validity window.
	Open bool `json:"open"`
	// Reserved, Committed and Forfeited count charges.
	Reserved  int `json:"reserved"`
	Committed int `json:"committed"`
	Forfeited int `json:"forfeited"`
	// Basis explains when Spent is a guarantee.
	Basis string `json:"basis"`
}

// Dataset is a data set with the budgets that its charges count toward: its own, the
// global one first, then those of data sets that it is linked with, called "DATASET:BUDGET".
type Dataset struct {
	Fingerprint Fingerprint `json:"fingerprint"`
	Name        string      `json:"name,omitempty"`
	Created     time.Time   `json:"created"`
	// AsOf is the number of the last row that this takes into account.
	AsOf    int64     `json:"as_of"`
	Budgets []Balance `json:"budgets"`
	// Versions are the known states of its data, Links the owner's decisions about it and
	// other data sets. These, Changes and Charges are in the order of their rows.
	// [Ledger.List] leaves them out.
	Versions []Version `json:"versions,omitempty"`
	Links    []Link    `json:"links,omitempty"`
	Changes  []Change  `json:"changes,omitempty"`
	Charges  []Charge  `json:"charges,omitempty"`
}

// List returns all data sets with their budgets, in the order they were entered.
func (l *Ledger) List(ctx context.Context) ([]Dataset, error) {
	var list []Dataset
	err := l.read(ctx, func(s *state, at int64) error {
		list = make([]Dataset, 0, len(s.order))
		for _, d := range s.order {
			view, err := s.view(d, l.meter, at)
			if err != nil {
				return err
			}
			list = append(list, view)
		}
		return nil
	})
	return list, err
}

// Show returns one data set, by fingerprint or name, with its budgets, their
// changes, and all charges.
func (l *Ledger) Show(ctx context.Context, name string) (Dataset, error) {
	return l.show(ctx, name, func(d *dataset, view *Dataset) {
		view.Changes, view.Versions, view.Links = slices.Clone(d.changes), d.viewVersions(), slices.Clone(d.links)
		view.Charges = make([]Charge, len(d.charges))
		for i, c := range d.charges {
			view.Charges[i] = c.clone()
		}
	})
}

// Balance returns one data set, by fingerprint or name, with its budgets only.
func (l *Ledger) Balance(ctx context.Context, name string) (Dataset, error) {
	return l.show(ctx, name, func(*dataset, *Dataset) {})
}

// show returns a data set with its budgets, and lets more add to that.
func (l *Ledger) show(ctx context.Context, name string, more func(*dataset, *Dataset)) (view Dataset, err error) {
	err = l.read(ctx, func(s *state, at int64) error {
		d, err := s.find(name)
		if err != nil {
			return err
		}
		view, err = s.view(d, l.meter, at)
		more(d, &view)
		return err
	})
	return view, err
}

// Charge returns one charge.
func (l *Ledger) Charge(ctx context.Context, id ChargeID) (Charge, error) {
	var found Charge
	err := l.read(ctx, func(s *state, at int64) error {
		c := s.charges[id]
		if c == nil {
			return &UnknownChargeError{id}
		}
		found = c.clone()
		return nil
	})
	return found, err
}

func (s *state) view(d *dataset, newMeter NewMeter, at int64) (Dataset, error) {
	v := Dataset{Fingerprint: d.fingerprint, Name: d.name, Created: d.created, AsOf: s.rows.Head().Count}
	for _, x := range d.closure() {
		balances, err := x.balances(d.fingerprint, newMeter, at)
		if err != nil {
			return v, err
		}
		v.Budgets = append(v.Budgets, balances...)
	}
	return v, nil
}

// balances returns the budgets of a data set, named as another one sees them.
func (d *dataset) balances(of Fingerprint, newMeter NewMeter, at int64) (list []Balance, err error) {
	for _, a := range d.accounts {
		spent, err := a.cost(newMeter)
		if err != nil {
			return nil, err
		}
		b := Balance{
			Budget:    a.Budget,
			Spent:     Epsilon(spent),
			Left:      left(a.Epsilon, spent),
			Open:      a.open(at),
			Reserved:  a.states[Reserved],
			Committed: a.states[Committed],
			Forfeited: a.states[Forfeited],
			Basis:     a.basis(),
		}
		if a.Composition == Sums {
			b.SpentDelta = roundUp(a.sum.delta)
			_, b.LeftDelta = a.left()
		}
		b.Orders = slices.Clone(b.Orders)
		b.Name, b.Scope = d.budgetName(a, of), maps.Clone(b.Scope)
		list = append(list, b)
	}
	return list, nil
}
