package document

import (
	"errors"
	"strings"
)

// Template reads a text with {names} in it: each is told with what stands before it, and
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
