package table

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/schema"
)

// blanks are what does not count around a text, as in package schema.
const blanks = " \t\r\n"

// writer writes statements: parameters are kept apart from the text, so that no value of
// a schema can become part of it.
type writer struct {
	d     *Dialect
	args  []any
	texts map[string]string
	reals map[float64]string
}

func newWriter(d *Dialect) *writer {
	return &writer{d: d, texts: map[string]string{}, reals: map[float64]string{}}
}

func (w *writer) param(v any, as string) string {
	w.args = append(w.args, v)
	p := w.d.Param(len(w.args))
	if as == "" {
		return p
	}
	return "CAST(" + p + " AS " + as + ")"
}

func (w *writer) text(s string) string {
	if _, ok := w.texts[s]; !ok {
		w.texts[s] = w.param(s, w.d.String)
	}
	return w.texts[s]
}

func (w *writer) real(x float64) string {
	if _, ok := w.reals[x]; !ok {
		w.reals[x] = w.param(x, w.d.Double)
	}
	return w.reals[x]
}

// columnSQL is a column in SQL.
type columnSQL struct {
	// raw are expressions over the source that the code needs, by name.
	raw map[string]string
	// code is an expression over these: a code or steps, or NULL for a refused value.
	code string
	// refuses: there may be refused values.
	refuses bool
}

// plan of a column: what it is to the schema and to the database.
type columnPlan struct {
	column schema.Column
	e      *Encoding
	class  Class
	name   string // prefix of names, unique in the statement
	handle string // of the encoding, for databases that can call it
}

// canEncode reports whether the database can encode a column exactly as we do.
func (c *columnPlan) canEncode(d *Dialect) bool {
	if c.class == Any {
		return true
	}
	if c.e.numeric {
		return c.class.number() && (c.class != Decimal || d.FromDecimal != nil) && saneBounds(c.column)
	}
	for _, key := range c.keys() {
		if strings.ContainsRune(key.text, 0) || !utf8.ValidString(key.text) {
			return false // not every database has such texts
		}
	}
	return c.class != Opaque
}

// saneBounds reports whether arithmetic within the bounds neither overflows nor
// underflows, where some databases fail.
func saneBounds(c schema.Column) bool {
	for _, x := range append([]float64{c.Low, c.High}, c.Edges...) {
		if a := math.Abs(x); a != 0 && !(a > 1e-100 && a < 1e100) {
			return false
		}
	}
	return c.High == c.Low || c.High/2-c.Low/2 > 1e-100
}

// tiny differences are no step within sane bounds.
const tiny = 1e-120

// encodeNumber writes the encoding of a number n, as [Encoding.Number] has it.
func (w *writer) encodeNumber(c *columnPlan, n string) columnSQL {
	var out columnSQL
	var b strings.Builder
	when := func(condition string, x float64) {
		code, why := c.clamped(x)
		if why != 0 {
			out.refuses = true
		}
		fmt.Fprintf(&b, " WHEN %s THEN %s", condition, codeOrNull(code, why))
	}
	missing := n + " IS NULL"
	if w.d.IsNaN != nil {
		missing += " OR " + w.d.IsNaN(n)
	}
	b.WriteString("CASE")
	when(missing, math.NaN())
	for _, alias := range slices.Sorted(maps.Keys(c.column.Aliases)) {
		if x, err := strconv.ParseFloat(alias, 64); err == nil && !math.IsInf(x, 0) && alias == canonical(x) {
			mapped, why := c.number(x)
			out.refuses = out.refuses || why != 0
			fmt.Fprintf(&b, " WHEN %s = %s THEN %s", n, w.real(x), codeOrNull(mapped, why))
		}
	}
	when(n+" < "+w.real(c.column.Low), math.Inf(-1))
	when(n+" > "+w.real(c.column.High), math.Inf(1))
	switch s := c.e.s; {
	case c.e.codes:
		for i, edge := range c.column.Edges {
			fmt.Fprintf(&b, " WHEN %s < %s THEN %d", n, w.real(edge), i)
		}
		fmt.Fprintf(&b, " ELSE %d END", len(c.column.Edges))
	case !(s.Half > 0):
		b.WriteString(" ELSE 0 END")
	default:
		fmt.Fprintf(&b, " WHEN abs(%s - %s) < %s THEN 0", n, w.real(s.Middle), w.real(tiny))
		y := fmt.Sprintf("floor(((%s - %s) / %s) * %s + %s)", n, w.real(s.Middle), w.real(s.Half), w.real(Steps), w.real(0.5))
		fmt.Fprintf(&b, " ELSE CAST(%s(%s, %s(%s, %s)) AS %s) END", w.d.Greatest, w.real(-Steps), w.d.Least, w.real(Steps), y, w.d.Integer)
	}
	out.code = b.String()
	return out
}

// canonical is how a number reads as a text of the data.
func canonical(x float64) string { return strconv.FormatFloat(x+0, 'f', -1, 64) }

// number encodes one number here.
func (c *columnPlan) number(x float64) (int64, Reason) { return c.e.one(c.e.Number, x) }

// clamped is number for what no alias stands for.
func (c *columnPlan) clamped(x float64) (int64, Reason) { return c.e.one(c.e.clamped, x) }

func codeOrNull(code int64, why Reason) string {
	if why != 0 {
		return "NULL"
	}
	return strconv.FormatInt(code, 10)
}

