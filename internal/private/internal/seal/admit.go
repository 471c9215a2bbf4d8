package seal

import (
	"errors"
	"reflect"
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
// methods. So whoever takes such a value asks [Admitted] as well.
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
