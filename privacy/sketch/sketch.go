package sketch

import (
	"errors"
	"fmt"
	"math"
	"regexp"
)

const (
	// Size is the number of hashes of a list, k.
	Size = 1024
	// maxSize bounds the lists of sketches read from outside.
	maxSize = 1 << 14
	// version numbers the canonical form of rows. Hashes of different versions differ.
	version = 1
)

// Sketch summarises the rows of a source. The zero value means no sketch.
type Sketch struct {
	// Version numbers the way rows are hashed.
	Version int `json:"version"`
	// KeyID names the key of the hashes: 16 hexadecimal digits.
	KeyID string `json:"key_id"`
	// Limit is the maximal number of rows that were read; 0 means all.
	Limit int64 `json:"limit,omitempty"`
	// Whole is a keyed hash of the sum of the hashes of all rows, in 16 hexadecimal digits: it
	// shows whether the rows are equal, and nothing else. (Two sums would differ by exactly the
	// hashes of the rows that came and went.)
	Whole string `json:"whole"`
	// Rows, LeaveOneOut, ReadColumns and Values are the lists; see the package comment.
	Rows        List `json:"rows"`
	LeaveOneOut List `json:"less,omitzero"`
	ReadColumns List `json:"read,omitzero"`
	Values      List `json:"values,omitzero"`
}

// List has the smallest keyed hashes of one kind.
type List struct {
	// K is the capacity. A list with fewer hashes is complete.
	K int `json:"k"`
	// Duplicates is the share of the hashes that occur more than once in the source.
	Duplicates float64 `json:"twins,omitempty"`
	// Hashes are distinct and ascending.
	Hashes Hashes `json:"hashes"`
}

// New returns a sketch of the present version, without lists.
func New(keyID string) Sketch { return Sketch{Version: version, KeyID: keyID} }

// SameRows reports whether two sketches are of exactly the same rows.
func SameRows(a, b Sketch) bool { return a.Whole == b.Whole }

// IsZero reports whether there is no sketch.
func (s Sketch) IsZero() bool { return s.Version == 0 && s.KeyID == "" && s.Rows.IsZero() }

// IsZero reports whether there is no list.
func (l List) IsZero() bool { return l.K == 0 && len(l.Hashes) == 0 }

// Distinct estimates the number of distinct rows.
func (s Sketch) Distinct() float64 { return s.Rows.distinct() }

// limit returns the hash up to which the list is complete.
func (l List) limit() uint64 {
	if len(l.Hashes) < l.K || len(l.Hashes) == 0 {
		return math.MaxUint64
	}
	return l.Hashes[len(l.Hashes)-1]
}

// distinct estimates the number of distinct hashes in the source. The estimator is
// unbiased: Bar-Yossef et al. 2002.
func (l List) distinct() float64 {
	n := len(l.Hashes)
	if n < l.K || n < 2 {
		return float64(n)
	}
	return float64(n-1) / share(l.limit())
}

// share returns the fraction of all possible hashes that are at most h.
func share(h uint64) float64 { return (float64(h) + 1) / math.Exp2(64) }

var hexadecimal = regexp.MustCompile(`^[0-9a-f]{16}$`)

// Validate reports what is wrong with a sketch read from outside. The zero value is valid.
func (s Sketch) Validate() error {
	switch {
	case s.IsZero():
		return nil
	case s.Version < 1:
		return fmt.Errorf("sketch: version %d does not exist", s.Version)
	case !hexadecimal.MatchString(s.KeyID):
		return errors.New("sketch: the id of the key is not 16 hexadecimal digits")
	case s.Limit < 0:
		return errors.New("sketch: the number of rows is negative")
	case !hexadecimal.MatchString(s.Whole):
		return errors.New("sketch: the hash of all rows is not 16 hexadecimal digits")
	case s.Rows.IsZero():
		return errors.New("sketch: there is no list of rows")
	}
	for _, l := range []List{s.Rows, s.LeaveOneOut, s.ReadColumns, s.Values} {
		if err := l.validate(); err != nil {
			return err
		}
	}
	return nil
}

func (l List) validate() error {
	switch {
	case l.IsZero():
		return nil
	case l.K < 2 || l.K > maxSize:
		return fmt.Errorf("sketch: a list of size %d: it is from 2 to %d", l.K, maxSize)
	case len(l.Hashes) > l.K:
		return fmt.Errorf("sketch: %d hashes in a list of at most %d", len(l.Hashes), l.K)
	case !(l.Duplicates >= 0 && l.Duplicates <= 1):
		return errors.New("sketch: a share is not between 0 and 1")
	}
	for i := 1; i < len(l.Hashes); i++ {
		if l.Hashes[i-1] >= l.Hashes[i] {
			return errors.New("sketch: the hashes of a list are not ascending")
		}
	}
	return nil
}
