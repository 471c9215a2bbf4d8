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

// Redaction keeps a type that embeds it from being printed, logged or encoded.
type Redaction = redaction

type redaction struct{}

// placeholder is what every way of printing a sealed value gives.
const placeholder = "(sealed)"

// Format writes a placeholder for every verb and flag.
func (redaction) Format(f fmt.State, _ rune) { fmt.Fprint(f, placeholder) }

// LogValue returns a placeholder.
func (redaction) LogValue() slog.Value { return slog.StringValue(placeholder) }

// MarshalJSON returns a placeholder.
func (redaction) MarshalJSON() ([]byte, error) { return []byte(`"` + placeholder + `"`), nil }

// MarshalText returns a placeholder.
func (redaction) MarshalText() ([]byte, error) { return []byte(placeholder), nil }

// Record is one private record. Outside of private/ it can be held, not read.
type Record struct {
	redaction
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
	redaction
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
	redaction
	n int
}

// NewCount seals a number.
func NewCount(n int) Count { return Count{n: n} }

// Exactly opens a number.
func Exactly(c Count) int { return c.n }

// Output is what a mechanism lets out, with the event that covers it.
type Output struct {
	text        string
	steps       int
	event, used privacy.Event
}

// Release states that text came out of a mechanism that event covers. Steps is how
// many of the event's steps were taken.
func Release(text string, steps int, event privacy.Event) Output {
	return Output{text: text, steps: steps, event: event}
}

// ReleasePart is [Release] where not all of the event came to pass: what is left of it may
// be handed back, which part that is being known from what was released.
func ReleasePart(text string, steps int, event, used privacy.Event) Output {
	return Output{text: text, steps: steps, event: event, used: used}
}

// Text is what was released.
func (r Output) Text() string { return r.text }

// Steps is how many tokens the mechanism chose, the one that ended the text included.
func (r Output) Steps() int { return r.steps }

// Event is what it cost at most.
func (r Output) Event() privacy.Event { return r.event }

// Used is the part of [Output.Event] that came to pass; nil stands for all of it. Only
// a filter for adaptive composition may charge it in place of the whole.
func (r Output) Used() privacy.Event { return r.used }
