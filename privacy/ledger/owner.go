package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

// InitRequest gives a data set its first budget.
type InitRequest struct {
	// Dataset is required.
	Dataset Fingerprint
	// Name of the data set for people. It is stored as it is, so it must not be secret.
	// Default: none.
	Name string
	// Budget is the global budget, which every charge counts toward.
	Budget Budget
	// Sketch and KeyID are as in [Identity]; KeyPath is for errors. Default: the data set
	// is known by its fingerprint alone.
	Sketch         sketch.Sketch
	KeyID, KeyPath string
	// NewPeople states that the data has other people than every data set that it shares
	// rows with. It requires a Reason. Default: sharing rows is an [*OverlapError].
	NewPeople bool
	// Reason is for the record. Key, if given, makes the request idempotent.
	Reason, Key string
}

// BudgetRequest adds a budget to a data set.
type BudgetRequest struct {
	// Dataset is a fingerprint or name; required.
	Dataset string
	Budget  Budget
	// Reason is for the record. Key, if given, makes the request idempotent.
	Reason, Key string
}

// GrantRequest changes a budget by amounts of at least 0.
type GrantRequest struct {
	// Dataset is a fingerprint or name; required.
	Dataset string
	// Budget is its name. Default: the global one.
	Budget         string
	Epsilon, Delta float64
	// Reason is required. Key, if given, makes the request idempotent.
	Reason, Key string
}

// Init enters a data set. It fails with an [*ExistsError] if the data set or its name
// exists already, and with an [*OverlapError] if its records do.
func (l *Ledger) Init(ctx context.Context, req InitRequest) (Dataset, error) {
	req.Budget.normalize(nil)
	id := Identity{req.Dataset, req.Sketch, req.KeyID, req.KeyPath}
	if err := id.check(); err != nil {
		return Dataset{}, err
	}
	if req.NewPeople && req.Reason == "" {
		return Dataset{}, input("the reason is missing: say how you know that these are other people")
	}
	return l.own(ctx, string(req.Dataset), func(s *state) (Fingerprint, record, error) {
		r := &datasetRecord{Name: req.Name, Budget: req.Budget, Reason: req.Reason, Key: req.Key, KeyID: req.KeyID, Sketch: req.Sketch}
		var err error
		if r.Apart, err = s.others(&id, &req); err == nil {
			err = req.Budget.check()
		}
		return req.Dataset, r, err
	})
}

// others returns the data sets that new data shares rows with; its owner states that all of
// them have other people.
func (s *state) others(id *Identity, req *InitRequest) ([]Fingerprint, error) {
	if err := s.sameKey(id.KeyID, id.KeyPath); err != nil || id.Sketch.IsZero() {
		return nil, err
	}
	if used, ok := s.keys[req.Key]; ok && req.Key != "" {
		// A repeated request states the same as before, whatever was entered since.
		var was datasetRecord
		if used.kind == kindDataset && json.Unmarshal([]byte(used.asked), &was) == nil {
			return was.Apart, nil
		}
	}
	if known := s.versions[id.Fingerprint]; known != nil {
		return nil, &ExistsError{What: "data set", Name: known.title(), Records: true}
	}
	related, err := s.related(id.Sketch)
	if err != nil || len(related) == 0 {
		return nil, err
	}
	if !req.NewPeople {
		return nil, overlapError(id, nil, related)
	}
	var list []Fingerprint
	for _, r := range related {
		list = append(list, r.dataset.fingerprint)
	}
	return list, nil
}

// AddBudget adds a budget to a data set. Charges made before count toward it if
// they are within its scope and window.
func (l *Ledger) AddBudget(ctx context.Context, req BudgetRequest) (Dataset, error) {
	return l.own(ctx, req.Dataset, func(s *state) (Fingerprint, record, error) {
		d, err := s.find(req.Dataset)
		if err != nil {
			return "", nil, err
		}
		b := req.Budget
		b.normalize(&d.accounts[0].Budget)
		return d.fingerprint, &budgetRecord{b, req.Reason, req.Key}, b.check()
	})
}

// Grant raises a budget.
//
// The guarantee is then the larger allowance, also when the grant was decided after looking
// at releases (composition.go has the argument).
func (l *Ledger) Grant(ctx context.Context, req GrantRequest) (Dataset, error) {
	return l.adjust(ctx, req, 1, func(g grantRecord) record { return &g })
}

// Revoke lowers a budget. Earlier charges stay; if they cost more than what is left, all
// further ones are refused.
func (l *Ledger) Revoke(ctx context.Context, req GrantRequest) (Dataset, error) {
	return l.adjust(ctx, req, -1, func(g grantRecord) record { return &revokeRecord{g} })
}

func (l *Ledger) adjust(ctx context.Context, req GrantRequest, sign int64, as func(grantRecord) record) (Dataset, error) {
	g := grantRecord{Budget: cmp.Or(req.Budget, Global), Epsilon: req.Epsilon, Delta: req.Delta, Reason: req.Reason, Key: req.Key}
	return l.own(ctx, req.Dataset, func(s *state) (Fingerprint, record, error) {
		d, err := s.find(req.Dataset)
		if err != nil {
			return "", nil, err
		}
		return d.fingerprint, as(g), nil
	})
}

// own writes a record of the owner and returns the resulting data set. If its key was used
// for the same record before, it writes nothing.
func (l *Ledger) own(ctx context.Context, name string, build func(*state) (Fingerprint, record, error)) (Dataset, error) {
	var view Dataset
	var viewed error
	err := l.write(ctx, func(s *state, at int64) (*change, error) {
		subject, r, err := build(s)
		if err != nil {
			return nil, err
		}
		if err := r.check(); err != nil {
			return nil, err
		}
		if used, err := s.replay(subject, r); err != nil || used != nil {
			return nil, err
		}
		return &change{subject: subject, record: r}, nil
	}, func(s *state, _ *chain.Row) {
		d, err := s.find(name)
		if err == nil {
			view, err = s.view(d, l.meter, l.now(s))
		}
		viewed = err
	})
	if err != nil {
		return Dataset{}, err
	}
	return view, viewed
}

// Change is a row about a budget.
type Change struct {
	Row  int64     `json:"row"`
	Time time.Time `json:"time"`
	Kind string    `json:"kind"` // budget, grant or revoke
	// Budget is changed by Epsilon and Delta.
	Budget  string  `json:"budget"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Reason  string  `json:"reason,omitempty"`
}

func (d *dataset) changed(r chain.Row, kind, budget string, epsilon, delta float64, reason string) {
	d.changes = append(d.changes, Change{Row: r.Seq, Time: when(r.At), Kind: kind, Budget: budget, Epsilon: epsilon, Delta: delta, Reason: reason})
}
