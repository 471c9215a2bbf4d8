package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Flaw says what is wrong with something that should be one line of text; "" if nothing is.
func Flaw(s string) string {
	switch {
	case s == "":
		return "it is missing"
	case !utf8.ValidString(s):
		return "it is not UTF-8"
	case strings.ContainsAny(s, "\n\r"):
		return "it has a line break in it"
	case strings.TrimSpace(s) == "":
		return "it is blank"
	case strings.TrimSpace(s) != s:
		return "it has spaces around it"
	case strings.IndexFunc(s, unicode.IsControl) >= 0:
		return "it has a control character in it"
	}
	return ""
}

// Controls reports whether a character changes how the text around it is shown: control characters,
// by which terminals are told what to do, line and paragraph separators, and those that turn the
// direction of writing.
func Controls(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// Shorten quotes a value in a message only as far as it helps.
func Shorten(s string) string {
	const limit = 40
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// Quote lists values in a message, the first few of many.
func Quote(list []string) string {
	const limit = 8
	var b strings.Builder
	for i, s := range list {
		if i == limit && len(list) > limit+1 {
			fmt.Fprintf(&b, " and %d more", len(list)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", Shorten(s))
	}
	return b.String()
}

// Template reads a text with {names} in it: each is reported with what stands before it, and
// what is left after the last one is returned. Braces that are meant are written twice.
func Template(text string, each func(before, name string) error) (after string, err error) {
	var before strings.Builder
	for rest := text; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			i = len(rest)
		}
		before.WriteString(rest[:i])
		rest = rest[i:]
		switch {
		case rest == "":
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			before.WriteByte(rest[0])
			rest = rest[2:]
		case rest[0] == '}':
			return "", errors.New("a } closes nothing")
		default:
			name, after, ok := strings.Cut(rest[1:], "}")
			if !ok {
				return "", errors.New("a { is not closed")
			}
			if err := each(before.String(), name); err != nil {
				return "", err
			}
			before.Reset()
			rest = after
		}
	}
	return before.String(), nil
}

// TOML writes a string of TOML. JSON's escapes are TOML's, except for the delete character.
func TOML(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""` // strings always encode
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\u007f", `\u007f`)
}