// key is a text of the data that the schema knows, and its code.
type key struct {
	text string
	code uint16
}

// keys are all such texts of a categorical column, in order.
func (c *columnPlan) keys() []key {
	var out []key
	for _, text := range slices.Sorted(maps.Keys(c.known())) {
		if code, o := c.e.e.Code(text); o == schema.OK {
			out = append(out, key{text, code})
		}
	}
	return out
}

func (c *columnPlan) known() map[string]bool {
	known := map[string]bool{}
	for _, v := range c.column.Values {
		known[v] = true
	}
	for alias := range c.column.Aliases {
		known[alias] = true
	}
	return known
}

// encodeText writes the encoding of a text t as [Encoding.Text] has it: as it is, and only
// then without blanks around it.
func (w *writer) encodeText(c *columnPlan, t string) columnSQL {
	var b strings.Builder
	missing, why := c.missing()
	other, whyOther := c.other()
	fmt.Fprintf(&b, "CASE WHEN %s IS NULL THEN %s", t, codeOrNull(missing, why))
	keys := map[uint16][]string{}
	for _, k := range c.keys() {
		keys[k.code] = append(keys[k.code], w.text(k.text))
	}
	trimmed := w.d.Trim(t, w.text(blanks))
	for _, x := range []string{t, trimmed} {
		for _, code := range slices.Sorted(maps.Keys(keys)) {
			fmt.Fprintf(&b, " WHEN %s IN (%s) THEN %d", x, strings.Join(keys[code], ", "), code)
		}
	}
	fmt.Fprintf(&b, " WHEN %s = %s THEN %s", trimmed, w.text(""), codeOrNull(missing, why))
	fmt.Fprintf(&b, " ELSE %s END", codeOrNull(other, whyOther))
	return columnSQL{code: b.String(), refuses: why != 0 || whyOther != 0}
}

// missing is the code of a missing value of a categorical column.
func (c *columnPlan) missing() (int64, Reason) {
	code, o := c.e.e.CodeMissing()
	return int64(code), reasonOf(o)
}

// other is the code of what is not listed: of a text that no list has.
func (c *columnPlan) other() (int64, Reason) {
	text := "?"
	for known := c.known(); known[text]; {
		text += "?"
	}
	code, o := c.e.e.Code(text)
	return int64(code), reasonOf(o)
}

// encodeFloat writes the encoding of a number in a categorical column: a value is one that
// is written as the number is.
func (w *writer) encodeFloat(c *columnPlan, n string) columnSQL {
	var b strings.Builder
	missing, why := c.missing()
	condition := n + " IS NULL"
	if w.d.IsNaN != nil {
		condition += " OR " + w.d.IsNaN(n)
	}
	fmt.Fprintf(&b, "CASE WHEN %s THEN %s", condition, codeOrNull(missing, why))
	for _, k := range c.keys() {
		if x, err := strconv.ParseFloat(k.text, 64); err == nil && canonical(x) == k.text {
			fmt.Fprintf(&b, " WHEN %s = %s THEN %d", n, w.real(x), k.code)
		}
	}
	other, whyOther := c.other()
	fmt.Fprintf(&b, " ELSE %s END", codeOrNull(other, whyOther))
	return columnSQL{code: b.String(), refuses: why != 0 || whyOther != 0}
}

// encode writes the encoding of a column q of the source.
func (w *writer) encode(c *columnPlan, q string) columnSQL {
	n, t := c.name+"_n", c.name+"_t"
	var out columnSQL
	switch {
	case c.class == Any:
		out = w.encodeAny(c, c.name+"_v")
		out.raw = map[string]string{c.name + "_v": q}
	case c.e.numeric || c.class == Float:
		if c.e.numeric {
			out = w.encodeNumber(c, n)
		} else {
			out = w.encodeFloat(c, n)
		}
		double := "CAST(" + q + " AS " + w.d.Double + ")"
		if c.class == Decimal {
			double = w.d.FromDecimal(q)
		}
		out.raw = map[string]string{n: double}
	default:
		out = w.encodeText(c, t)
		out.raw = map[string]string{t: w.d.Plain(q)}
	}
	return out
}

// encodeAny writes the encoding of a value that may have any type: numbers and texts that
// are spelt as in the schema by SQL, and everything else by a call.
func (w *writer) encodeAny(c *columnPlan, v string) columnSQL {
	call := fmt.Sprintf("sotto_encode(%s, %s)", c.handle, v)
	out := columnSQL{refuses: true}
	switch {
	case c.e.numeric && len(c.column.Aliases) == 0 && saneBounds(c.column):
		native := w.encodeNumber(c, "CAST("+v+" AS "+w.d.Double+")")
		out.code = fmt.Sprintf("CASE WHEN typeof(%s) IN ('integer', 'real') THEN %s ELSE %s END", v, native.code, call)
	case c.e.numeric:
		out.code = call
	default:
		var b strings.Builder
		fmt.Fprintf(&b, "CASE WHEN typeof(%s) <> 'text' THEN %s", v, call)
		for _, k := range c.keys() {
			fmt.Fprintf(&b, " WHEN %s COLLATE BINARY = %s THEN %d", v, w.text(k.text), k.code)
		}
		fmt.Fprintf(&b, " ELSE %s END", call)
		out.code = b.String()
	}
	return out
}
