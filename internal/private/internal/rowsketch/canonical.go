package rowsketch

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// canonical appends the canonical form of a value to room, and returns it: nothing for a
// value that is missing.
func canonical(room, raw []byte) []byte {
	v := bytes.TrimFunc(raw, blank)
	if len(v) == 0 {
		return nil
	}
	switch c := v[0]; {
	case c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.':
		if out, ok := number(room, v); ok {
			return out
		}
		if out, ok := moment(room, v); ok {
			return out
		}
	case c == '{' || c == '[':
		if out, ok := document(room, v); ok {
			return out
		}
	case len(v) <= 5:
		switch {
		case equalFold(v, "true"):
			return append(room, isTrue...)
		case equalFold(v, "false"):
			return append(room, isFalse...)
		case equalFold(v, "nan"), equalFold(v, "null"):
			return nil
		}
	}
	return text(room, v)
}

// Truth values are numbers, as in databases that have no others.
const isTrue, isFalse = "1e0", "0"

// blank reports what does not count at the ends of a value: white space, and marks of the
// byte order.
func blank(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

func equalFold(v []byte, word string) bool {
	return len(v) == len(word) && bytes.EqualFold(v, []byte(word))
}

// text makes every run of white space one space, and composes letters. Bytes that are not
// UTF-8 count as Latin-1.
func text(room, v []byte) []byte {
	if plain(v) {
		return append(room, v...)
	}
	start := len(room)
	space := false
	put := func(r rune) {
		if unicode.IsSpace(r) {
			space = true
			return
		}
		if space && len(room) > start {
			room = append(room, ' ')
		}
		space = false
		room = utf8.AppendRune(room, r)
	}
	if utf8.Valid(v) {
		for _, r := range string(v) {
			put(r)
		}
	} else {
		for _, b := range v {
			put(rune(b))
		}
	}
	if !norm.NFC.IsNormal(room[start:]) {
		room = append(room[:start], norm.NFC.Bytes(room[start:])...)
	}
	if len(room) == start {
		return nil
	}
	return room
}

// plain reports that a trimmed value is ASCII with single spaces.
func plain(v []byte) bool {
	before := byte(0)
	for _, c := range v {
		if c >= 0x80 || c < ' ' || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return true
}

// document is the canonical form of a JSON array or object.
func document(room, v []byte) ([]byte, bool) {
	if bounded.JSON(v, bounded.Small) != nil {
		return nil, false // it counts as text
	}
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var x any
	if d.Decode(&x) != nil || d.More() {
		return nil, false
	}
	return appendDocument(room, x), true
}

func appendDocument(out []byte, x any) []byte {
	switch x := x.(type) {
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k, v := range x {
			if v != nil {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		out = append(out, '{')
		for _, k := range keys {
			out = appendQuoted(out, k)
			out = append(out, ':')
			out = append(appendDocument(out, x[k]), ',')
		}
		return append(out, '}')
	case []any:
		out = append(out, '[')
		for _, v := range x {
			out = append(appendDocument(out, v), ',')
		}
		return append(out, ']')
	case string:
		return appendQuoted(out, x)
	case json.Number:
		return canonical(out, []byte(x))
	case bool:
		if x {
			return append(out, isTrue...)
		}
		return append(out, isFalse...)
	}
	return out
}

func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	out = append(out, bytes.ReplaceAll(canonical(nil, []byte(s)), []byte(`"`), []byte(`\"`))...)
	return append(out, '"')
}
