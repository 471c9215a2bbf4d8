// Package ask converts a request of the library's front door into one that plans are made of, and back.
//
// The front door shows the fields of its requests without a way into internal packages, so that there are two types with
// the same fields. Requests that hold no other such type are converted by the compiler; for the rest there is [As].
package ask

import (
	"fmt"
	"reflect"
)

// As returns a struct of type T with the fields of from. Both have fields of the same names, whose types can be converted
// by the language's rules; it panics where they do not, for any value of the types.
func As[T any](from any) (to T) {
	in, out := reflect.ValueOf(from), reflect.ValueOf(&to).Elem()
	if in.NumField() != out.NumField() {
		panic(fmt.Sprintf("ask: %T has %d fields, and %T %d", from, in.NumField(), to, out.NumField()))
	}
	for i := range in.NumField() {
		name := in.Type().Field(i).Name
		out.FieldByName(name).Set(in.Field(i).Convert(out.FieldByName(name).Type()))
	}
	return to
}
