package origin

import (
	"fmt"
	"slices"
	"strings"
)

// Reason says why a record or a row cannot be used. Indexes of records hold the numbers.
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
	ValueOutside:       "a value that the schema does not allow",
	ValueNotNumber:     "not a number",
	ValueMissing:       "no value",
	ValueWrongKind:     "neither text nor a number",
}

// String says the reason in words.
func (r Reason) String() string {
	if r == 0 || r >= numReasons {
		return "unknown"
	}
	return reasonText[r]
}

// Problem is one record or row that cannot be used.
type Problem struct {
	// Ordinal is its place in its source, counted from 1.
	Ordinal int64
	Reason  Reason
	// Column that it is about; empty if it is about all of it.
	Column string `json:",omitempty"`
}

// MaxProblems is how many of them are named.
const MaxProblems = 10

// Problems reports records or rows that cannot be used, never of their content.
type Problems struct {
	// Count is how many there are.
	Count int64
	// First are the first ten of them. Rows that a database refused are counted only.
	First []Problem
}

// Add notes one more.
func (p *Problems) Add(q Problem) {
	p.Count++
	if len(p.First) < MaxProblems {
		p.First = append(p.First, q)
	}
}

// Clone returns a copy that shares nothing.
func (p Problems) Clone() Problems { return Problems{p.Count, slices.Clone(p.First)} }

// Kinds says what is the matter with some rows, and neither which nor how many: "refused rows: …".
func (p Problems) Kinds(matter, row string) string {
	var kinds []string
	for _, q := range p.First {
		kind := q.Reason.String()
		if q.Column != "" {
			kind = fmt.Sprintf("column %q: %s", q.Column, kind)
		}
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds) // the first row says nothing either
	return matter + " " + row + "s: " + strings.Join(slices.Compact(kinds), "; ")
}

// In lists them, as something that is the matter with some rows: "2 refused rows: …".
func (p Problems) In(matter, row string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s %s", p.Count, matter, row)
	if p.Count > 1 {
		b.WriteByte('s')
	}
	// Those that have the same wrong are listed together.
	rest, between := p.First, ": "
	for len(rest) > 0 {
		q := rest[0]
		var same, other []Problem
		for _, o := range rest {
			if o.Reason == q.Reason && o.Column == q.Column {
				same = append(same, o)
			} else {
				other = append(other, o)
			}
		}
		fmt.Fprintf(&b, "%s%s", between, row)
		if len(same) > 1 {
			b.WriteByte('s')
		}
		for i, o := range same {
			fmt.Fprintf(&b, "%s%d", []string{" ", ", "}[min(i, 1)], o.Ordinal)
		}
		b.WriteString(": ")
		if q.Column != "" {
			fmt.Fprintf(&b, "column %q: ", q.Column)
		}
		b.WriteString(q.Reason.String())
		rest, between = other, "; "
	}
	if more := p.Count - int64(len(p.First)); more > 0 && len(p.First) > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}
