package ledger

import "github.com/sotto-dp/sotto/privacy"

// Meter measures what the charges of one budget cost together. It is the
// ledger's only view of accounting. Everything it says is an upper bound, and
// never less after more was added.
type Meter interface {
	// Allows reports whether a budget of limit at delta would hold with terms added
	// to what is there, and if not, the ε that it all would cost. It changes
	// nothing.
	Allows(terms []privacy.Term, limit, delta float64) (needed float64, fits bool, err error)
	// Add adds terms, Remove takes back terms that were added before. After an
	// error of either the meter is not used again.
	Add(terms []privacy.Term) error
	Remove(terms []privacy.Term) error
	// Epsilon is the ε of all that is there, as it is judged against a budget of
	// limit at delta: at most limit if and only if the budget holds, and +Inf when
	// no finite ε does.
	Epsilon(limit, delta float64) (float64, error)
}

// Pricer is implemented by the meters of [Sums] budgets.
type Pricer interface {
	// Price returns an (ε,δ) that terms together cost by themselves, whatever the
	// meter holds: the least share of epsilon and delta that is enough, or, if all of
	// them is not, an ε above epsilon that they cost at delta.
	Price(terms []privacy.Term, epsilon, delta float64) (Cost, error)
}

// NewMeter makes an empty meter for a budget, of which only the composition, its orders and
// the adjacency matter: the allowance may change.
type NewMeter func(*Budget) (Meter, error)
