package convert

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// Lines reads JSON as a table: an array of objects, or one object a line. Keys are columns. An
// element that is no object is a row that cannot be used.
func (r *Rows) Lines(in io.Reader) error {
	return calm("JSON file", func() error {
		data, err := io.ReadAll(io.LimitReader(in, Largest+1))
		if err != nil {
			return err
		}
		if len(data) > Largest {
			return errLarge
		}
		data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
		if bounded.JSON(data, Largest) != nil {
			return refuse("the JSON file is nested deeper than records are")
		}
		names, err := r.namesOf(data)
		if err != nil {
			return err
		}
		if err := r.Header(names); err != nil {
			return err
		}
		return eachElement(data, func(raw []byte) error {
			fields, ok := record(raw)
			if !ok {
				return r.Flawed()
			}
			return r.object(fields)
		})
	})
}

// object adds a row. All its keys are columns.
func (r *Rows) object(o object) error {
	if r.places == nil {
		r.places, r.cells = map[string]int{}, make([]json.RawMessage, len(r.Names))
		for i, name := range r.Names {
			r.places[name] = i
		}
	}
	clear(r.cells)
	for _, f := range o {
		r.cells[r.places[f.key]] = f.raw
	}
	for _, c := range r.cells {
		r.Cell(textOf(c))
	}
	return r.End()
}

// namesOf collects the keys of all records, in the order in which they come first.
func (r *Rows) namesOf(data []byte) ([]string, error) {
	var names []string
	seen, any := map[string]bool{}, false
	err := eachElement(data, func(raw []byte) error {
		any = true
		fields, _ := record(raw)
		for _, f := range fields {
			if !seen[f.key] {
				seen[f.key] = true
				names = append(names, f.key)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case !any:
		return nil, refuse("the JSON file has no records: it should be an array of objects, or one object a line")
	case len(names) == 0:
		return nil, refuse("the JSON file has no objects: it should be an array of objects, or one object a line")
	}
	return names, nil
}

// eachElement hands out the elements of an array, or the lines.
func eachElement(data []byte, each func(raw []byte) error) error {
	if len(data) == 0 || data[0] != '[' {
		for line := range bytes.Lines(data) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				if err := each(line); err != nil {
					return err
				}
			}
		}
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		if err := each(raw); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// field is a key of an object and its value, as JSON.
type field struct {
	key string
	raw json.RawMessage
}

type object []field

func (o object) get(key string) json.RawMessage {
	for _, f := range o {
		if f.key == key {
			return f.raw
		}
	}
	return nil
}

// put adds a field unless it is there.
func (o object) put(key string, raw json.RawMessage) object {
	if o.get(key) != nil || len(raw) == 0 {
		return o
	}
	return append(o, field{key, raw})
}

// fieldsOf splits an object, in its order. One with a key twice is none.
func fieldsOf(raw []byte) (object, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	var out object
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok || seen[key] {
			return nil, false
		}
		seen[key] = true
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil, false
		}
		out = append(out, field{key, value})
	}
	return out, true
}

// textOf is a value in a cell: a string without its quotes, and all else as JSON.
func textOf(raw json.RawMessage) []byte {
	var s string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil
	case raw[0] == '"' && json.Unmarshal(raw, &s) == nil:
		return []byte(s)
	case raw[0] == '{' || raw[0] == '[':
		var b bytes.Buffer
		if json.Compact(&b, raw) == nil {
			return b.Bytes()
		}
	}
	return Number(slices.Clone(raw))
}

func quoted(s string) json.RawMessage {
	out, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return out
}
