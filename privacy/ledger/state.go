package ledger

import (
	"fmt"

	"sotto/privacy/ledger/chain"
)

// state is what the rows up to a head amount to. It is a function of the rows
// alone, so every process that has read the same rows has the same state.
type state struct {
	rows chain.Verifier
	log  chain.Hash // of the first row
	// datasets are by the fingerprint under which they were entered, versions by each
	// that they were ever known by.
	datasets map[Fingerprint]*dataset
	versions map[Fingerprint]*dataset
	names    map[string]*dataset
	order    []*dataset
	charges  map[ChargeID]*charge
	keys     map[string]keyed
	// keyID names the one key that data sets are known by; empty if there is none yet.
	keyID string
	// parsed remembers events: most charges repeat one.
	parsed map[string]*booked
}

// keyed is the row that used a key, and the charge it made, if it did.
type keyed struct {
	kind, subject, body string
	charge              *charge
}

func newState() *state {
	return &state{
		datasets: map[Fingerprint]*dataset{},
		versions: map[Fingerprint]*dataset{},
		names:    map[string]*dataset{},
		charges:  map[ChargeID]*charge{},
		keys:     map[string]keyed{},
		parsed:   map[string]*booked{},
	}
}

// event parses an event, once.
func (s *state) event(text string) (*booked, error) {
	if b, ok := s.parsed[text]; ok {
		return b, nil
	}
	b, err := parseBooked(text)
	if err == nil {
		s.parsed[text] = b
	}
	return b, err
}

// apply moves the state over the next row, or leaves it as it is and says why
// the row cannot stand there.
func (s *state) apply(r chain.Row) error {
	rows := s.rows
	if err := rows.Next(r); err != nil {
		return err
	}
	if err := s.fold(r); err != nil {
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
		d.addBudget(r, b)
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
	}
	if key := body.key(); key != "" {
		s.keys[key] = keyed{r.Kind, r.Subject, r.Body, c}
	}
	return nil
}

// admits reports why a record about a data set cannot be the next row. It
// decides about everything but whether a charge fits its budgets: that has to be
// measured, and is decided once, before the row is written.
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
			return &ExistsError{"budget", b.Budget.Name}
		}
		return b.Budget.checkBeside(&d.accounts[0].Budget)
	case *grantRecord:
		return d.admitsChange(b, 1)
	case *revokeRecord:
		return d.admitsChange(&b.grantRecord, -1)
	case *versionRecord:
		if known := s.versions[b.Fingerprint]; known != nil && known != d {
			return &ExistsError{"data set", known.title()}
		}
		return s.sameKey(b.KeyID, "")
	case *linkRecord:
		return s.admitsLinks(d, &d.accounts[0].Budget, b.Toward, b.Apart)
	case *reserveRecord:
		return d.admitsReserve(b, at)
	case *commitRecord:
		c, err := s.reserved(d, b.Charge, Committed)
		if err == nil && b.Spent != "" {
			err = c.admitsHandBack(b.booked)
		}
		return err
	case *forfeitRecord:
		_, err := s.reserved(d, b.Charge, Forfeited)
		return err
	}
	return fmt.Errorf("rows of kind %q are not known", r.kind())
}

func (s *state) admitsDataset(f Fingerprint, b *datasetRecord) error {
	switch {
	case s.versions[f] != nil:
		return &ExistsError{"data set", s.versions[f].title()}
	case b.Name != "" && s.names[b.Name] != nil:
		return &ExistsError{"data set", b.Name}
	}
	if err := s.sameKey(b.KeyID, ""); err != nil {
		return err
	}
	if err := s.admitsLinks(nil, &b.Budget, b.Toward, b.Apart); err != nil {
		return err
	}
	return f.check()
}

func (d *dataset) admitsChange(g *grantRecord, sign int64) error {
	a := d.account(g.Budget)
	if a == nil {
		return input("the data set has no budget %q", g.Budget)
	}
	_, _, err := a.changed(g, sign)
	return err
}

func (d *dataset) admitsReserve(b *reserveRecord, at int64) error {
	g := d.accounts[0]
	if b.Adjacency != g.Adjacency {
		return &MismatchError{"adjacency", string(g.Adjacency), string(b.Adjacency)}
	}
	if b.Unit != g.Unit {
		return &MismatchError{"unit", string(g.Unit), string(b.Unit)}
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

// admitsHandBack checks that a charge may shrink to what was spent.
func (c *charge) admitsHandBack(spent *booked) error {
	for _, a := range c.accounts {
		if a.Composition != Adaptive {
			return &StateError{c.ID, c.State, Committed, fmt.Sprintf("budget %q is planned, and unspent steps can be handed back to adaptive budgets only", a.Name)}
		}
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

// find looks a data set up by the fingerprint of a version, or by name.
func (s *state) find(name string) (*dataset, error) {
	if d := s.versions[Fingerprint(name)]; d != nil {
		return d, nil
	}
	if d := s.names[name]; d != nil {
		return d, nil
	}
	return nil, &UnknownDatasetError{name}
}

// replay looks the key of a record up: nil if it was not used, the row that used
// it if that has the same content, else a [*KeyError].
func (s *state) replay(subject Fingerprint, r record) (*keyed, error) {
	used, ok := s.keys[r.key()]
	if !ok {
		return nil, nil
	}
	body, err := encode(r)
	if err != nil {
		return nil, err
	}
	if used.kind != r.kind() || used.subject != string(subject) || used.body != body {
		return nil, &KeyError{r.key()}
	}
	return &used, nil
}
