// Package expect is for tests: one line for each thing that a test expects, which says what
// failed, what the test got and what it wants. A check that others build on (NoError, As, Len)
// ends its test; the others go on, so that a failed test says all that is wrong.
package expect

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// TB is what the checks use of a *testing.T, a *testing.F or a *rapid.T.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// At returns t with a text before what it says: which case of a loop it is about.
func At(t TB, format string, args ...any) TB { return at{t, format, args} }

type at struct {
	TB
	format string
	args   []any
}

func (a at) Errorf(format string, args ...any) {
	a.Helper()
	a.TB.Errorf("%s: %s", fmt.Sprintf(a.format, a.args...), fmt.Sprintf(format, args...))
}

func (a at) Fatalf(format string, args ...any) {
	a.Helper()
	a.TB.Fatalf("%s: %s", fmt.Sprintf(a.format, a.args...), fmt.Sprintf(format, args...))
}

// NoError ends a test that got an error.
func NoError(t TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatalf("unexpected error: %v", err)
	}
}

// As returns err as an error of type E, and ends the test if it is none.
func As[E error](t TB, err error) E {
	e, ok := errors.AsType[E](err)
	if !ok {
		t.Helper()
		t.Fatalf("error: got %T: %v; want %T", err, err, e)
	}
	return e
}

// Len ends a test whose list has another length.
func Len[E any](t TB, what string, list []E, want int) {
	if len(list) != want {
		t.Helper()
		t.Fatalf("%s: got %d, want %d: %+v", what, len(list), want, list)
	}
}

// Equal checks that got is what the test wants.
func Equal[T comparable](t TB, what string, got, want T) {
	if got != want {
		t.Helper()
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// True checks that what is said of got holds.
func True(t TB, what string, ok bool, got ...any) {
	if !ok {
		t.Helper()
		t.Errorf("want %s; got %+v", what, got)
	}
}

// Contains checks that part is in got.
func Contains(t TB, what, got, part string) {
	if !strings.Contains(got, part) {
		t.Helper()
		t.Errorf("%s: got %q, want %q in it", what, got, part)
	}
}

// Prefix checks that got begins with prefix.
func Prefix(t TB, what, got, prefix string) {
	if !strings.HasPrefix(got, prefix) {
		t.Helper()
		t.Errorf("%s: got %q, want it to begin with %q", what, got, prefix)
	}
}

// Min checks that got is min or more. Not a number fails, here and in Max and Within.
func Min[T cmp.Ordered](t TB, what string, got, min T) {
	if !(got >= min) {
		t.Helper()
		t.Errorf("%s: got %v, want %v or more", what, got, min)
	}
}

// Max checks that got is max or less.
func Max[T cmp.Ordered](t TB, what string, got, max T) {
	if !(got <= max) {
		t.Helper()
		t.Errorf("%s: got %v, want %v or less", what, got, max)
	}
}

// Within checks that got is between low and high, or one of them.
func Within[T cmp.Ordered](t TB, what string, got, low, high T) {
	if !(low <= got && got <= high) {
		t.Helper()
		t.Errorf("%s: got %v, want %v to %v", what, got, low, high)
	}
}
