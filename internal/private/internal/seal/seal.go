// Package seal holds the two values that cross the trust boundary: records, which go
// in and stay, and released values, which come out.
//
// The functions here that open one or make the other are the boundary. Go's rule about
// internal packages keeps them below private/: elsewhere a [Record] has no method that
// reveals anything of it.
package seal

import (
	"fmt"
	"log/slog"

	"github.com/sotto-dp/sotto/privacy"
)

// Hidden keeps a type that embeds it from being printed, logged or encoded.
type Hidden = hidden

type hidden struct{}

// placeholder is what every way of printing a sealed value gives.
const placeholder = "(sealed)"

// Format writes a placeholder for every verb and flag.
func (hidden) Format(f fmt.State, _ rune) { fmt.Fprint(f, placeholder) }

// LogValue returns a placeholder.
func (hidden) LogValue() slog.Value { return slog.StringValue(placeholder) }

// MarshalJSON returns a placeholder.
func (hidden) MarshalJSON() ([]byte, error) { return []byte(`"` + placeholder + `"`), nil }

// MarshalText returns a placeholder.
func (hidden) MarshalText() ([]byte, error) { return []byte(placeholder), nil }

// Record is one private record. Outside of private/ it can be held, not read.
type Record struct {
	hidden
	ordinal   int64
	condition string
	text      string
}

// NewRecord seals a record. The ordinal counts from 1 and is the one thing about a
// record that errors may name.
func NewRecord(ordinal int64, condition, text string) Record {
	return Record{ordinal: ordinal, condition: condition, text: text}
}

// Ordinal is the place of a record in its source, from 1.
func Ordinal(r Record) int64 { return r.ordinal }

// Condition is what the record's text is an example for: its label, or the input of a
// generation task.
func Condition(r Record) string { return r.condition }

// Text is the record's text.
func Text(r Record) string { return r.text }

// Ref names a record of a source without having read it.
type Ref struct {
	hidden
	ordinal, place int64
}

// NewRef makes a reference: the record's ordinal, and a number by which its source
// finds it.
func NewRef(ordinal, place int64) Ref { return Ref{ordinal: ordinal, place: place} }

// Place returns the two numbers of a reference.
func Place(r Ref) (ordinal, place int64) { return r.ordinal, r.place }

// Count is an exact number of units. It is private: what is public is what was
// declared, or counted with noise.
type Count struct {
	hidden
	n int
}

// NewCount seals a number.
func NewCount(n int) Count { return Count{n: n} }

// Exactly opens a number.
func Exactly(c Count) int { return c.n }

// Totals are exact sums over private rows, before noise.
type Totals struct {
	hidden
	cells []int64
}

// NewTotals seals sums. They are kept, not copied.
func NewTotals(cells []int64) Totals { return Totals{cells: cells} }

// Cells opens sums.
func Cells(t Totals) []int64 { return t.cells }

// Released is what a mechanism lets out, with the event that covers it.
type Released struct {
	text        string
	steps       int
	event, used privacy.Event
}

// Release states that text came out of a mechanism that event covers. Steps is how
// many of the event's steps were taken.
func Release(text string, steps int, event privacy.Event) Released {
	return Released{text: text, steps: steps, event: event}
}

// ReleasePart is [Release] where not all of the event came to pass: what is left of it may
// be handed back, which part that is being known from what was released.
func ReleasePart(text string, steps int, event, used privacy.Event) Released {
	return Released{text: text, steps: steps, event: event, used: used}
}

// Text is what was released.
func (r Released) Text() string { return r.text }

// Steps is how many tokens the mechanism chose, the one that ended the text included.
func (r Released) Steps() int { return r.steps }

// Event is what it cost at most.
func (r Released) Event() privacy.Event { return r.event }

// Used is the part of [Released.Event] that came to pass; nil stands for all of it. Only
// a filter for adaptive composition may charge it in place of the whole.
func (r Released) Used() privacy.Event { return r.used }
