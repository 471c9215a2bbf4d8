package seal

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// ErrForeign says that a value is not of a type that may stand between private records
// and what is released.
var ErrForeign = errors.New("it is not one of this program's: only those of its own package have a proof, and a type around one of them has none")

// admitted holds the types that [Admit] was called for.
var admitted sync.Map

// Admit states that values of exactly type T may stand behind an interface that private
// values pass through, or whose word is charged and signed.
//
// An unexported method keeps other packages from implementing an interface. It does not
// keep them from embedding a value that implements it and overriding the exported
// methods. So anyone who takes such a value asks [Admitted] as well.
func Admit[T any]() { admitted.Store(reflect.TypeFor[T](), nil) }

// Admitted reports whether v has a type that was admitted, and is not a nil pointer. It
// calls no method of v.
func Admitted(v any) bool {
	t := reflect.TypeOf(v)
	if _, ok := admitted.Load(t); !ok {
		return false
	}
	return t.Kind() != reflect.Pointer || !reflect.ValueOf(v).IsNil()
}

// Own returns a copy of a method that nobody else holds, so that what runs is what was
// charged, whatever becomes of the settings meanwhile. The error of a type that was not
// admitted is [ErrForeign], and names those that may be used.
func Own[M any](m M, names []string) (M, error) {
	if !Admitted(m) {
		var none M
		return none, fmt.Errorf("a method of type %T cannot be used: %w. Use one of %s", m, ErrForeign, strings.Join(names, ", "))
	}
	from := reflect.ValueOf(m).Elem()
	own := reflect.New(from.Type())
	own.Elem().Set(from)
	return own.Interface().(M), nil
}
