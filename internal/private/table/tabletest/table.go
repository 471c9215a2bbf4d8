package tabletest

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// Type is what a column of a made-up table holds.
type Type int

// The types that a source may have.
const (
	Text Type = iota
	Integer
	Double
	// Decimal numbers are written exactly, as texts of digits with a point.
	Decimal
	Boolean
)

// Column of a made-up table.
type Column struct {
	Name string
	Type Type
}

// Table is made up. A value is nil, a string, an int64, a float64 or a bool; those of
// Decimal columns are strings.
type Table struct {
	Columns []Column
	Rows    [][]any
}

// names that quoting must survive.
var names = []string{
	"plain", "Capital", "two words", `quo"te`, `"`, "semi;colon", "it's", "--", "select", "ünï", "a.b", "$1", "?", "/*", "c0_n", "g", "unit", "turn", "100%", `back\slash`,
}

// texts that are hard to tell apart, or to write.
var texts = []string{
	"a", "A", "a ", " a", "\ta\n", "b", "", " ", "it's", `say "hi"`, "a,b", "line\nbreak", "?", "NULL", "null", "nan", "é", "e\u0301", "ß", "'; DROP TABLE t; --", "1", "1.0", "01", "-0", "true", "$1", `\`, "%", "_", "<=50K",
}

var numbers = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 0.1, 1e-9, -1e-9, 5e-324, -5e-324, 1e-310, 99, 100, 100.00000000000001, 101, -100, 1e15, 1e16, 1e21, 1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN(), 33.333333333333336, 2.5, 999}

var decimals = []string{"0", "1", "-1", "0.5", "0.10", "99.999999999999999999", "100", "100.000000000000000000001", "33.3333333333333333333", "-0.0000000000000000000000001", "12345678901234567890.5", "2.50", "999"}

// random draws from what is given.
type random struct{ s *noise.Stream }

func (r random) n(below int) int { return int(r.s.Uint64n(uint64(below))) }

func pick[T any](r random, from []T) T { return from[r.n(len(from))] }

// some draws a few different ones.
func some[T any](r random, from []T, n int) []T {
	order, err := r.s.Permutation(len(from))
	if err != nil {
		panic(err) // a list in this file
	}
	var out []T
	for _, i := range order[:min(n, len(from))] {
		out = append(out, from[i])
	}
	return out
}

// value draws a value of a type; nulls are common.
func (r random) value(t Type) any {
	if r.n(8) == 0 {
		return nil
	}
	switch t {
	case Integer:
		return pick(r, []int64{0, 1, -1, 2, 7, 99, 100, 101, 999, math.MaxInt64, math.MinInt64, 1<<53 + 1, int64(r.n(100))})
	case Double:
		if r.n(2) == 0 {
			return float64(r.n(1<<30)) / (1 << 22)
		}
		return pick(r, numbers)
	case Decimal:
		if r.n(2) == 0 {
			return strconv.Itoa(r.n(150)) + "." + strconv.Itoa(r.n(1000000))
		}
		return pick(r, decimals)
	case Boolean:
		return r.n(2) == 0
	}
	if r.n(3) == 0 {
		return strconv.Itoa(r.n(120))
	}
	return pick(r, texts)
}

// column makes up what a schema says about a column: rules of all sorts.
func (r random) column(c Column) schema.Column {
	if c.Type != Boolean && r.n(2) == 0 {
		return r.numeric(c.Name)
	}
	out := schema.Column{Name: c.Name, Kind: schema.Categorical}
	// Values of a schema have no blanks around them; aliases may.
	for _, v := range some(r, texts, 2+r.n(6)) {
		if trimmed(v) && v != "" {
			out.Values = append(out.Values, v)
		}
	}
	out.Values = append(out.Values, "other one")
	if r.n(2) == 0 {
		out.Other = out.Values[r.n(len(out.Values))]
	}
	if r.n(2) == 0 {
		out.Missing = out.Values[r.n(len(out.Values))]
	}
	for _, v := range some(r, append([]string{"100", "7", "0.5"}, texts...), r.n(4)) {
		if !slices.Contains(out.Values, v) {
			if out.Aliases == nil {
				out.Aliases = map[string]string{}
			}
			out.Aliases[v] = out.Values[r.n(len(out.Values))]
		}
	}
	return out
}

func (r random) numeric(name string) schema.Column {
	bounds := pick(r, [][2]float64{{0, 100}, {-1, 1}, {0, 1}, {17, 90}, {-1e6, 1e6}, {0.1, 0.3}, {100, 1000000}})
	out := schema.Column{Name: name, Kind: schema.Numeric, Low: bounds[0], High: bounds[1], Clamp: r.n(3) > 0}
	if r.n(2) == 0 {
		out.Missing = strconv.FormatFloat(bounds[0]/2+bounds[1]/2, 'g', -1, 64)
	}
	if r.n(2) == 0 {
		width := bounds[1] - bounds[0]
		out.Edges = []float64{bounds[0] + width/4, bounds[0] + width/3}
	}
	if r.n(4) == 0 {
		out.Aliases = map[string]string{"999": "", "?": "", "7": out.Missing}
	}
	return out
}

func trimmed(s string) bool { return s == "" || !blank(s[0]) && !blank(s[len(s)-1]) }

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// make makes up a table and a schema of its columns.
func (r random) table(types []Type, rows int) (Table, schema.Schema) {
	var t Table
	s := schema.Schema{Name: "made-up"}
	for _, name := range some(r, names, 1+r.n(5)) {
		c := Column{name, pick(r, types)}
		t.Columns = append(t.Columns, c)
		s.Columns = append(s.Columns, r.column(c))
	}
	for range rows {
		row := make([]any, len(t.Columns))
		for i, c := range t.Columns {
			row[i] = r.value(c.Type)
		}
		t.Rows = append(t.Rows, row)
	}
	return t, s
}

// Literal is a value as text, for files: "" for nil.
func Literal(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}
