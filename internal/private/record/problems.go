package record

import (
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/internal/origin"
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

func (e *MalformedError) about(list string) string {
	if slices.ContainsFunc(e.Problems.First, func(p origin.Problem) bool { return p.Reason == origin.NotUTF8 }) {
		list += ". Text in another encoding becomes UTF-8 by, for example, iconv -f WINDOWS-1252 -t UTF-8"
	}
	if e.All {
		return fmt.Sprintf("no record can be used: %s. Check the columns and the format", list)
	}
	return list + ". Correct them, or leave malformed records out"
}
