package record

import (
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/internal/origin"
	"github.com/sotto-dp/sotto/internal/private/table"
)

// Code says what kind of trouble an [Error] is about.
type Code = origin.Code

// The codes.
const (
	// Unusable: the location, the file or an option cannot be used as it is.
	Unusable = origin.Unusable
	// Columns: a column that was asked for does not exist.
	Columns = origin.Columns
	// Malformed: records cannot be used.
	Malformed = origin.Malformed
	// Changed: the source is no longer what was enrolled.
	Changed = origin.Changed
	// Damaged: the file was cut off, changed, or is of another format.
	Damaged = origin.Damaged
	// Unreadable: reading failed.
	Unreadable = origin.Unreadable
)

// Error is what goes wrong with a source. It never holds content of a record.
type Error = origin.Error

// Reason says why a record is malformed.
type Reason uint8

// The reasons.
const (
	NotAnObject Reason = iota + 1
	DuplicateKey
	BadQuotes
	FieldCount
	TooLong
	NotUTF8
	HasNUL
	TextMissing
	TextNotString
	TextEmpty
	ConditionMissing
	ConditionNotScalar
	LabelUnknown
	UnitMissing
	UnitNotScalar
	ValueOutside
	ValueNotNumber
	ValueMissing
	ValueWrongKind
	numReasons
)

var reasonText = [numReasons]string{
	NotAnObject:        "the line is not one JSON object",
	DuplicateKey:       "a key occurs twice",
	BadQuotes:          "quotes that do not match",
	FieldCount:         "more or fewer fields than the header has",
	TooLong:            "longer than 16 MiB",
	NotUTF8:            "not valid UTF-8",
	HasNUL:             "a NUL character",
	TextMissing:        "no text",
	TextNotString:      "the text is not a string",
	TextEmpty:          "the text is empty",
	ConditionMissing:   "no label or input",
	ConditionNotScalar: "the label or input is not a string, number or boolean",
	LabelUnknown:       "a label that is not in the list",
	UnitMissing:        "no unit of privacy",
	UnitNotScalar:      "the unit of privacy is not a string, number or boolean",
	ValueOutside:       table.Outside.String(),
	ValueNotNumber:     table.NotANumber.String(),
	ValueMissing:       table.Missing.String(),
	ValueWrongKind:     table.WrongKind.String(),
}

// String says the reason in words.
func (r Reason) String() string {
	if r == 0 || r >= numReasons {
		return "unknown"
	}
	return reasonText[r]
}

// Problem is one malformed record.
type Problem struct {
	// Ordinal is the record's place in its source, counted from 1.
	Ordinal int64
	Reason  Reason
	// Column of the schema that it is about; empty if it is about the whole record.
	Column string `json:",omitempty"`
}

// maxProblems is how many malformed records are named.
const maxProblems = 10

// Problems tells of malformed records, never of their content.
type Problems struct {
	// Count is how many records are malformed.
	Count int64
	// First are the first ten of them.
	First []Problem
}

func (p *Problems) add(q Problem) {
	p.Count++
	if len(p.First) < maxProblems {
		p.First = append(p.First, q)
	}
}

func (p Problems) clone() Problems {
	p.First = append([]Problem(nil), p.First...)
	return p
}

// String lists the malformed records.
func (p Problems) String() string {
	if p.Count == 0 {
		return "no malformed records"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d malformed record", p.Count)
	if p.Count > 1 {
		b.WriteByte('s')
	}
	for i, q := range p.First {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		fmt.Fprintf(&b, "record %d: ", q.Ordinal)
		if q.Column != "" {
			fmt.Fprintf(&b, "%s: ", q.Column)
		}
		b.WriteString(q.Reason.String())
	}
	if more := p.Count - int64(len(p.First)); more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

// MalformedError refuses a source for its malformed records.
type MalformedError struct {
	Problems Problems
	// All reports that no record was left.
	All bool
}

// Error lists them and says what to do.
func (e *MalformedError) Error() string {
	if e.All {
		return fmt.Sprintf("no record can be used: %v. Check the columns and the format", e.Problems)
	}
	return fmt.Sprintf("%v. Correct them, or leave malformed records out (on error: skip)", e.Problems)
}
