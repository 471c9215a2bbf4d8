package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger/chain"
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
	// Schedule is what a planned budget with a schedule pays for in addition. By itself it
	// must cost at most Epsilon at Delta.
	Schedule privacy.Event
	// Beforehand states that the grant was decided before anything was released. Budgets
	// that hold only for what was decided beforehand take no other grants.
	Beforehand bool
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
		r := &datasetRecord{Name: req.Name, Budget: req.Budget, Reason: req.Reason, Key: req.Key, KeyID: req.KeyID, Sketch: req.Sketch.Stored()}
		var err error
		if r.Apart, err = s.others(&id, &req); err == nil {
			err = l.newBudget(&req.Budget, nil)
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

// newBudget checks the requirements of new budgets, which old ledgers may lack, and that
// its schedule fits it.
func (l *Ledger) newBudget(b, like *Budget) error {
	if err := b.check(); err != nil {
		return err
	}
	if err := b.checkNew(like); err != nil || b.Schedule == "" {
		return err
	}
	r := registration{b.Schedule, Cost{Epsilon: b.Epsilon, Delta: b.Delta}}
	return r.affordable(l.meter, b.Adjacency)
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
		like := &d.accounts[0].Budget
		b.normalize(like)
		return d.fingerprint, &budgetRecord{b, req.Reason, req.Key}, l.newBudget(&b, like)
	})
}

// Grant raises a budget.
//
// The guarantee is then the larger allowance, also when the grant was decided after looking
// at releases. Planned budgets without a schedule, and adaptive ones of old ledgers, are no
// longer covered then: they take a grant only with the statement that it was decided
// beforehand, which the ledger keeps. A planned budget with a schedule is raised together
// with its schedule (composition.go has the argument).
func (l *Ledger) Grant(ctx context.Context, req GrantRequest) (Dataset, error) {
	return l.adjust(ctx, req, 1, func(g grantRecord) record { return &g })
}

// Revoke lowers a budget. Earlier charges stay; if they cost more than what is left, all
// further ones are refused.
func (l *Ledger) Revoke(ctx context.Context, req GrantRequest) (Dataset, error) {
	if req.Schedule != nil || req.Beforehand {
		return Dataset{}, input("a revocation takes no schedule and has no condition")
	}
	return l.adjust(ctx, req, -1, func(g grantRecord) record { return &revokeRecord{g} })
}

func (l *Ledger) adjust(ctx context.Context, req GrantRequest, sign int64, as func(grantRecord) record) (Dataset, error) {
	g := grantRecord{Budget: cmp.Or(req.Budget, Global), Epsilon: req.Epsilon, Delta: req.Delta, Reason: req.Reason, Key: req.Key, Beforehand: req.Beforehand}
	if req.Schedule != nil {
		var err error
		if g.Schedule, err = Schedule(req.Schedule); err != nil {
			return Dataset{}, err
		}
	}
	return l.own(ctx, req.Dataset, func(s *state) (Fingerprint, record, error) {
		d, err := s.find(req.Dataset)
		if err != nil {
			return "", nil, err
		}
		if a := d.account(g.Budget); a != nil && sign > 0 {
			err = l.newGrant(a, &g)
		}
		return d.fingerprint, as(g), err
	})
}

// newGrant checks the requirements of new grants, which old ledgers may lack.
func (l *Ledger) newGrant(a *account, g *grantRecord) error {
	if !a.grantable() && !g.Beforehand {
		return input("budget %q %s: a grant that was decided after looking at a release is not covered; if this one was decided before anything was released, say so (--decided-beforehand); else make a new data set budget that adds up sums, with what the old one has spent taken off", a.Name, a.basis())
	}
	if g.Beforehand && a.grantable() {
		return input("budget %q holds for grants that are decided after looking too: leave --decided-beforehand out", a.Name)
	}
	if g.Schedule == "" || a.plan == nil {
		return nil
	}
	r := registration{g.Schedule, Cost{Epsilon: g.Epsilon, Delta: g.Delta}}
	return r.affordable(l.meter, a.Adjacency)
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
	// Schedule is what a grant added to the schedule of its budget.
	Schedule string `json:"schedule,omitempty"`
	// Condition states when a grant is sound; empty means always.
	Condition string `json:"condition,omitempty"`
}

func (d *dataset) changed(r chain.Row, kind, budget string, epsilon, delta float64, reason string) {
	d.changes = append(d.changes, Change{Row: r.Seq, Time: when(r.At), Kind: kind, Budget: budget, Epsilon: epsilon, Delta: delta, Reason: reason})
}

// grantedFor notes the purpose of a grant and the condition on which it is sound.
func (c *Change) grantedFor(a *account, g *grantRecord, sign int64) {
	c.Schedule = g.Schedule
	switch {
	case sign < 0 || a.grantable():
	case g.Beforehand:
		c.Condition = "stated to have been decided before anything was released"
	default:
		c.Condition = "sound only if it was decided before anything was released, which nobody stated"
	}
}
