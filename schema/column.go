package schema

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxValues is the maximal number of values of a domain: codes are 16 bits.
const maxValues = 1<<16 - 1

// Discrete reports whether values have codes: those of a categorical column, and of a
// numeric one with bins.
func (c Column) Discrete() bool { return c.Kind == Categorical || len(c.Edges) > 0 }

// Domain lists the values of a discrete column, or the names of its bins, in the order of
// their codes. It is nil for a numeric column without bins.
func (c Column) Domain() []string {
	if c.Kind == Categorical || len(c.Values) > 0 && len(c.Edges) > 0 {
		return c.Values
	}
	return c.binNames()
}

// binNames reports where bins begin and end, in words that read well in a sentence.
func (c Column) binNames() []string {
	if len(c.Edges) == 0 {
		return nil
	}
	names := make([]string, 0, len(c.Edges)+1)
	for i := range len(c.Edges) + 1 {
		switch {
		case i == 0:
			names = append(names, "less than "+c.exact(c.Edges[0]))
		case i == len(c.Edges):
			names = append(names, c.exact(c.Edges[i-1])+" or more")
		default:
			names = append(names, c.exact(c.Edges[i-1])+" to less than "+c.exact(c.Edges[i]))
		}
	}
	return names
}

// exact formats a number so that it round-trips.
func exact(x float64) string {
	format := byte('f')
	if abs := math.Abs(x); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'g'
	}
	return strconv.FormatFloat(x+0, format, -1, 64)
}

// say formats a number with at most so many digits after the point.
func say(x float64, digits int) string {
	s := strconv.FormatFloat(x, 'f', min(max(digits, 0), maxDigits), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}

// phrase returns a value of the domain in words.
func (c Column) phrase(value string) string {
	if p, ok := c.Phrases[value]; ok {
		return p
	}
	return value
}

func (c Column) clone() Column {
	c.Edges, c.Values = slices.Clone(c.Edges), slices.Clone(c.Values)
	c.Aliases, c.Phrases = cloneMap(c.Aliases), cloneMap(c.Phrases)
	forms := cloneMap(c.Forms)
	for name, f := range forms {
		forms[name] = cloneMap(f)
	}
	c.Forms = forms
	return c
}

// cloneMap copies a map and returns nil for an empty one, so that equal schemas encode
// equally.
func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}
