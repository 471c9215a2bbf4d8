package document

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// places are the tables and keys of a file, by their path.
type places struct {
	data []byte
	by   map[string]place
	// keys are the paths in the order of the file.
	keys []string
}

// place is where a key or a table's header is, and its value.
type place struct {
	key, value int // offsets
	kind       unstable.Kind
	// want is the type of the field, nil if there is none.
	want reflect.Type
}

// walker goes through a file: it finds the places, and keys that mean nothing.
type walker struct {
	places
	parser unstable.Parser
	found  *Problems
	root   reflect.Type
	counts map[string]int // of tables in a list
	count  int            // of keys
	stop   bool
}

// scope is the table that a key stands in.
type scope struct {
	path  string
	keys  []string
	of    reflect.Type // nil where anything goes, or below a key that means nothing
	depth int
	// offset of the last key on the way.
	offset int
}

const (
	// maxUnknown limits how many keys that mean nothing are listed: with more, the
	// file is of another kind.
	maxUnknown = 20
	// maxKeys limits how many keys a file has: the decoder compares each with all
	// others of its table.
	maxKeys = 20_000
)

// walk reads a file's structure before anything is decoded: a decoder's memory is not
// bounded by the size of what it reads. It returns nil if the file is no TOML, nested too
// deep, or of another kind.
func (p *Problems) walk(data []byte, root reflect.Type) *places {
	w := &walker{places: places{data: data, by: map[string]place{}}, found: p, root: root, counts: map[string]int{}}
	p.places = &w.places
	w.parser.Reset(data)
	top := scope{of: root}
	table := top
	for w.parser.NextExpression() {
		switch e := w.parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = w.enter(top, e.Key(), e)
		case unstable.KeyValue:
			w.pair(table, e)
		}
		if w.stop {
			return nil
		}
	}
	if err := w.parser.Error(); err != nil {
		found := Problem{Where: "file", What: err.Error(), Fix: fixSyntax}
		if at, ok := err.(*unstable.ParserError); ok {
			start := w.parser.Shape(w.parser.Range(at.Highlight)).Start
			found.What, found.Line, found.Column = at.Message, start.Line, start.Column
		}
		p.List = []Problem{found}
		return nil
	}
	return &w.places
}

// pair goes through a key and its value.
func (w *walker) pair(in scope, e *unstable.Node) {
	value := e.Value()
	w.value(w.enter(in, e.Key(), value), value)
}

// value goes through a list or an inline table.
func (w *walker) value(at scope, v *unstable.Node) {
	if w.stop {
		return
	}
	children := v.Children()
	switch v.Kind {
	case unstable.InlineTable:
		for children.Next() {
			w.pair(at, children.Node())
		}
	case unstable.Array:
		at.depth++
		if at.of != nil {
			if at.of.Kind() == reflect.Slice {
				at.of = at.of.Elem()
			} else {
				at.of = nil
			}
		}
		for i := 1; children.Next(); i++ {
			e, child := at, children.Node()
			offset := int(child.Raw.Offset)
			if child.Raw.Length == 0 { // the parser does not say where a list begins
				offset = at.offset
			}
			if w.tooMuch(e.depth, offset) {
				return
			}
			e.path = fmt.Sprintf("%s[%d]", at.path, i)
			w.add(e.path, place{key: offset, value: offset, kind: child.Kind, want: e.of})
			w.value(e, child)
		}
	}
}

