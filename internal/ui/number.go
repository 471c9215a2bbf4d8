package ui

import (
	"math"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/privacy"
)

// Real is a number in JSON, which has no infinity: that is the text "Infinity".
type Real float64

// MarshalJSON implements [json.Marshaler].
func (r Real) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(r), 1) {
		return []byte(`"Infinity"`), nil
	}
	return []byte(strconv.FormatFloat(float64(r), 'g', -1, 64)), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *Real) UnmarshalJSON(data []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	*r = Real(v)
	return err
}

// significant is how many digits of ε and δ people see.
const significant = 5

// AtMost prints an upper bound: rounded up, so that what is shown still holds.
func AtMost[F ~float64](v F) string { return Directed(float64(v), significant, +1) }

// AtLeast prints a lower bound: rounded down.
func AtLeast[F ~float64](v F) string { return Directed(float64(v), significant, -1) }

// Nearest prints a number that claims nothing, such as a width.
func Nearest(v float64) string { return Directed(v, 2, 0) }

// Whole prints a number so that it reads back the same, as a fraction where that
// is shorter.
func Whole(v float64) string {
	if f := privacy.FormatNumber(v); strings.Contains(f, "/") && v < 1 {
		return f
	}
	return Decimal(v)
}

// Decimal prints all digits of a number.
func Decimal(v float64) string {
	if math.IsInf(v, 1) {
		return "∞"
	}
	return layout(strconv.FormatFloat(math.Abs(v), 'e', -1, 64), v < 0)
}

// Directed prints v with at most n digits, rounded up for side 1, down for −1,
// and to nearest for 0.
func Directed(v float64, n, side int) string {
	if math.IsInf(v, 1) {
		return "∞"
	}
	if v == 0 || math.IsNaN(v) || v < 0 {
		return Whole(v)
	}
	text := strconv.FormatFloat(v, 'e', n-1, 64)
	rounded, _ := strconv.ParseFloat(text, 64) // what FormatFloat made
	if side > 0 && rounded < v || side < 0 && rounded > v {
		text = nudge(text, n, side)
	}
	return layout(text, false)
}

// nudge moves the last digit of d.ddde±x up or down.
func nudge(text string, n, side int) string {
	mantissa, exponent, _ := strings.Cut(text, "e")
	digits, _ := strconv.ParseInt(strings.Replace(mantissa, ".", "", 1), 10, 64)
	e, _ := strconv.Atoi(exponent)
	digits += int64(side)
	return strconv.FormatInt(digits, 10) + "e" + strconv.Itoa(e-n+1)
}

// layout writes ddd.dde±x without exponent where that is short, and without
// zeros at the end.
func layout(text string, negative bool) string {
	mantissa, exponent, _ := strings.Cut(text, "e")
	e, _ := strconv.Atoi(exponent)
	left, right, _ := strings.Cut(mantissa, ".")
	e += len(left) - 1
	digits := strings.TrimRight(left+right, "0")
	if digits == "" {
		return "0"
	}
	var s string
	switch {
	case e < -4 || e > 8:
		s = digits[:1]
		if len(digits) > 1 {
			s += "." + digits[1:]
		}
		s += "e" + strconv.Itoa(e)
	case e < 0:
		s = "0." + strings.Repeat("0", -e-1) + digits
	case len(digits) <= e+1:
		s = digits + strings.Repeat("0", e+1-len(digits))
	default:
		s = digits[:e+1] + "." + digits[e+1:]
	}
	if negative {
		s = "-" + s
	}
	return s
}

// Interval prints both ends, or says that there is no lower one.
func Interval(i privacy.Interval) string {
	switch {
	case math.IsInf(i.Upper, 1):
		return "infinite, or not known to be finite"
	case i.Lower == i.Upper:
		return Decimal(i.Upper)
	case i.Lower == 0:
		return "at most " + AtMost(i.Upper) + " (no lower bound above 0)"
	}
	return "between " + AtLeast(i.Lower) + " and " + AtMost(i.Upper) + " (width " + Nearest(i.Width()) + ")"
}
