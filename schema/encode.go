package schema

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Outcome states how a value of the data fared. It holds nothing of the value.
type Outcome uint8

// The outcomes. All but OK mean that the value is refused.
const (
	OK Outcome = iota
	// Outside: not in the domain or within the bounds, and no rule maps it.
	Outside
	// NotANumber: text in a numeric column that is no decimal number.
	NotANumber
	// MissingValue: empty, and no rule maps it.
	MissingValue
)

func (o Outcome) String() string {
	switch o {
	case OK:
		return "ok"
	case Outside:
		return "outside of what the schema allows"
	case NotANumber:
		return "not a number"
	case MissingValue:
		return "missing"
	}
	return "unknown"
}

// Encoder turns values of one column's data into codes and numbers, by the rules that the
// column declares. It is safe for concurrent use.
//
// White space around a text (spaces, tabs, line ends) does not count, everything else
// does: capitals too. Numbers are decimal, with a point and an exponent if need be; "1,5"
// and "0x10" are none, unless the column has a format. "inf" and "-inf" lie outside of all bounds; "nan", "NA", "n/a",
// "null" and "none" in any case are missing numbers, as "" is.
type Encoder struct {
	numeric bool
	// codes has values and aliases of a categorical column. numbers has the aliases of a
	// numeric one, NaN for a missing value.
	codes   map[string]uint16
	numbers map[string]float64
	// other and missing are codes of a categorical column, or none.
	other, missing int
	// absent is the number that stands for a missing one, or NaN.
	absent    float64
	low, high float64
	clamp     bool
	edges     []float64
	places    map[string]uint16
	// parse reads texts of a format; nil reads plain numbers.
	parse func(string) (float64, bool)
}

const none = -1

// Encoder returns the encoder of the column. Building it takes a moment: keep it. For a
// column that fails its check it refuses what it cannot encode.
func (c Column) Encoder() *Encoder {
	e := &Encoder{numeric: c.Kind == Numeric, other: none, missing: none, absent: math.NaN()}
	domain := c.Domain()
	domain = domain[:min(len(domain), maxValues)]
	e.places = make(map[string]uint16, len(domain))
	for i, v := range domain {
		e.places[v] = uint16(i)
	}
	if e.numeric {
		e.setNumeric(c)
		return e
	}
	e.codes = make(map[string]uint16, len(domain)+len(c.Aliases))
	for from, to := range c.Aliases {
		if code, ok := e.places[to]; ok {
			e.codes[from] = code
		}
	}
	maps.Copy(e.codes, e.places)
	if code, ok := e.places[c.Other]; ok && c.Other != "" {
		e.other = int(code)
	}
	if code, ok := e.places[c.Missing]; ok && c.Missing != "" {
		e.missing = int(code)
	}
	return e
}

func (e *Encoder) setNumeric(c Column) {
	e.low, e.high, e.clamp, e.edges = c.Low, c.High, c.Clamp, slices.Clone(c.Edges)
	if c.Format != "" {
		e.parse = newParser(c.Format)
	}
	if x, ok := c.Parse(c.Missing); ok {
		e.absent = x
	}
	if len(c.Aliases) > 0 {
		e.numbers = make(map[string]float64, len(c.Aliases))
	}
	for from, to := range c.Aliases {
		if x, ok := c.Parse(to); ok {
			e.numbers[from] = x
		} else if to == "" {
			e.numbers[from] = math.NaN()
		}
	}
}

// Code returns the place of a text in the column's domain: the value or alias that it is,
// or the bin that it is in.
func (e *Encoder) Code(text string) (uint16, Outcome) {
	if e.numeric {
		x, o := e.Number(text)
		return e.bin(x, o)
	}
	// Most texts are spelt as in the schema.
	if code, ok := e.codes[text]; ok {
		return code, OK
	}
	text = trim(text)
	if code, ok := e.codes[text]; ok {
		return code, OK
	}
	return e.unlisted(text == "")
}

// CodeBytes is Code without the need of a string.
func (e *Encoder) CodeBytes(text []byte) (uint16, Outcome) {
	if !e.numeric {
		if code, ok := e.codes[string(text)]; ok {
			return code, OK
		}
	}
	return e.Code(string(text))
}

func (e *Encoder) unlisted(empty bool) (uint16, Outcome) {
	switch {
	case empty && e.missing == none:
		return 0, MissingValue
	case empty:
		return uint16(e.missing), OK
	case e.other == none:
		return 0, Outside
	}
	return uint16(e.other), OK
}

// CodeMissing returns the code of a missing value (NULL).
func (e *Encoder) CodeMissing() (uint16, Outcome) {
	if e.numeric {
		return e.CodeNumber(math.NaN())
	}
	return e.unlisted(true)
}

