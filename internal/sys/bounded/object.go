package bounded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// endOfString returns where the string that begins at i ends: at its closing quote, or behind the
// text.
func endOfString(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// Count bounds the number of values in JSON text, objects' members and lists' elements at every
// level, in one pass and without memory. It does not check that the text is JSON: where it is,
// there are at most as many values, and at least half as many.
func Count(data []byte) (values int) {
	values = 1
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = endOfString(data, i)
		case ',', '[', '{': // each is followed by a value, or the list is empty
			values++
		}
	}
	return values
}

// errNotObject does not say what it is instead, which may be content.
var errNotObject = errors.New("it is not a JSON object")

// Object returns the members of a JSON object, of which there may be so many, as
// json.Unmarshal into a map of raw messages does: of two with the same name the last counts. The
// values are parts of data, and no copies.
func Object(data []byte, limit int) (map[string]json.RawMessage, error) {
	rest := bytes.TrimLeft(data, space)
	if len(rest) == 0 || rest[0] != '{' || !json.Valid(data) {
		return nil, errNotObject
	}
	out := map[string]json.RawMessage{}
	for n := 0; ; n++ {
		rest = bytes.TrimLeft(rest[1:], space) // behind { or ,
		if rest[0] == '}' {                    // of an object without members
			return out, nil
		}
		if n == limit {
			return nil, &Error{Reason: fmt.Sprintf("it has more than %d members", limit)}
		}
		end := endOfString(rest, 0) + 1
		var name string
		if err := json.Unmarshal(rest[:end], &name); err != nil {
			return nil, errNotObject
		}
		rest = bytes.TrimLeft(bytes.TrimLeft(rest[end:], space)[1:], space) // behind the colon
		end = endOfValue(rest)
		out[name] = rest[:end:end]
		if rest = bytes.TrimLeft(rest[end:], space); rest[0] == '}' {
			return out, nil
		}
	}
}

// space is what JSON takes for it.
const space = " \t\r\n"

// endOfValue returns the length of the value that valid text begins with, within an object.
func endOfValue(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = endOfString(data, i)
		case '[', '{':
			depth++
			continue
		case ']', '}':
			if depth--; depth < 0 { // the object's own end, behind a number or a word
				return len(bytes.TrimRight(data[:i], space))
			}
		case ',':
			if depth == 0 {
				return len(bytes.TrimRight(data[:i], space))
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(data)
}
