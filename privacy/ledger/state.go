package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// state is the fold of the rows up to a head. It is a function of the rows alone, so every
// process that has read the same rows has the same state.
type state struct {
	rows chain.Verifier
	log  chain.Hash // of the first row
	// datasets are by the fingerprint under which they were entered, versions by every
	// fingerprint they ever had.
	datasets map[Fingerprint]*dataset
	versions map[Fingerprint]*dataset
	names    map[string]*dataset
	order    []*dataset
	charges  map[ChargeID]*charge
	keys     map[string]keyUse
	// keyID names the key by which data sets are identified; empty if there is none yet.
	keyID string
	// parsed remembers events: most charges repeat one.
	parsed map[string]*chargedEvent
}

// keyUse is the row that used a key, what was requested with it, and the charge that it made
// or drew from, if any.
type keyUse struct {
	kind, subject, asked string
	charge               *charge
}

func newState() *state {
	return &state{
		datasets: map[Fingerprint]*dataset{},
		versions: map[Fingerprint]*dataset{},
		names:    map[string]*dataset{},
		charges:  map[ChargeID]*charge{},
		keys:     map[string]keyUse{},
		parsed:   map[string]*chargedEvent{},
	}
}

// event parses an event, once.
func (s *state) event(text string) (*chargedEvent, error) {
	if b, ok := s.parsed[text]; ok {
		return b, nil
	}
	b, err := parseEvent(text)
	if err == nil {
		s.parsed[text] = b
	}
	return b, err
}

// apply moves the state over the next row, or leaves it unchanged and reports why the row
// cannot stand there.
func (s *state) apply(r chain.Row) error {
	rows := s.rows
	if err := rows.Next(r); err != nil {
		return err
	}
	err := s.fold(r)
	if other, ok := errors.AsType[*FormatError](err); ok && r.Seq == 1 {
		return other
	}
	if err != nil {
		return &TamperedError{Seq: r.Seq, Reason: "the row is not one that this program writes: " + err.Error()}
	}
	s.rows = rows
	return nil
}

func (s *state) fold(r chain.Row) error {
	body, err := decode(r.Kind, r.Body, s.event)
	if err != nil {
		return err
	}
	if (r.Seq == 1) != (r.Kind == kindLedger) {
		return fmt.Errorf("a %s row cannot stand here", r.Kind)
	}
	subject := Fingerprint(r.Subject)
	if err := s.admits(subject, r.At, body); err != nil {
		return err
	}
	d := s.datasets[subject]
	var c *charge
	switch b := body.(type) {
	case *ledgerRecord:
		s.log = r.Hash
	case *datasetRecord:
		s.addDataset(r, b)
	case *budgetRecord:
		s.addBudget(d, r, b)
	case *grantRecord:
		d.adjust(r, b, 1)
	case *revokeRecord:
		d.adjust(r, &b.grantRecord, -1)
	case *versionRecord:
		s.learn(d, r, b.Fingerprint, b.KeyID, b.Sketch, b.Reason)
	case *linkRecord:
		s.addLinks(d, r, b.Toward, b.Apart, b.Reason)
	case *reserveRecord:
		c = d.reserve(r, b)
		s.charges[c.ID] = c
	case *commitRecord:
		s.charges[b.Charge].commit(r, b)
	case *forfeitRecord:
		s.charges[b.Charge].end(Forfeited, r, b.Reason)
	case *drawRecord:
		c = s.charges[b.Charge]
		c.draw(b)
	}
	if key := body.key(); key != "" {
		s.keys[key] = keyUse{r.Kind, r.Subject, asked(body, r.Body), c}
	}
	return nil
}

// asked returns the part of a row that its writer requested, without what the ledger
// computed, which may differ another time.
func asked(r record, body string) string {
	switch r := r.(type) {
	case *reserveRecord:
		if len(r.Costs) > 0 {
			bare := *r
			bare.Costs = nil
			body, _ = encode(&bare) // a record that was decoded encodes
		}
	case *drawRecord:
		bare := *r
		bare.Charge = ""
		body, _ = encode(&bare)
	}
	return body
}

// admits returns an error if a record about a data set cannot be the next row. It decides
// everything except whether a charge fits its budgets: that has to be measured, and is
// decided once, before the row is written.
func (s *state) admits(subject Fingerprint, at int64, r record) error {
	if _, used := s.keys[r.key()]; used {
		return &KeyError{r.key()}
	}
	switch b := r.(type) {
	case *ledgerRecord:
		if subject != "" {
			return input("the first row is about no data set")
		}
		return nil
	case *datasetRecord:
		return s.admitsDataset(subject, b)
	}
	d := s.datasets[subject]
	if d == nil {
		return &UnknownDatasetError{string(subject)}
	}
	switch b := r.(type) {
	case *budgetRecord:
		if d.account(b.Budget.Name) != nil {
			return &ExistsError{What: "budget", Name: b.Budget.Name}
		}
		return cmp.Or(b.Budget.checkBeside(&d.accounts[0].Budget), d.admitsLate(&b.Budget))
	case *grantRecord:
		return d.admitsChange(b, 1)
	case *revokeRecord:
		return d.admitsChange(&b.grantRecord, -1)
	case *versionRecord:
		if known := s.versions[b.Fingerprint]; known != nil && known != d {
			return &ExistsError{What: "data set", Name: known.title(), Records: true}
		}
		return s.sameKey(b.KeyID, "")
	case *linkRecord:
		return s.admitsLinks(d, &d.accounts[0].Budget, b.Toward, b.Apart)
	case *reserveRecord:
		if err := d.admitsReserve(b, at); err != nil {
			return err
		}
		return d.admitsCosts(b, at)
	case *commitRecord:
		c, err := s.reserved(d, b.Charge, Committed)
		if err == nil && b.Spent != "" {
			err = c.admitsHandBack(b.booked)
		}
		return err
	case *forfeitRecord:
		_, err := s.reserved(d, b.Charge, Forfeited)
		return err
	case *drawRecord:
		c, err := s.reserved(d, b.Charge, Committed)
		if err != nil {
			return err
		}
		return c.pays(d, &b.Coverage, b.booked.terms, at)
	}
	return fmt.Errorf("rows of kind %q are not known", r.kind())
}

