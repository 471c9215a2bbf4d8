package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

// The kinds of rows.
const (
	kindLedger  = "ledger"
	kindDataset = "dataset"
	kindBudget  = "budget"
	kindGrant   = "grant"
	kindRevoke  = "revoke"
	kindVersion = "version"
	kindLink    = "link"
	kindReserve = "reserve"
	kindCommit  = "commit"
	kindForfeit = "forfeit"
	kindDraw    = "draw"
)

// record is the body of a row. Each kind of row has one form: what decodes must encode to
// the same text, so equal content is equal text and a row has no unread parts.
type record interface {
	kind() string
	// key returns the idempotency key, empty if the row has none.
	key() string
	// check validates the record alone.
	check() error
}

// ledgerRecord is the first row.
type ledgerRecord struct {
	Format int `json:"format"`
}

// format is the version of the meaning of rows. A program must not fold rows whose meaning
// it does not know.
const format = 3

// datasetRecord introduces the data set that the row is about.
type datasetRecord struct {
	Name   string `json:"name"`
	Budget Budget `json:"budget"`
	Reason string `json:"reason,omitempty"`
	Key    string `json:"key,omitempty"`
	// KeyID and Sketch of its first version.
	KeyID  string        `json:"key_id,omitempty"`
	Sketch sketch.Sketch `json:"sketch,omitzero"`
	// Toward are data sets that its charges also count toward. Apart are those that share
	// rows with it but, as its owner states, no people.
	Toward []Fingerprint `json:"toward,omitempty"`
	Apart  []Fingerprint `json:"apart,omitempty"`
}

// versionRecord adds a state of its data to a data set. Reason is set if its owner decided
// so.
type versionRecord struct {
	Fingerprint Fingerprint   `json:"fingerprint"`
	KeyID       string        `json:"key_id,omitempty"`
	Sketch      sketch.Sketch `json:"sketch,omitzero"`
	Reason      string        `json:"reason,omitempty"`
}

// linkRecord is the owner's decision about the people of a data set and of others.
type linkRecord struct {
	Toward []Fingerprint `json:"toward,omitempty"`
	Apart  []Fingerprint `json:"apart,omitempty"`
	Reason string        `json:"reason"`
}

// budgetRecord adds a budget to a data set.
type budgetRecord struct {
	Budget Budget `json:"budget"`
	Reason string `json:"reason,omitempty"`
	Key    string `json:"key,omitempty"`
}

