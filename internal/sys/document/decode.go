package document

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/spell"
)

// fixSyntax is what to do about a file that is no TOML.
const fixSyntax = "correct the line; strings go in \"quotes\", lists in [brackets]"

// Decode reads a TOML file into a struct with toml tags. The problems are empty if the
// file has nothing but keys of the struct; checks add their own. It returns false if the
// struct was not filled.
func Decode(data []byte, into any) (*Problems, bool) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	found := &Problems{}
	if len(data) > bounded.Small {
		found.refuse(0, fmt.Sprintf("it is larger than %d bytes", bounded.Small))
		return found, false
	}
	of := reflect.TypeOf(into).Elem()
	if found.places = found.walk(data, of); found.places == nil {
		return found, false
	}
	decoder := toml.NewDecoder(bytes.NewReader(data))
	if len(found.List) == 0 {
		decoder.DisallowUnknownFields() // its report takes quadratic time, walk's does not
	}
	if err := decoder.Decode(into); err != nil {
		found.List = nil
		found.undecodable(err, of)
		return found, false
	}
	return found, true
}

// refuse adds a problem of the file that keeps it from being decoded.
func (p *Problems) refuse(line int, what string) {
	p.List = append(p.List, Problem{Line: line, Where: "file", What: what, Fix: "name another file, or write this one flatter"})
}

// undecodable adds the decoder's error: a value of another type, or a file that is no TOML.
func (p *Problems) undecodable(err error, of reflect.Type) {
	found := Problem{Where: "file", What: strings.TrimPrefix(err.Error(), "toml: "), Fix: fixSyntax}
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		found.Line, found.Column = at.Position()
		if where, kind, want := p.places.at(found.Line, found.Column); want != nil && !fits(kind, want) {
			found.Where, found.What, found.Fix = where, "it is "+kinds[kind], "give "+typeName(want)
		}
	}
	p.List = append(p.List, found)
}

// kinds are TOML's kinds of values, for people.
var kinds = map[unstable.Kind]string{
	unstable.String: "a string in quotes", unstable.Bool: "true or false", unstable.Float: "a fraction",
	unstable.Integer: "a whole number", unstable.Array: "a list in brackets", unstable.ArrayTable: "a list of tables",
	unstable.InlineTable: "a table", unstable.Table: "a table", unstable.LocalDate: "a date",
	unstable.LocalTime: "a time", unstable.LocalDateTime: "a date", unstable.DateTime: "a date",
}

// typeName names the value that a field of a type takes.
func typeName(of reflect.Type) string {
	switch of.Kind() {
	case reflect.String:
		return "a string in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list in brackets"
	case reflect.Map, reflect.Struct:
		return "a table"
	case reflect.Pointer:
		return typeName(of.Elem())
	default:
		return "a whole number"
	}
}

// fits reports whether a field of a type takes a value of a kind.
func fits(kind unstable.Kind, of reflect.Type) bool {
	is, want := kinds[kind], typeName(of)
	return is == want || want == "a number" && (kind == unstable.Integer || kind == unstable.Float) ||
		want == "a list in brackets" && kind == unstable.ArrayTable
}

// meant returns what to do about a key that a table, of a type, does not have.
func meant(root, of reflect.Type, table []string, key string) string {
	known := tags(of)
	if close := spell.Near(key, known); len(close) > 0 {
		return "did you mean " + strings.Join(close, " or ") + "?"
	}
	if elsewhere := belongs(root, table, key); elsewhere != "" {
		return elsewhere
	}
	return "known are " + strings.Join(known, ", ")
}

// belongs names the other table in which a key has a meaning.
func belongs(root reflect.Type, table []string, key string) string {
	if len(table) > 0 {
		if !slices.Contains(tags(root), key) {
			return ""
		}
		if f, _ := field(root, table[0]); f.Type.Kind() == reflect.Slice {
			return fmt.Sprintf("it belongs above the first [[%s]]", table[0])
		}
		return fmt.Sprintf("it belongs above the first [table], not under [%s]", table[0])
	}
	for _, name := range tags(root) {
		f, _ := field(root, name)
		inner := element(f.Type)
		switch {
		case inner.Kind() != reflect.Struct || !slices.Contains(tags(inner), key):
		case f.Type.Kind() == reflect.Slice:
			return fmt.Sprintf("it belongs under [[%s]]", name)
		default:
			return fmt.Sprintf("it belongs under [%s]", name)
		}
	}
	return ""
}

// element returns the type of the elements of lists and pointers.
func element(of reflect.Type) reflect.Type {
	for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return of
}

// field finds the field of a key, as the decoder does: capitals do not matter.
func field(of reflect.Type, key string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(of) {
		if tag := f.Tag.Get("toml"); tag != "" && tag != "-" && strings.EqualFold(tag, key) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// tags lists the keys of a struct.
func tags(of reflect.Type) []string {
	var out []string
	for _, f := range reflect.VisibleFields(of) {
		if tag := f.Tag.Get("toml"); tag != "" && tag != "-" {
			out = append(out, tag)
		}
	}
	return out
}
