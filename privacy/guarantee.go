package privacy

import (
	"fmt"
	"math"
)

// Adjacency says which pairs of data sets a guarantee is about.
type Adjacency string

const (
	// AddRemove: one unit more or less. The default.
	AddRemove Adjacency = "add-remove"
	// ReplaceOne: one unit exchanged for another; the size is public.
	ReplaceOne Adjacency = "replace-one"
)

// ParseAdjacency reads an adjacency; the empty text means [AddRemove].
func ParseAdjacency(s string) (Adjacency, error) {
	switch a := Adjacency(s); a {
	case "":
		return AddRemove, nil
	case AddRemove, ReplaceOne:
		return a, nil
	}
	return "", fmt.Errorf("unknown adjacency %q: use %s or %s", s, AddRemove, ReplaceOne)
}

// Unit is what one neighbour differs by: "record", or "user:COLUMN" when all
// records that share a value of a column are protected together.
type Unit string

// Record is the default unit of privacy.
const Record Unit = "record"

// Interval holds a number known to lie between two guaranteed ends.
type Interval struct {
	Lower, Upper float64
}

// Width is Upper − Lower, 0 when both are infinite.
func (i Interval) Width() float64 {
	if i.Lower == i.Upper {
		return 0
	}
	return i.Upper - i.Lower
}

// Guarantee is what may be said of a release: every field matters, and none
// has a silent default once it is printed or stored.
type Guarantee struct {
	Event     Event
	Adjacency Adjacency
	Unit      Unit
	// Epsilon encloses the exact ε of the event at Delta; only Upper may be
	// claimed.
	Epsilon Interval
	Delta   float64
	// Accountant names the method that evaluated Event.
	Accountant string
}

// CheckDelta reports whether δ is one that a guarantee can be about.
func CheckDelta(delta float64) error {
	if !(delta >= 0 && delta < 1) {
		return fmt.Errorf("δ is %v, it should be at least 0 and below 1 (a common choice is 1e-6)", delta)
	}
	return nil
}

// CheckEpsilon reports whether ε is one that a guarantee can be about.
func CheckEpsilon(epsilon float64) error {
	if !(epsilon >= 0) || math.IsInf(epsilon, 0) {
		return fmt.Errorf("ε is %v, it should be a finite number of at least 0", epsilon)
	}
	return nil
}

// DefaultDelta is the δ used when none is given for n units: min(1e-6, n^-1.1).
func DefaultDelta(n int64) float64 {
	return min(1e-6, math.Pow(float64(max(n, 1)), -1.1))
}
