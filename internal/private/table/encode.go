package table

import (
	"math"
	"strconv"
	"time"

	"github.com/sotto-dp/sotto/schema"
)

// Scale is how numbers within bounds are put on whole steps from the middle.
type Scale struct {
	// Middle of the bounds, and Half their width.
	Middle, Half float64
}

// NewScale returns the scale of a numeric column.
func NewScale(c schema.Column) Scale {
	return Scale{Middle: c.Low/2 + c.High/2, Half: c.High/2 - c.Low/2}
}

// Steps puts a number on the nearest step, halves upwards. Whatever the number and however
// the division rounds, the result is within ±[Steps].
//
// A database that computes it gets the same: each operation is one of IEEE 754, in this
// order, none of them fused (hence the conversions).
func (s Scale) Steps(x float64) int32 {
	y := math.Floor(float64(float64(float64(x-s.Middle)/s.Half)*Steps) + 0.5)
	switch {
	case y >= Steps:
		return Steps
	case y > -Steps:
		return int32(y)
	case y <= -Steps:
		return -Steps
	}
	return 0 // bounds without width
}

// Value is the number that so many steps stand for.
func (s Scale) Value(steps float64) float64 { return s.Middle + steps/Steps*s.Half }

// Encoding turns values of one column into codes or steps. It is safe for concurrent use.
type Encoding struct {
	e         *schema.Encoder
	s         Scale
	low, high float64
	codes     bool
	numeric   bool
	// aliased: an alias may be a number, so that a number has to be looked up.
	aliased bool
	// quick: a text may be a plain number and nothing else stands for one.
	quick bool
	date  bool
}

// NewEncoding returns the encoding of a column: into codes if it is categorical, or
// if it has bins and is read as discrete; into steps otherwise.
func NewEncoding(c schema.Column, discrete bool) *Encoding {
	numeric := c.Kind == schema.Numeric
	return &Encoding{
		e: c.Encoder(), s: NewScale(c), low: c.Low, high: c.High, numeric: numeric,
		aliased: numeric && len(c.Aliases) > 0, quick: numeric && len(c.Aliases) == 0 && c.Format == "", date: c.Dates(),
		codes: !numeric || discrete && c.Discrete(),
	}
}

// Codes reports whether values become codes, not steps.
func (e *Encoding) Codes() bool { return e.codes }

// Text encodes a text at a place of a vector; 0 means that it is allowed.
func (e *Encoding) Text(v *Vector, row int, text []byte) Reason {
	if e.quick {
		if x, ok := parseDecimal(text); ok {
			return e.Number(v, row, x)
		}
	}
	if e.codes {
		code, o := e.e.CodeBytes(text)
		v.Codes[row] = code
		return reasonOf(o)
	}
	x, o := e.e.NumberBytes(text)
	v.Steps[row] = e.s.Steps(x)
	return reasonOf(o)
}

// Number encodes a number. An alias that is written as it is counts.
func (e *Encoding) Number(v *Vector, row int, x float64) Reason {
	if e.aliased && !math.IsNaN(x) && !math.IsInf(x, 0) {
		if stands, ok := e.e.Alias(strconv.FormatFloat(x+0, 'f', -1, 64)); ok {
			x = stands
		}
	}
	return e.clamped(v, row, x)
}

// Day encodes a date, by its number of days since 1970: as that number where the schema has a
// column of dates, and otherwise as text.
func (e *Encoding) Day(v *Vector, row int, days int64) Reason {
	if e.date {
		return e.Number(v, row, float64(days))
	}
	var room [16]byte
	return e.Text(v, row, time.Unix(days*24*60*60, 0).UTC().AppendFormat(room[:0], time.DateOnly))
}

// clamped encodes a number that no alias stands for.
func (e *Encoding) clamped(v *Vector, row int, x float64) Reason {
	if e.codes {
		code, o := e.e.CodeNumber(x)
		v.Codes[row] = code
		return reasonOf(o)
	}
	x, o := e.e.Clamped(x)
	v.Steps[row] = e.s.Steps(x)
	return reasonOf(o)
}

// one encodes a single value.
func (e *Encoding) one(put func(*Vector, int, float64) Reason, x float64) (int64, Reason) {
	v := NewVector(e.codes, 1)
	why := put(&v, 0, x)
	return int64(v.At(0)), why
}

// Int encodes a whole number.
func (e *Encoding) Int(v *Vector, row int, x int64) Reason {
	if e.numeric {
		return e.Number(v, row, float64(x))
	}
	code, o := e.e.CodeInt(x)
	v.Codes[row] = code
	return reasonOf(o)
}

// Bool encodes true or false, as text.
func (e *Encoding) Bool(v *Vector, row int, x bool) Reason {
	if x {
		return e.Text(v, row, []byte("true"))
	}
	return e.Text(v, row, []byte("false"))
}

// Null encodes a missing value.
func (e *Encoding) Null(v *Vector, row int) Reason {
	if e.codes {
		code, o := e.e.CodeMissing()
		v.Codes[row] = code
		return reasonOf(o)
	}
	return e.Number(v, row, math.NaN())
}

var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseDecimal reads digits with at most one point and a sign before them: at most 15
// digits, so that their whole number and the power of ten are float64s and the one
// division rounds correctly (Clinger 1990). Everything else it leaves to the schema.
func parseDecimal(text []byte) (float64, bool) {
	i, negative := 0, false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative, i = text[0] == '-', 1
	}
	if len(text)-i > 16 {
		return 0, false
	}
	whole, digits, after, point := uint64(0), 0, 0, false
	for ; i < len(text); i++ {
		c := text[i] - '0'
		if c > 9 {
			if text[i] != '.' || point {
				return 0, false
			}
			point = true
			continue
		}
		whole = whole*10 + uint64(c)
		digits++
		if point {
			after++
		}
	}
	if digits == 0 || digits > 15 {
		return 0, false
	}
	x := float64(whole)
	if after > 0 {
		x /= powersOfTen[after]
	}
	if negative {
		x = -x
	}
	return x, true
}
