package table

import (
	"cmp"
	"slices"
	"sync"

	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/schema"
)

// Codes of errors that others distinguish.
const (
	// Unusable: the location, the file or an option cannot be used as it is.
	Unusable = origin.Unusable
	// Columns: a column of the schema does not exist.
	Columns = origin.Columns
)

// Error is what goes wrong with a source. It never holds content of a row.
type Error = origin.Error

// Reason says why a row is refused.
type Reason = origin.Reason

// Reasons that engines that read rows by themselves give.
const (
	UnitMissing = origin.UnitMissing
	FieldCount  = origin.FieldCount
)

// reasonOf says an outcome of the schema as a reason; 0 is none.
func reasonOf(o schema.Outcome) Reason {
	switch o {
	case schema.OK:
		return 0
	case schema.NotANumber:
		return origin.ValueNotNumber
	case schema.MissingValue:
		return origin.ValueMissing
	}
	return origin.ValueOutside
}

// Problems reports refused rows, never of their content.
type Problems = origin.Problems

// RefusedError refuses a source for rows that the schema does not allow.
type RefusedError struct{ Problems Problems }

// Error lists them and says what to do.
func (e *RefusedError) Error() string { return e.about(e.Problems.In("refused", "row")) }

// Outline is the error without which rows they are and how many, for what is kept or handed on.
func (e *RefusedError) Outline() string {
	return e.about("there are " + e.Problems.Kinds("refused", "row"))
}

func (e *RefusedError) about(list string) string {
	rules := "clamp, other, missing, aliases"
	if slices.ContainsFunc(e.Problems.First, func(p origin.Problem) bool { return p.Reason == origin.ValueNotNumber }) {
		rules = `format = "1,234.56" for numbers such as 58,370 or $58,370; ` + rules
	}
	return list + ". Correct them; or let the schema say what such values are (" + rules + "); or, in a profile, leave such rows out"
}

// tally collects problems of several workers.
type tally struct {
	mu sync.Mutex
	p  Problems
}

// add notes some problems of a batch, of which there were n.
func (t *tally) add(n int64, first []origin.Problem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.p.Count += n
	t.p.First = append(t.p.First, first...)
	slices.SortFunc(t.p.First, func(a, b origin.Problem) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	t.p.First = t.p.First[:min(len(t.p.First), origin.MaxProblems)]
}

func (t *tally) any() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.p.Count > 0
}

func (t *tally) problems() Problems {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.p.Clone()
}