// enter follows the parts of a key to the value or the table that it names.
func (w *walker) enter(in scope, key unstable.Iterator, value *unstable.Node) scope {
	for key.Next() {
		part := string(key.Node().Data)
		offset := int(key.Node().Raw.Offset)
		in.offset = offset
		in.depth++
		w.count++
		if w.tooMuch(in.depth, offset) {
			return in
		}
		table, known := in.keys, in.of
		if known != nil {
			known = element(known)
		}
		in.keys = append(in.keys[:len(in.keys):len(in.keys)], part)
		if in.path != "" {
			in.path += "."
		}
		in.path += part
		if in.of = step(known, part); in.of == nil && known != nil && known.Kind() == reflect.Struct {
			w.unknown(in, known, table, offset)
		}
		at := place{key: offset, value: offset, kind: unstable.Table, want: in.of}
		if key.IsLast() {
			if at.kind = value.Kind; at.kind == unstable.ArrayTable {
				w.add(in.path, at)
				w.counts[in.path]++
			} else if at.kind != unstable.Table {
				at.value = int(value.Raw.Offset)
			}
		}
		if n := w.counts[in.path]; n > 0 {
			in.path = fmt.Sprintf("%s[%d]", in.path, n)
			if in.of != nil && in.of.Kind() == reflect.Slice {
				in.of = in.of.Elem()
			}
		}
		w.add(in.path, at)
	}
	return in
}

// tooMuch refuses a file that is nested deeper than any of ours, or has more keys.
func (w *walker) tooMuch(depth, offset int) bool {
	what := ""
	switch {
	case depth > bounded.Depth:
		what = fmt.Sprintf("it is nested more than %d deep", bounded.Depth)
	case w.count > maxKeys:
		what = fmt.Sprintf("it has more than %d keys", maxKeys)
	}
	if what != "" && !w.stop {
		w.found.List = nil
		w.found.refuse(w.line(offset), what)
		w.stop = true
	}
	return w.stop
}

// step returns the type of a table's key, nil if it has none or takes anything.
func step(of reflect.Type, key string) reflect.Type {
	switch {
	case of == nil:
		return nil
	case of.Kind() == reflect.Struct:
		f, ok := field(of, key)
		if !ok {
			return nil
		}
		return f.Type
	case of.Kind() == reflect.Map:
		return of.Elem()
	}
	return nil
}

// unknown adds a key that means nothing, once.
func (w *walker) unknown(at scope, of reflect.Type, table []string, offset int) {
	if _, known := w.by[plain.Replace(at.path)]; known || w.stop {
		return
	}
	w.stop = len(w.found.List)+1 == maxUnknown
	w.found.List = append(w.found.List, Problem{
		Line: w.line(offset), Column: w.column(offset), Where: at.path, What: "there is no such key",
		Fix: meant(w.root, of, table, at.keys[len(table)]),
	})
}

func (w *walker) add(path string, at place) {
	path = plain.Replace(path)
	if _, there := w.by[path]; !there {
		w.by[path] = at
		w.keys = append(w.keys, path)
	}
}

// plain removes quotes and spaces from a path: places are known without them.
var plain = strings.NewReplacer(`"`, "", `'`, "", " ", "")

func (l *places) line(offset int) int { return 1 + bytes.Count(l.data[:offset], []byte("\n")) }

func (l *places) column(offset int) int {
	return offset - bytes.LastIndexByte(l.data[:offset], '\n')
}

// of returns the line and column of a key, or else of the table or list around it.
func (l *places) of(where string) (line, column int) {
	if l == nil {
		return 0, 0
	}
	where = plain.Replace(where)
	for where != "" {
		if at, ok := l.by[where]; ok {
			return l.line(at.key), l.column(at.key)
		}
		where = where[:max(0, strings.LastIndexAny(where, ".["))]
	}
	return 0, 0
}

// at returns the key whose value or name begins at a position, and what it takes.
func (l *places) at(line, column int) (where string, kind unstable.Kind, want reflect.Type) {
	offset := column - 1
	for before := range bytes.Lines(l.data) {
		if line--; line == 0 {
			break
		}
		offset += len(before)
	}
	for _, path := range l.keys {
		if at := l.by[path]; at.want != nil && (at.value == offset || at.key == offset) {
			return path, at.kind, at.want
		}
	}
	return "", unstable.Invalid, nil
}
