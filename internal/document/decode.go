package document

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/sotto-dp/sotto/internal/bounded"
	"github.com/sotto-dp/sotto/internal/spell"
)

// Decode reads a file into a struct with toml tags. What it finds has no problem if the
// file says nothing but what the struct has room for; checks add theirs to it. It is false
// if nothing was read.
func Decode(data []byte, into any) (toml.MetaData, *Problems, bool) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	found := &Problems{}
	if err := bounded.TOML([]byte(text), bounded.Small); err != nil {
		found.refused(err)
		return toml.MetaData{}, found, false
	}
	found.lines = findLines(text)
	meta, err := toml.Decode(text, into)
	if err != nil {
		found.undecodable(err)
		return meta, found, false
	}
	of := reflect.TypeOf(into).Elem()
	for _, key := range meta.Undecoded() {
		if len(found.List) >= mostUnknown {
			break
		}
		found.unknown(of, key)
	}
	return meta, found, true
}

// mostUnknown is how many keys that mean nothing are told of: whoever has more reads a
// file of another kind, and finding the line of each takes time.
const mostUnknown = 20

// refused tells of a file that is not decoded, because decoding it could take all memory.
func (p *Problems) refused(err error) {
	found := Problem{Where: "file", What: err.Error(), Fix: "name another file, or write this one flatter"}
	if e := (*bounded.Error)(nil); errors.As(err, &e) {
		found.Line, found.What = e.Line, e.Reason
	}
	p.List = append(p.List, found)
}

// badType is what the decoder says of a value of the wrong type.
var badType = regexp.MustCompile(`line (\d+) \(last key "([^"]*)"\): incompatible types: TOML value has type (\S+); destination has type (\S+)$`)

// typeNames are the decoder's names of types, for people.
var typeNames = map[string]string{
	"string": "a string in quotes", "int": "a whole number", "int64": "a whole number", "uint64": "a whole number", "integer": "a whole number",
	"float64": "a number", "float": "a fraction", "bool": "true or false", "slice": "a list in brackets", "array": "a list in brackets",
	"map": "a table", "struct": "a table", "table": "a table",
}

func typeName(name string) string {
	if known := typeNames[name]; known != "" {
		return known
	}
	return name
}

// undecodable tells why a file is no TOML, or has a value of another type.
func (p *Problems) undecodable(err error) {
	const fix = "correct the line; strings go in \"quotes\", lists in [brackets]"
	var syntax toml.ParseError
	if errors.As(err, &syntax) && syntax.Message != "" {
		p.List = append(p.List, Problem{Line: syntax.Position.Line, Where: "file", What: syntax.Message, Fix: fix})
		return
	}
	if m := badType.FindStringSubmatch(err.Error()); m != nil {
		is, want := typeName(m[3]), typeName(m[4])
		if m[3] == "float64" {
			is = "a fraction" // a whole number would have been one
		}
		found := Problem{Where: m[2], What: "it is " + is, Fix: "give " + want}
		_, _ = fmt.Sscan(m[1], &found.Line)
		p.List = append(p.List, found)
		return
	}
	p.List = append(p.List, Problem{Where: "file", What: strings.TrimPrefix(err.Error(), "toml: "), Fix: fix})
}

// unknown tells of a key that means nothing, at each place where it is.
func (p *Problems) unknown(of reflect.Type, key toml.Key) {
	table, last := key[:len(key)-1], key[len(key)-1]
	known := keys(of, table)
	if known == nil {
		return // the table itself is unknown, and was reported
	}
	fix := "known are " + strings.Join(known, ", ")
	if close := spell.Near(last, known); len(close) > 0 {
		fix = "did you mean " + strings.Join(close, " or ") + "?"
	} else if elsewhere := belongs(of, table, last); elsewhere != "" {
		fix = elsewhere
	}
	places := p.lines.like(key)
	if len(places) == 0 {
		places = []string{key.String()}
	}
	for _, where := range places[:min(len(places), mostUnknown)] {
		p.Wrong(where, "there is no such key", "%s", fix)
	}
}

// belongs says in which other table a key has a meaning.
func belongs(of reflect.Type, table toml.Key, key string) string {
	if len(table) > 0 {
		if !slices.Contains(keys(of, nil), key) {
			return ""
		}
		if f, _ := field(of, table[0]); f.Type.Kind() == reflect.Slice {
			return fmt.Sprintf("it belongs above the first [[%s]]", table[0])
		}
		return fmt.Sprintf("it belongs above the first [table], not under [%s]", table[0])
	}
	for _, name := range keys(of, nil) {
		f, _ := field(of, name)
		switch {
		case !slices.Contains(keys(of, toml.Key{name}), key):
		case f.Type.Kind() == reflect.Slice:
			return fmt.Sprintf("it belongs under [[%s]]", name)
		default:
			return fmt.Sprintf("it belongs under [%s]", name)
		}
	}
	return ""
}

// keys lists what a table of a file may say; nil if there is no such table.
func keys(of reflect.Type, table toml.Key) []string {
	of = element(of)
	if len(table) == 0 {
		if of.Kind() == reflect.Struct {
			return tags(of)
		}
		return nil
	}
	if of.Kind() == reflect.Map {
		return keys(of.Elem(), table[1:])
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	f, ok := field(of, table[0])
	if !ok {
		return nil
	}
	return keys(f.Type, table[1:])
}

// element is the type of what lists and pointers hold.
func element(of reflect.Type) reflect.Type {
	for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return of
}

func field(of reflect.Type, tag string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(of) {
		if f.Tag.Get("toml") == tag {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func tags(of reflect.Type) []string {
	var out []string
	for i := range of.NumField() {
		f := of.Field(i)
		switch tag := f.Tag.Get("toml"); {
		case tag != "" && tag != "-":
			out = append(out, tag)
		case f.Anonymous:
			out = append(out, tags(f.Type)...)
		}
	}
	return out
}
