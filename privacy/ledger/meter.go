package ledger

import "github.com/sotto-dp/sotto/privacy"

// Meter measures what the charges of one budget cost together. It is the ledger's only view
// of accounting. Everything it returns is an upper bound, and never decreases when charges
// are added.
type Meter interface {
	// Allows reports whether a budget of limit at delta would hold with these terms added,
	// and if not, the total ε. It changes nothing.
	Allows(terms []privacy.Term, limit, delta float64) (needed float64, fits bool, err error)
	// Add adds terms; Remove takes back terms added before. After an error of either the
	// meter is not used again.
	Add(terms []privacy.Term) error
	Remove(terms []privacy.Term) error
	// Epsilon returns the ε of all terms, as judged against a budget of limit at delta: at
	// most limit if and only if the budget holds, and +Inf when no finite ε does.
	Epsilon(limit, delta float64) (float64, error)
}

// Pricer is implemented by the meters of [Sums] budgets.
type Pricer interface {
	// Price returns an (ε,δ) that terms cost by themselves, whatever the meter holds: the
	// smallest share of epsilon and delta that suffices, or, if none does, an ε above
	// epsilon that they cost at delta.
	Price(terms []privacy.Term, epsilon, delta float64) (Cost, error)
}

// NewMeter makes an empty meter for a budget. Only the composition, its orders and the
// adjacency matter: the allowance may change.
type NewMeter func(*Budget) (Meter, error)
