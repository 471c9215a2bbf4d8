package record

import (
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// Codes of errors that others distinguish.
const (
	// Changed: the source is no longer what was enrolled.
	Changed = origin.Changed
	// Unreadable: reading failed.
	Unreadable = origin.Unreadable
)

// Error is what goes wrong with a source. It never holds content of a record.
type Error = origin.Error

// Problems reports malformed records, never of their content.
type Problems = origin.Problems

// MalformedError refuses a source for its malformed records.
type MalformedError struct {
	Problems Problems
	// All reports that no record was left.
	All bool
}

// Error lists them and says what to do.
func (e *MalformedError) Error() string { return e.about(e.Problems.In("malformed", "record")) }

// Outline is the error without which records they are and how many, for what is kept or handed on.
func (e *MalformedError) Outline() string {
	return e.about("there are " + e.Problems.Kinds("malformed", "record"))
}

// helps say what can be done about records with something the matter, beside correcting them.
var helps = []struct {
	reason origin.Reason
	help   string
}{
	{origin.NotUTF8, "Text in another encoding becomes UTF-8 by, for example, iconv -f WINDOWS-1252 -t UTF-8"},
	{origin.LabelUnknown, `Other spellings of a label can be listed in the task file: aliases = { "billing" = "Billing" }`},
	{origin.ValueNotNumber, `The schema can say how numbers are written: format = "1,234.56" for 58,370 or $58,370`},
	{origin.ValueMissing, "The schema can say what no value, or NA, counts as: missing, for each column"},
	{origin.ValueOutside, "The schema can say what other values count as: clamp, other, aliases"},
}

func (e *MalformedError) about(list string) string {
	for _, h := range helps {
		if slices.ContainsFunc(e.Problems.First, func(p origin.Problem) bool { return p.Reason == h.reason }) {
			list += ". " + h.help
		}
	}
	if e.All {
		return fmt.Sprintf("no record can be used: %s. Check the columns and the format", list)
	}
	return list + ". Correct them, or leave malformed records out"
}
