package privacy

import (
	"fmt"
	"math"
	"strings"
)

// Adjacency defines which pairs of data sets are neighbours.
type Adjacency string

const (
	// AddRemove adds or removes one unit. It is the default.
	AddRemove Adjacency = "add-remove"
	// ReplaceOne replaces one unit by another; the size is public.
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

// Unit is the unit of privacy: "record", or "user:COLUMN" when all records that share a
// value of a column are protected together.
type Unit string

// Record is the default unit of privacy.
const Record Unit = "record"

// users begins a unit that goes by a column.
const users = "user:"

// ParseUnit reads a unit as people write it: "record", "user:COLUMN", or COLUMN alone, which
// means the same; "" is [Record]. With "user:" before it, any name is one of a column, also
// "record".
func ParseUnit(s string) (Unit, error) {
	switch column, is := strings.CutPrefix(s, users); {
	case s == "" || s == string(Record):
		return Record, nil
	case column == "":
		return "", fmt.Errorf("the unit %q names no column: use %s, or the name of a column", s, Record)
	case is:
		return Unit(s), nil
	}
	return Unit(users + s), nil
}

// Column returns the column whose values are protected together, or "" if each record is
// protected by itself. Units that were stored before [ParseUnit] read them may have a column
// alone.
func (u Unit) Column() string {
	unit, err := ParseUnit(string(u))
	if err != nil {
		return string(u) // it is like no other
	}
	column, _ := strings.CutPrefix(string(unit), users)
	if unit == Record {
		column = ""
	}
	return column
}

// Interval holds a number known to lie between two guaranteed ends.
type Interval struct {
	Lower, Upper float64
}

// Width returns Upper − Lower, or 0 when both are infinite.
func (i Interval) Width() float64 {
	if i.Lower == i.Upper {
		return 0
	}
	return i.Upper - i.Lower
}

// Guarantee is the privacy guarantee of a release. Every field matters, and none has a
// silent default once it is printed or stored.
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

// CheckDelta reports an error unless 0 ≤ δ < 1.
func CheckDelta(delta float64) error {
	if !(delta >= 0 && delta < 1) {
		return fmt.Errorf("δ is %v, it should be at least 0 and below 1 (a common choice is 1e-6)", delta)
	}
	return nil
}

// CheckEpsilon reports an error unless ε is a number that a guarantee can state.
func CheckEpsilon(epsilon float64) error {
	if !(epsilon >= 0) || math.IsInf(epsilon, 0) {
		return fmt.Errorf("ε is %v, it should be a finite number of at least 0", epsilon)
	}
	return nil
}

// DefaultDelta returns the δ used when none is given for n units: min(1e-6, n^-1.1).
func DefaultDelta(n int64) float64 {
	return min(1e-6, math.Pow(float64(max(n, 1)), -1.1))
}

// LargeDelta returns what is wrong with a δ that is not below 1/n for n records or units, and
// "" for a smaller one: releasing one record in clear, drawn at random, satisfies δ = 1/n.
func LargeDelta(delta float64, n int64) string {
	if n < 1 || delta < 1/float64(n) {
		return ""
	}
	return fmt.Sprintf("δ = %v is not below 1/%d: such a δ allows releasing one of the records in clear", delta, n)
}
