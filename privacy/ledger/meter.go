package ledger

import "sotto/privacy"

// Meter measures what the charges of one budget cost together. It is the
// ledger's only view of accounting.
type Meter interface {
	// Add takes n more runs of an event into account. With a negative n it takes
	// back runs that were added before; what it then measures must still be an
	// upper bound of what remains. After an error the meter is not used again.
	Add(e privacy.Event, n int64) error
	// Epsilon is an upper bound of the ε at delta of all that was added, as far
	// as it is judged against a budget of limit at delta: the budget holds if and
	// only if Epsilon ≤ limit. It is +Inf when no finite ε holds, and never less
	// after more was added.
	Epsilon(limit, delta float64) (float64, error)
	// Clone returns an independent copy.
	Clone() Meter
}

// NewMeter makes an empty meter for a budget's composition and adjacency.
type NewMeter func(Composition, privacy.Adjacency) (Meter, error)

func Accountants(Composition, privacy.Adjacency) (Meter, error) { return nil, nil }