func (s *state) admitsDataset(f Fingerprint, b *datasetRecord) error {
	switch {
	case s.versions[f] != nil:
		return &ExistsError{What: "data set", Name: s.versions[f].title(), Records: b.Name == "" || s.names[b.Name] == nil}
	case b.Name != "" && s.names[b.Name] != nil:
		return &ExistsError{What: "data set", Name: b.Name}
	}
	return cmp.Or(s.sameKey(b.KeyID, ""), s.admitsLinks(nil, &b.Budget, b.Toward, b.Apart), f.check())
}

func (d *dataset) admitsChange(g *grantRecord, sign int64) error {
	a := d.account(g.Budget)
	if a == nil {
		return input("the data set has no budget %q", g.Budget)
	}
	_, _, err := a.changed(g, sign)
	return err
}

// admitsLate checks that a budget can count the charges made before it. Their costs must
// have been fixed when they were made.
func (d *dataset) admitsLate(b *Budget) error {
	global := &d.accounts[0].Budget
	fixed := b.Composition == global.Composition && slices.Equal(b.Orders, global.Orders)
	if fixed || !slices.ContainsFunc(d.charges, func(c *charge) bool { return b.covers(c.Labels) && b.open(c.at) }) {
		return nil
	}
	return input("budget %q would count charges that were made before it, and what they cost it was not fixed then: let it begin now (--from), or give it the composition of the global budget (%s)", b.Name, global.Composition)
}

func (d *dataset) admitsReserve(b *reserveRecord, at int64) error {
	if err := d.accounts[0].sameNeighbours(b.Adjacency, b.Unit); err != nil {
		return err
	}
	accounts, err := d.applicable(b.Labels, at)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		if err := a.room(b.booked); err != nil {
			return err
		}
	}
	return nil
}

// admitsCosts checks that a charge has a cost for each sums budget, and for no other.
func (d *dataset) admitsCosts(b *reserveRecord, at int64) error {
	accounts, err := d.applicable(b.Labels, at)
	if err != nil {
		return err
	}
	costs := b.Costs
	for _, a := range accounts {
		if a.Composition != Sums {
			continue
		}
		if len(costs) == 0 || costs[0].Budget != a.Name {
			return input("the charge has no cost for budget %q", a.Name)
		}
		costs = costs[1:]
	}
	if len(costs) > 0 {
		return input("the charge has a cost for budget %q, which is none that adds up costs", costs[0].Budget)
	}
	return nil
}

// admitsHandBack checks that a charge may shrink to what was spent.
func (c *charge) admitsHandBack(spent *chargedEvent) error {
	for _, a := range c.accounts {
		if a.Composition != Adaptive {
			return &StateError{c.ID, c.State, Committed, fmt.Sprintf("the composition of budget %q is %s, and unspent steps can be handed back to adaptive budgets only", a.Name, a.Composition)}
		}
	}
	if !shrinks(slices.Collect(maps.Values(c.drawn)), spent.terms) {
		return &StateError{c.ID, c.State, Committed, "more was drawn from the series than is to count as spent"}
	}
	if !shrinks(spent.terms, c.booked.terms) {
		return &StateError{c.ID, c.State, Committed, "what was spent is not a part of what was reserved: it may only run the same events fewer times"}
	}
	return nil
}

// reserved finds a charge of a data set that is in state reserved.
func (s *state) reserved(d *dataset, id ChargeID, to State) (*charge, error) {
	c := s.charges[id]
	if c == nil || c.Dataset != d.fingerprint {
		return nil, &UnknownChargeError{id}
	}
	if c.State != Reserved {
		return nil, &StateError{id, c.State, to, "it has ended"}
	}
	return c, nil
}

// find looks up a data set by the fingerprint of a version, or by name.
func (s *state) find(name string) (*dataset, error) {
	if d := s.versions[Fingerprint(name)]; d != nil {
		return d, nil
	}
	if d := s.names[name]; d != nil {
		return d, nil
	}
	return nil, &UnknownDatasetError{name}
}

// replay looks up the key of a record: nil if it was not used, the row that used it if that
// has the same content, otherwise a [*KeyError].
func (s *state) replay(subject Fingerprint, r record) (*keyUse, error) {
	used, ok := s.keys[r.key()]
	if !ok {
		return nil, nil
	}
	body, err := encode(r)
	if err != nil {
		return nil, err
	}
	if used.kind != r.kind() || used.subject != string(subject) || used.asked != asked(r, body) {
		return nil, &KeyError{r.key()}
	}
	return &used, nil
}