// CodeNumber returns the code of a number: its bin, or the value of a categorical column
// that is written as the number is, without needless digits ("1", not "1.0").
func (e *Encoder) CodeNumber(x float64) (uint16, Outcome) {
	switch {
	case e.numeric:
		x, o := e.Clamped(x)
		return e.bin(x, o)
	case math.IsNaN(x):
		return e.unlisted(true)
	}
	var room [32]byte
	return e.CodeBytes(strconv.AppendFloat(room[:0], x+0, 'f', -1, 64)) // -0 + 0 is 0
}

// CodeInt is CodeNumber for whole numbers of any size.
func (e *Encoder) CodeInt(x int64) (uint16, Outcome) {
	if e.numeric {
		return e.CodeNumber(float64(x))
	}
	var room [20]byte
	return e.CodeBytes(strconv.AppendInt(room[:0], x, 10))
}

// Place returns the code of a value that is named as in [Column.Domain]: what released
// files have, where bins are words.
func (e *Encoder) Place(name string) (uint16, bool) {
	code, ok := e.places[name]
	return code, ok
}

// bin counts the edges up to a number that is within the bounds. A column without bins has
// no codes.
func (e *Encoder) bin(x float64, o Outcome) (uint16, Outcome) {
	switch {
	case o != OK:
		return 0, o
	case len(e.edges) == 0:
		return 0, Outside
	}
	return place(x, e.edges), OK
}

// place returns how many of the cuts are at or below a number.
func place(x float64, cuts []float64) uint16 {
	if len(cuts) <= 8 {
		n := uint16(0)
		for _, c := range cuts {
			if x >= c {
				n++
			}
		}
		return n
	}
	n, found := slices.BinarySearch(cuts, x)
	if found {
		n++
	}
	return uint16(n)
}

// Number returns the number that a text is, by the column's rules for missing values and
// those outside the bounds. It is always within the bounds, or refused.
func (e *Encoder) Number(text string) (float64, Outcome) {
	text = trim(text)
	if x, ok := e.numbers[text]; ok {
		return e.Clamped(x)
	}
	var x float64
	var ok bool
	if e.parse == nil {
		x, ok = parseNumber(text)
	} else {
		x, ok = e.parse(strings.Clone(text)) // so that plain numbers need no memory
	}
	switch {
	case ok:
		if stands, is := e.code(x); is {
			x = stands
		}
		return e.Clamped(x)
	case text == "":
		return e.Clamped(math.NaN())
	}
	return 0, NotANumber
}

// code returns what a number stands for that is a code, such as 999 for a missing value, however it is written.
func (e *Encoder) code(x float64) (float64, bool) {
	if len(e.numbers) == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, false
	}
	return e.Alias(plain(x))
}

// plain writes a number as data has it, in one way.
func plain(x float64) string { return strconv.FormatFloat(x+0, 'f', -1, 64) }

// Alias returns the number that a spelling stands for, if the schema lists it.
func (e *Encoder) Alias(text string) (float64, bool) {
	x, ok := e.numbers[text]
	return x, ok
}

// NumberBytes is Number without the need of a string.
func (e *Encoder) NumberBytes(text []byte) (float64, Outcome) { return e.Number(string(text)) }

// Clamped returns a number by the column's rules: NaN is a missing value. There is no -0.
func (e *Encoder) Clamped(x float64) (float64, Outcome) {
	if x >= e.low && x <= e.high {
		return x + 0, OK
	}
	switch {
	case math.IsNaN(x):
		if math.IsNaN(e.absent) {
			return 0, MissingValue
		}
		return e.absent + 0, OK
	case !e.clamp:
		return 0, Outside
	case x < e.low:
		return e.low + 0, OK
	}
	return e.high + 0, OK
}

const blanks = " \t\r\n"

func trim(s string) string {
	if s == "" || !strings.ContainsRune(blanks, rune(s[0])) && !strings.ContainsRune(blanks, rune(s[len(s)-1])) {
		return s
	}
	return strings.Trim(s, blanks)
}

// parseNumber reads a decimal number. The standard library's parser also takes
// hexadecimal ones and underscores, which a column of numbers does not have.
func parseNumber(s string) (float64, bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c == 'e', c == 'E':
		default:
			return parseSpecial(s)
		}
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(x, 0) { // a number too large for a float64 is an infinite one
		return 0, false
	}
	return x, true
}

// parseSpecial reads what programs write for numbers that are none.
func parseSpecial(s string) (float64, bool) {
	switch strings.ToLower(s) {
	case "nan", "na", "n/a", "null", "none":
		return math.NaN(), true
	case "inf", "+inf", "infinity", "+infinity":
		return math.Inf(1), true
	case "-inf", "-infinity":
		return math.Inf(-1), true
	}
	return 0, false
}
