package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-dp/sotto/internal/private/internal/origin"
	"github.com/sotto-dp/sotto/schema"
)

// Code says what kind of trouble an [Error] is about.
type Code = origin.Code

// The codes.
const (
	// Unusable: the location, the file or an option cannot be used as it is.
	Unusable = origin.Unusable
	// Columns: a column of the schema does not exist.
	Columns = origin.Columns
	// Changed: the source is no longer what it was.
	Changed = origin.Changed
	// Damaged: the file was cut off, changed, or is of another format.
	Damaged = origin.Damaged
	// Unreadable: reading failed.
	Unreadable = origin.Unreadable
)

// Error is what goes wrong with a source. It never holds content of a row.
type Error = origin.Error

// Reason says why a row is refused.
type Reason uint8

// The reasons.
const (
	Outside Reason = iota + 1
	NotANumber
	Missing
	WrongKind
	UnitMissing
	BadQuotes
	FieldCount
	TooLong
	numReasons
)

var reasonText = [numReasons]string{
	Outside:     "a value that the schema does not allow",
	NotANumber:  "not a number",
	Missing:     "no value",
	WrongKind:   "neither text nor a number",
	UnitMissing: "no unit of privacy",
	BadQuotes:   "quotes that do not match",
	FieldCount:  "more or fewer fields than the header has",
	TooLong:     "longer than 16 MiB",
}

// String says the reason in words.
func (r Reason) String() string {
	if r == 0 || r >= numReasons {
		return "unknown"
	}
	return reasonText[r]
}

// reasonOf says an outcome of the schema as a reason; 0 is none.
func reasonOf(o schema.Outcome) Reason {
	switch o {
	case schema.OK:
		return 0
	case schema.NotANumber:
		return NotANumber
	case schema.MissingValue:
		return Missing
	}
	return Outside
}

// Problem is one row that is refused.
type Problem struct {
	// Ordinal is the row's place in its source, counted from 1.
	Ordinal int64
	// Column is the first one that is refused; empty if it is about the whole row.
	Column string
	Reason Reason
}

// maxProblems is how many refused rows are named.
const maxProblems = 10

// Problems tells of refused rows, never of their content.
type Problems struct {
	// Count is how many rows are refused.
	Count int64
	// First are the first ten of them. Rows that a database refused are counted only.
	First []Problem
}

// String lists the refused rows.
func (p Problems) String() string {
	if p.Count == 0 {
		return "no refused rows"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d refused row", p.Count)
	if p.Count > 1 {
		b.WriteByte('s')
	}
	for i, q := range p.First {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		fmt.Fprintf(&b, "row %d: ", q.Ordinal)
		if q.Column != "" {
			fmt.Fprintf(&b, "column %q: ", q.Column)
		}
		b.WriteString(q.Reason.String())
	}
	if more := p.Count - int64(len(p.First)); more > 0 && len(p.First) > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

// RefusedError refuses a source for rows that the schema does not allow.
type RefusedError struct{ Problems Problems }

// Error lists them and says what to do.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%v. Correct them; or let the schema say what such values count as (clamp, other, missing, aliases); or, in a profile, leave such rows out (on error: skip)", e.Problems)
}

// tally collects problems of several workers.
type tally struct {
	mu sync.Mutex
	p  Problems
}

// add notes some problems of a batch, of which there were n.
func (t *tally) add(n int64, first []Problem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.p.Count += n
	t.p.First = append(t.p.First, first...)
	slices.SortFunc(t.p.First, func(a, b Problem) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	t.p.First = t.p.First[:min(len(t.p.First), maxProblems)]
}

func (t *tally) any() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.p.Count > 0
}

func (t *tally) problems() Problems {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Problems{t.p.Count, slices.Clone(t.p.First)}
}
