package ui

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// ProgressHelp says where programs find how a run goes.
const ProgressHelp = "With --json and no terminal, progress is on standard error, a JSON object a line."

// JSONKeys is the paragraph of a verb's help that names the keys of its result, and what the
// type cannot say.
func JSONKeys(result any, more ...string) string {
	text := append([]string{"Keys of --json: " + KeyList(result) + "."}, more...)
	return "\n\n" + strings.Join(Fold(strings.Join(text, " "), Width), "\n")
}

// KeyList names the keys of a result, and in parentheses those of the objects in it.
func KeyList(result any) string {
	return strings.Join(keysOf(reflect.TypeOf(result), 1), ", ")
}

// keysOf lists the keys of a type in JSON, and to a depth those of the objects in it.
func keysOf(t reflect.Type, depth int) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || writesItself(t) {
		return nil
	}
	var names, out []string
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if f.Anonymous && f.Tag.Get("json") == "" || !f.IsExported() || name == "-" || slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		if depth > 0 {
			if inner := keysOf(f.Type, depth-1); len(inner) > 0 {
				name += " (" + strings.Join(inner, ", ") + ")"
			}
		}
		out = append(out, name)
	}
	return out
}

// writesItself reports whether a type is no object in JSON.
func writesItself(t reflect.Type) bool {
	for _, how := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if t.Implements(how) || reflect.PointerTo(t).Implements(how) {
			return true
		}
	}
	return false
}
