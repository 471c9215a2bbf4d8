package ledger

import (
	"encoding/hex"
	"slices"
	"time"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// dataset is the state of one data set. The methods that change it are for rows that
// [state.admits].
type dataset struct {
	fingerprint Fingerprint
	name        string
	created     time.Time
	accounts    []*account // the global one first
	// charges are its own charges and those of data sets that count toward it.
	charges []*charge
	changes []Change
	// versions are the states of its data; the first is the one it was entered with.
	versions []version
	// toward are data sets that its charges also count toward; apart are those with other
	// people, as the owner stated.
	toward []*dataset
	apart  map[*dataset]bool
	links  []Link
}

// charge is a Charge with the part of it that counts.
type charge struct {
	Charge
	at       int64
	booked   *chargedEvent
	accounts []*account
	// costs are its costs to the sums budgets among them.
	costs map[*account]Cost
	// drawn counts what was taken out of a series.
	drawn tally
}

func (s *state) addDataset(r chain.Row, b *datasetRecord) {
	d := &dataset{
		fingerprint: Fingerprint(r.Subject),
		name:        b.Name,
		created:     when(r.At),
		accounts:    []*account{newAccount(b.Budget)},
		apart:       map[*dataset]bool{},
	}
	d.changed(r, kindBudget, b.Budget.Name, b.Budget.Epsilon, b.Budget.Delta, b.Reason)
	s.datasets[d.fingerprint] = d
	if d.name != "" {
		s.names[d.name] = d
	}
	s.order = append(s.order, d)
	s.learn(d, r, d.fingerprint, b.KeyID, b.Sketch, "")
	s.addLinks(d, r, b.Toward, b.Apart, b.Reason)
}

func (s *state) addBudget(d *dataset, r chain.Row, b *budgetRecord) {
	a := newAccount(b.Budget)
	for _, c := range d.charges {
		s.countLate(d, c, a)
	}
	d.accounts = append(d.accounts, a)
	d.changed(r, kindBudget, a.Name, a.Epsilon, a.Delta, b.Reason)
}

func (d *dataset) adjust(r chain.Row, g *grantRecord, sign int64) {
	a := d.account(g.Budget)
	epsilon, delta, _ := a.changed(g, sign) // admitted
	a.set(epsilon, delta)
	d.changed(r, r.Kind, a.Name, g.Epsilon, g.Delta, g.Reason)
}

// applicable returns the accounts that a charge with these labels counts toward
// at a time: its own, and those of data sets that it counts toward. It fails when
// budgets with windows cover the labels and none of a series is open.
func (d *dataset) applicable(labels map[string]string, at int64) ([]*account, error) {
	var found []*account
	for _, x := range d.closure() {
		own, err := x.own(labels, at)
		if err != nil {
			return nil, err
		}
		found = append(found, own...)
	}
	return found, nil
}

func (d *dataset) own(labels map[string]string, at int64) ([]*account, error) {
	var found []*account
	for _, a := range d.accounts {
		if !a.covers(labels) {
			continue
		}
		if a.open(at) {
			found = append(found, a)
			continue
		}
		if !slices.ContainsFunc(d.accounts, func(o *account) bool { return o.windowed() && o.sameScope(&a.Budget) && o.open(at) }) {
			return nil, &RefusedError{Dataset: d.fingerprint, Budget: a.Name, Closed: true}
		}
	}
	return found, nil
}

func (d *dataset) reserve(r chain.Row, b *reserveRecord) *charge {
	c := &charge{
		Charge: Charge{
			ID: chargeID(r), Dataset: d.fingerprint, Row: r.Seq, State: Reserved, Coverage: b.Coverage,
			Run: b.Run, Key: b.Key, Reserved: when(r.At), Series: b.Series, Costs: b.Costs,
		},
		at: r.At, booked: b.booked, costs: map[*account]Cost{}, drawn: tally{},
	}
	costs := b.Costs
	for _, x := range d.closure() {
		accounts, _ := x.own(b.Labels, r.At) // admitted
		for _, a := range accounts {
			var cost Cost
			if a.Composition == Sums {
				cost, costs = costs[0], costs[1:] // in the order of applicable
			}
			x.count(c, a, cost)
		}
		x.charges = append(x.charges, c)
	}
	return c
}

// chargeID is made of the hash of the row that reserves the charge.
func chargeID(r chain.Row) ChargeID { return ChargeID(hex.EncodeToString(r.Hash[:12])) }

func (c *charge) commit(r chain.Row, b *commitRecord) {
	if b.Spent != "" {
		for _, a := range c.accounts {
			a.remove(c.booked)
			a.add(b.booked, Cost{})
		}
		c.booked, c.Spent = b.booked, b.Spent
	}
	c.end(Committed, r, "")
}

func (c *charge) end(to State, r chain.Row, reason string) {
	for _, a := range c.accounts {
		a.states[c.State]--
		a.states[to]++
	}
	c.State, c.Ended, c.EndRow, c.Reason = to, when(r.At), r.Seq, reason
}

func (d *dataset) account(name string) *account {
	for _, a := range d.accounts {
		if a.Name == name {
			return a
		}
	}
	return nil
}

func when(at int64) time.Time { return time.UnixMicro(at).UTC() }