// grantRecord raises a budget, a revokeRecord lowers it.
type grantRecord struct {
	Budget  string  `json:"budget"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Reason  string  `json:"reason"`
	Key     string  `json:"key,omitempty"`
}

type revokeRecord struct{ grantRecord }

// reserveRecord makes a charge.
type reserveRecord struct {
	Coverage
	Run    string `json:"run"`
	Key    string `json:"key"`
	Series bool   `json:"series,omitempty"`
	// Costs are its costs to the sums budgets that it counts toward, in their order. The
	// ledger computes them: they are not part of the request.
	Costs []Cost `json:"costs,omitempty"`

	booked *chargedEvent
}

// drawRecord takes one use out of a series.
type drawRecord struct {
	Charge ChargeID `json:"charge"`
	Coverage
	Run string `json:"run"`
	Key string `json:"key"`

	booked *chargedEvent
}

// commitRecord ends a charge; Spent is set when part of it was handed back.
type commitRecord struct {
	Charge ChargeID `json:"charge"`
	Spent  string   `json:"spent,omitempty"`

	booked *chargedEvent
}

type forfeitRecord struct {
	Charge ChargeID `json:"charge"`
	Reason string   `json:"reason"`
}

func (*ledgerRecord) kind() string  { return kindLedger }
func (*datasetRecord) kind() string { return kindDataset }
func (*budgetRecord) kind() string  { return kindBudget }
func (*grantRecord) kind() string   { return kindGrant }
func (*revokeRecord) kind() string  { return kindRevoke }
func (*versionRecord) kind() string { return kindVersion }
func (*linkRecord) kind() string    { return kindLink }
func (*reserveRecord) kind() string { return kindReserve }
func (*commitRecord) kind() string  { return kindCommit }
func (*forfeitRecord) kind() string { return kindForfeit }
func (*drawRecord) kind() string    { return kindDraw }

func (*ledgerRecord) key() string    { return "" }
func (r *datasetRecord) key() string { return r.Key }
func (r *budgetRecord) key() string  { return r.Key }
func (r *grantRecord) key() string   { return r.Key }
func (*versionRecord) key() string   { return "" }
func (*linkRecord) key() string      { return "" }
func (r *reserveRecord) key() string { return r.Key }
func (*commitRecord) key() string    { return "" }
func (*forfeitRecord) key() string   { return "" }
func (r *drawRecord) key() string    { return r.Key }

// records makes an empty record of each kind.
var records = map[string]func() record{
	kindLedger:  func() record { return new(ledgerRecord) },
	kindDataset: func() record { return new(datasetRecord) },
	kindBudget:  func() record { return new(budgetRecord) },
	kindGrant:   func() record { return new(grantRecord) },
	kindRevoke:  func() record { return new(revokeRecord) },
	kindVersion: func() record { return new(versionRecord) },
	kindLink:    func() record { return new(linkRecord) },
	kindReserve: func() record { return new(reserveRecord) },
	kindCommit:  func() record { return new(commitRecord) },
	kindForfeit: func() record { return new(forfeitRecord) },
	kindDraw:    func() record { return new(drawRecord) },
}

func encode(r record) (string, error) {
	b, err := json.Marshal(r)
	return string(b), err
}

// decode reads the body of a row. parse reads an event.
func decode(kind, body string, parse func(string) (*chargedEvent, error)) (record, error) {
	empty, known := records[kind]
	if !known {
		return nil, fmt.Errorf("rows of kind %q are not known", kind)
	}
	r := empty()
	if err := bounded.UnmarshalJSON([]byte(body), bounded.Large, r); err != nil {
		return nil, fmt.Errorf("the body of a %s row cannot be read", kind)
	}
	// Fields that are unknown, repeated or out of order are gone now.
	if again, err := encode(r); err != nil || again != body {
		return nil, fmt.Errorf("the body of a %s row is not in its one form", kind)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	var err error
	switch r := r.(type) {
	case *reserveRecord:
		r.booked, err = parse(r.Event)
	case *drawRecord:
		r.booked, err = parse(r.Event)
	case *commitRecord:
		if r.Spent != "" {
			r.booked, err = parse(r.Spent)
		}
	}
	return r, err
}

// parseEvent reads a canonical event.
func parseEvent(text string) (*chargedEvent, error) {
	e, err := privacy.Parse(text)
	if err != nil {
		return nil, err
	}
	if err := checkProven(e); err != nil {
		return nil, err
	}
	b, err := newChargedEvent(e)
	if err == nil && b.text != text {
		err = fmt.Errorf("the event %s is not in canonical form", text)
	}
	return b, err
}

// checkProven refuses events without a guarantee. It looks at the event as given,
// before the canonical form can drop a part.
func checkProven(e privacy.Event) error {
	return privacy.Walk(e, func(node privacy.Event, offset int) error {
		if _, ok := node.(privacy.NonPrivate); ok {
			return &UnprovenError{Proven, e, offset}
		}
		return nil
	})
}

// maxEvent bounds the text of an event, so that rows stay small.
const maxEvent = 1 << 16

func (r *ledgerRecord) check() error {
	if r.Format != format {
		return &FormatError{Found: r.Format, Known: format}
	}
	return nil
}

func (r *datasetRecord) check() error {
	if r.Name != "" {
		if err := checkName("the name of a data set", r.Name); err != nil {
			return err
		}
	}
	minKeys := min(1, len(r.Toward)+len(r.Apart))
	return cmp.Or(r.Budget.checkGlobal(), checkIdentity(r.KeyID, r.Sketch), checkLinks(r.Toward, r.Apart), checkNotes(r.Reason, minKeys, r.Key, 0))
}

func (r *versionRecord) check() error {
	return cmp.Or(r.Fingerprint.check(), checkIdentity(r.KeyID, r.Sketch), checkNotes(r.Reason, 0, "", 0))
}

func (r *linkRecord) check() error {
	if len(r.Toward)+len(r.Apart) == 0 {
		return input("a link names at least one data set")
	}
	return cmp.Or(checkLinks(r.Toward, r.Apart), checkNotes(r.Reason, 1, "", 0))
}

// maxLinks bounds the data sets that one is linked with in a row.
const maxLinks = 1024

func checkLinks(toward, apart []Fingerprint) error {
	all := slices.Concat(toward, apart)
	if len(all) > maxLinks {
		return input("a data set cannot be linked with %d others, at most %d are allowed", len(all), maxLinks)
	}
	for i, f := range all {
		if err := f.check(); err != nil {
			return err
		}
		if slices.Contains(all[:i], f) {
			return input("a link names the data set %s twice", f)
		}
	}
	return nil
}

func (r *budgetRecord) check() error {
	return cmp.Or(r.Budget.check(), checkNotes(r.Reason, 0, r.Key, 0))
}

func (r *grantRecord) check() error {
	if privacy.CheckEpsilon(r.Epsilon) != nil || privacy.CheckDelta(r.Delta) != nil || r.Epsilon+r.Delta == 0 {
		return input("a grant or revocation changes ε or δ by an amount above 0, not by ε %g and δ %g", r.Epsilon, r.Delta)
	}
	return checkNotes(r.Reason, 1, r.Key, 0)
}

func (r *reserveRecord) check() error {
	if err := cmp.Or(r.Coverage.check(), checkText("the run", r.Run, 1, 256)); err != nil {
		return err
	}
	for _, c := range r.Costs {
		if err := c.check(); err != nil {
			return err
		}
	}
	return checkNotes("", 0, r.Key, 1)
}

func (r *drawRecord) check() error {
	return cmp.Or(r.Coverage.check(), checkText("the run", r.Run, 1, 256), checkNotes("", 0, r.Key, 1))
}

func (r *commitRecord) check() error { return nil }

func (r *forfeitRecord) check() error { return checkNotes(r.Reason, 1, "", 0) }

func checkNotes(reason string, minReason int, key string, minKey int) error {
	return cmp.Or(checkText("the reason", reason, minReason, 1024), checkText("the key", key, minKey, 256))
}
