package ledger

import (
	"context"
	"encoding/json"
	"time"

	"sotto/privacy/ledger/chain"
	"sotto/privacy/sketch"
)

// InitRequest gives a data set its first budget.
type InitRequest struct {
	// Dataset is required.
	Dataset Fingerprint
	// Name is how people call the data set; it is stored as it is, so it must not
	// be secret. Default: none.
	Name string
	// Budget is the global budget, that every charge counts toward.
	Budget Budget
	// Sketch and KeyID are as in [Identity], KeyPath is for errors. Default: the data set
	// is known by its fingerprint alone.
	Sketch         sketch.Sketch
	KeyID, KeyPath string
	// NewPeople states that the data has other people than every data set that it shares
	// rows with. Reason is then required. Default: sharing rows is an [*OverlapError].
	NewPeople bool
	// Reason is for the record. Key, if given, makes the request repeatable.
	Reason, Key string
}

// BudgetRequest adds a budget to a data set.
type BudgetRequest struct {
	// Dataset is a fingerprint or name; required.
	Dataset string
	Budget  Budget
	// Reason is for the record. Key, if given, makes the request repeatable.
	Reason, Key string
}

// GrantRequest changes a budget by amounts; both are 0 or more.
type GrantRequest struct {
	// Dataset is a fingerprint or name; required.
	Dataset string
	// Budget is its name. Default: the global one.
	Budget         string
	Epsilon, Delta float64
	// Reason is required. Key, if given, makes the request repeatable.
	Reason, Key string
}

// Init enters a data set. It fails with an [*ExistsError] if the data set or its
// name is there already, and with an [*OverlapError] if its records are.
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
		r.Apart, err = s.others(&id, &req)
		return req.Dataset, r, err
	})
}

// others returns the data sets that new data shares rows with, all of which its owner
// states to have other people.
func (s *state) others(id *Identity, req *InitRequest) ([]Fingerprint, error) {
	if err := s.sameKey(id.KeyID, id.KeyPath); err != nil || id.Sketch.IsZero() {
		return nil, err
	}
	if used, ok := s.keys[req.Key]; ok && req.Key != "" {
		// A repeated request states what it stated, whatever was entered since.
		var was datasetRecord
		if used.kind == kindDataset && json.Unmarshal([]byte(used.body), &was) == nil {
			return was.Apart, nil
		}
	}
	if known := s.versions[id.Fingerprint]; known != nil {
		return nil, &ExistsError{"data set", known.title()}
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
		return d.fingerprint, &budgetRecord{b, req.Reason, req.Key}, nil
	})
}

// Grant raises a budget.
//
// What can be guaranteed in the end is the largest allowance that the budget
// ever had, provided that the decision to grant more did not itself depend on
// what was released.
func (l *Ledger) Grant(ctx context.Context, req GrantRequest) (Dataset, error) {
	return l.adjust(ctx, req, func(g grantRecord) record { return &g })
}

// Revoke lowers a budget. Charges made before stay; if they cost more than what
// is left, all further ones are refused.
func (l *Ledger) Revoke(ctx context.Context, req GrantRequest) (Dataset, error) {
	return l.adjust(ctx, req, func(g grantRecord) record { return &revokeRecord{g} })
}

func (l *Ledger) adjust(ctx context.Context, req GrantRequest, as func(grantRecord) record) (Dataset, error) {
	r := as(grantRecord{or(req.Budget, Global), req.Epsilon, req.Delta, req.Reason, req.Key})
	return l.own(ctx, req.Dataset, func(s *state) (Fingerprint, record, error) {
		d, err := s.find(req.Dataset)
		if err != nil {
			return "", nil, err
		}
		return d.fingerprint, r, nil
	})
}

// own writes a record of the owner and returns the data set as it then is. When
// its key was used for the same record before, it writes nothing.
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
	d.changes = append(d.changes, Change{r.Seq, when(r.At), kind, budget, epsilon, delta, reason})
}
