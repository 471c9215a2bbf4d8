package ledger

import (
	"cmp"
	"context"
	"slices"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// LinkRequest states whose records some data holds.
type LinkRequest struct {
	Identity
	// Datasets are the fingerprints or names of data sets; required.
	Datasets []string
	// NewPeople states that the data has other people than these data sets, although rows
	// are shared. It is only for data that is in the ledger; otherwise see [InitRequest].
	NewPeople bool
	// Apart are the fingerprints or names of data sets that share rows with new data and have
	// other people, as their owners state. The data then becomes a data set of its own.
	Apart []string
	// Name of a new data set, for data with people of several.
	Name string
	// Reason is required.
	Reason string
}

// Link states that data has people of data sets, so that its charges count toward their
// budgets.
//
// New data with people of one data set becomes a version of it. New data with people of
// several becomes a data set of its own, with a global budget like the smallest of theirs,
// and each charge to it counts toward all of them: it fits every budget, or is refused.
// Data that is in the ledger keeps its budgets, and counts toward the others in addition,
// also with what was charged before.
//
// With NewPeople it states the opposite, about data that is in the ledger.
//
// Why that is sound: let a person be in a data set X and in linked data F. The charges of F
// and those of X are all in the accounts of X, so that together they cost at most the
// budget of X. Someone who is in F alone has charges that are all in the accounts of X too.
func (l *Ledger) Link(ctx context.Context, req LinkRequest) (Dataset, error) {
	if err := req.check(); err != nil {
		return Dataset{}, err
	}
	switch {
	case len(req.Datasets) == 0:
		return Dataset{}, input("name the data sets that the data has people of")
	case req.Reason == "":
		return Dataset{}, input("the reason is missing: say how you know whose records these are")
	}
	return l.own(ctx, string(req.Fingerprint), func(s *state) (Fingerprint, record, error) { return s.link(&req) })
}

// link chooses the row that a request writes.
func (s *state) link(req *LinkRequest) (Fingerprint, record, error) {
	if err := s.sameKey(req.KeyID, req.KeyPath); err != nil {
		return "", nil, err
	}
	to, err := s.named(req.Datasets)
	if err != nil {
		return "", nil, err
	}
	apart, err := s.named(req.Apart)
	if err != nil {
		return "", nil, err
	}
	exact := s.versions[req.Fingerprint]
	if exact != nil && len(apart) > 0 {
		return "", nil, input("the data is in the ledger already: what it is apart from is stated by itself (sotto ledger link --new-people)")
	}
	if exact != nil {
		r := &linkRecord{Toward: fingerprints(to), Reason: req.Reason}
		if req.NewPeople {
			r.Toward, r.Apart = nil, r.Toward
		}
		return exact.fingerprint, r, nil
	}
	if req.NewPeople {
		return "", nil, input("the data is not in the ledger: enter it as new people (sotto ledger init --new-people)")
	}
	if err := s.covers(to, apart, &req.Identity); err != nil {
		return "", nil, err
	}
	if len(to) == 1 && len(apart) == 0 {
		return to[0].fingerprint, &versionRecord{
			Fingerprint: req.Fingerprint, KeyID: req.KeyID, Sketch: req.Sketch, Reason: req.Reason,
		}, nil
	}
	return req.Fingerprint, &datasetRecord{
		Name: req.Name, Budget: smallest(to), Reason: req.Reason,
		KeyID: req.KeyID, Sketch: req.Sketch, Toward: fingerprints(to), Apart: fingerprints(apart),
	}, nil
}

// named finds data sets by their names or fingerprints, each once.
func (s *state) named(names []string) (list []*dataset, err error) {
	for _, name := range names {
		d, err := s.find(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list, nil
}

// covers checks every data set that shares records with some data: the data must be linked
// with it or with one that counts toward it, or be stated to be apart.
func (s *state) covers(to, others []*dataset, id *Identity) error {
	if id.Sketch.IsZero() {
		return nil
	}
	related, err := s.related(id.Sketch)
	if err != nil {
		return err
	}
	related = slices.DeleteFunc(related, func(r relative) bool {
		if slices.Contains(others, r.dataset) {
			return true
		}
		apart := true
		for _, d := range to {
			if slices.Contains(d.closure(), r.dataset) {
				return true
			}
			apart = apart && d.apart[r.dataset]
		}
		return apart
	})
	if len(related) > 0 {
		return overlapError(id, nil, related)
	}
	return nil
}

// smallest returns the global budget of the data set that allows least.
func smallest(of []*dataset) Budget {
	smallest := slices.MinFunc(of, func(a, b *dataset) int {
		x, y := a.accounts[0], b.accounts[0]
		return cmp.Or(cmp.Compare(x.Epsilon, y.Epsilon), cmp.Compare(x.Delta, y.Delta))
	}).accounts[0].Budget
	// The composition of their budgets was chosen for each of them alone.
	smallest.Composition, smallest.Orders = Sums, nil
	return smallest
}

func fingerprints(of []*dataset) []Fingerprint {
	list := make([]Fingerprint, len(of))
	for i, d := range of {
		list[i] = d.fingerprint
	}
	return list
}

// admitsLinks checks a row that links a data set, which is nil if the row makes it.
func (s *state) admitsLinks(d *dataset, b *Budget, toward, apart []Fingerprint) error {
	for _, f := range slices.Concat(toward, apart) {
		t := s.datasets[f]
		switch {
		case t == nil:
			return &UnknownDatasetError{string(f)}
		case t == d:
			return input("a data set cannot be linked with itself")
		}
	}
	for _, f := range toward {
		t := s.datasets[f]
		if d != nil && slices.Contains(d.closure(), t) {
			return input("the charges of %q count toward %q already", d.title(), t.title())
		}
		if d != nil && slices.Contains(t.closure(), d) {
			return input("the charges of %q count toward %q, so that the other way round they would count in a circle", t.title(), d.title())
		}
		if err := t.accounts[0].sameNeighbours(b.Adjacency, b.Unit); err != nil {
			return err
		}
	}
	return nil
}

// addLinks applies the decisions of a row. What was charged to the data set also counts
// toward those that it is linked with, in full, even beyond what they allow.
func (s *state) addLinks(d *dataset, r chain.Row, toward, apart []Fingerprint, reason string) {
	for _, f := range apart {
		t := s.datasets[f]
		d.apart[t], t.apart[d] = true, true
		d.links = append(d.links, Link{r.Seq, when(r.At), "apart", f, t.name, reason})
		t.links = append(t.links, Link{r.Seq, when(r.At), "apart", d.fingerprint, d.name, reason})
	}
	for _, f := range toward {
		t := s.datasets[f]
		d.toward = append(d.toward, t)
		d.links = append(d.links, Link{r.Seq, when(r.At), "toward", f, t.name, reason})
		for _, x := range t.closure() {
			there := make(map[*charge]bool, len(x.charges))
			for _, c := range x.charges {
				there[c] = true
			}
			for _, c := range d.charges {
				if !there[c] {
					s.take(x, c)
				}
			}
		}
	}
}

// take counts an earlier charge of another data set.
func (s *state) take(d *dataset, c *charge) {
	d.charges = append(d.charges, c)
	for _, a := range d.accounts {
		s.countLate(d, c, a)
	}
}

// countLate counts a charge that was made before it could count toward an account.
func (s *state) countLate(d *dataset, c *charge, a *account) {
	if a.covers(c.Labels) && a.open(c.at) {
		d.count(c, a, s.unfixed(c, a))
		a.late = true
	}
}

// unfixed returns what an earlier charge costs a sums budget: the cost fixed for another
// sums budget at the time. Where none was fixed, everything charged to its data set before
// counts as one charge of that data set's whole allowance, which was fixed too: the first
// of them costs that, the others nothing more.
func (s *state) unfixed(c *charge, a *account) Cost {
	if a.Composition != Sums {
		return Cost{}
	}
	if len(c.Costs) > 0 {
		return c.Costs[0]
	}
	if a.whole[c.Dataset] {
		return Cost{}
	}
	if a.whole == nil {
		a.whole = map[Fingerprint]bool{}
	}
	a.whole[c.Dataset] = true
	granted := s.datasets[c.Dataset].accounts[0].max
	return Cost{Epsilon: granted.epsilon, Delta: granted.delta}
}

// count adds a charge to an account. Budgets of other data sets go by both names; names of
// budgets have no colon.
func (d *dataset) count(c *charge, a *account, cost Cost) {
	if a.Composition == Sums {
		c.costs[a] = cost
	}
	a.add(c.booked, cost)
	a.states[c.State]++
	c.accounts = append(c.accounts, a)
	c.Budgets = append(c.Budgets, d.budgetName(a, c.Dataset))
}

// budgetName returns the name of a budget among those of a data set.
func (d *dataset) budgetName(a *account, of Fingerprint) string {
	if d.fingerprint == of {
		return a.Name
	}
	return d.title() + ":" + a.Name
}
