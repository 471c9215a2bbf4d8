package schema

import (
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Formats of numbers with separators of thousands, by an example: what separates thousands, and
// the decimal sign.
var numberFormats = map[string]struct{ thousands, point string }{
	"1,234.56": {",", "."},
	"1.234,56": {".", ","},
	"1 234,56": {" \u00a0\u202f", ","},
	"1'234.56": {"'\u2019", "."},
}

// dateTokens are what formats of dates are made of, and Go's words for them, which take one
// digit or two.
var dateTokens = strings.NewReplacer("YYYY", "2006", "MM", "1", "DD", "2")

// isDate reports whether values of the column are dates.
func (c Column) isDate() bool { return strings.Contains(c.Format, "YYYY") }

// Dates reports whether the column is numeric and its numbers are dates.
func (c Column) Dates() bool { return c.Kind == Numeric && c.isDate() }

// knownFormat reports whether a format can be read.
func knownFormat(format string) bool {
	if _, ok := numberFormats[format]; ok || format == "" {
		return true
	}
	for _, token := range []string{"YYYY", "MM", "DD"} {
		if strings.Count(format, token) != 1 {
			return false
		}
	}
	rest := strings.NewReplacer("YYYY", "", "MM", "", "DD", "").Replace(format)
	return strings.Trim(rest, "-./ ") == ""
}

// parse reads a text of the data as the column's format says. A number of the schema itself,
// without format, is read by plain too.
func (c Column) parse(text string) (float64, bool) { return newParser(c.Format)(text) }

// Parse reads a bound or a cut as people write it: a number, or a date of a column of dates.
func (c Column) Parse(text string) (float64, bool) {
	text = trim(text)
	if c.isDate() {
		if x, ok := c.parse(text); ok {
			return x, true
		}
	}
	return parseNumber(text)
}

// Show returns a number of the column as people read it: with the digits of the column, or as a
// date.
func (c Column) Show(x float64) string {
	if c.isDate() {
		return showDate(x, c.Format)
	}
	return say(x, c.Digits)
}

// exact is like Show and round-trips.
func (c Column) exact(x float64) string {
	if c.isDate() && x == math.Trunc(x) {
		return showDate(x, c.Format)
	}
	return exact(x)
}

func showDate(days float64, format string) string {
	layout := strings.NewReplacer("YYYY", "2006", "MM", "01", "DD", "02").Replace(format)
	return time.Unix(int64(math.Round(days))*secondsOfDay, 0).UTC().Format(layout)
}

const secondsOfDay = 24 * 60 * 60

// newParser returns how values of a format are read.
func newParser(format string) func(text string) (float64, bool) {
	if f, ok := numberFormats[format]; ok {
		return func(text string) (float64, bool) { return parseGrouped(text, f.thousands, f.point) }
	}
	if format == "" || !knownFormat(format) {
		return parseNumber
	}
	layout := dateTokens.Replace(format)
	return func(text string) (float64, bool) {
		if x, ok := parseISO(text); ok {
			return x, true
		}
		t, err := time.Parse(layout, text)
		if err != nil {
			x, ok := parseSpecial(text)
			return x, ok && math.IsNaN(x)
		}
		return float64(t.Unix()) / secondsOfDay, true
	}
}

// parseISO reads a date as files with types have it, perhaps with a time. It is the number of
// days since 1970.
func parseISO(text string) (float64, bool) {
	if len(text) < len(time.DateOnly) || text[4] != '-' {
		return 0, false
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05", time.DateTime, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return float64(t.Unix()) / secondsOfDay, true
		}
	}
	return 0, false
}

// parseGrouped reads a number with separators of thousands, and a currency or a percent sign
// before or after it: €51593, 54,013 USD, 12.5%. Thousands are separated everywhere or nowhere,
// so that a number in another format is refused rather than misread.
func parseGrouped(text, thousands, point string) (float64, bool) {
	if x, ok := parseSpecial(text); ok {
		return x, true
	}
	sign := ""
	text = unsigned(strings.TrimSpace(withoutUnit(unsigned(text, &sign))), &sign)
	whole, fraction, cut := strings.Cut(text, point)
	if cut && (fraction == "" || !digits(fraction)) {
		return 0, false
	}
	const mark = "\x00"
	groups := strings.Split(strings.Map(func(r rune) rune {
		if strings.ContainsRune(thousands, r) {
			return 0
		}
		return r
	}, whole), mark)
	for i, g := range groups {
		if g == "" || !digits(g) || len(groups) > 1 && (i > 0 && len(g) != 3 || len(g) > 3) {
			return 0, false
		}
	}
	plain := sign + strings.Join(groups, "")
	if cut {
		plain += "." + fraction
	}
	return parseNumber(plain)
}

// unsigned takes a sign off a text, once.
func unsigned(text string, sign *string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(text, "-"), "\u2212")
	if rest == text {
		rest = strings.TrimPrefix(text, "+")
	} else if *sign == "" {
		*sign = "-"
	} else {
		return text // two signs are no number
	}
	return rest
}

// withoutUnit takes a currency or a percent sign off one end: a sign, or three capital letters.
func withoutUnit(text string) string {
	if r, n := utf8.DecodeRuneInString(text); unicode.Is(unicode.Sc, r) {
		return text[n:]
	}
	if r, n := utf8.DecodeLastRuneInString(text); unicode.Is(unicode.Sc, r) || r == '%' {
		return text[:len(text)-n]
	}
	if len(text) > 3 && capitals(text[:3]) {
		return text[3:]
	}
	if n := len(text) - 3; n > 0 && capitals(text[n:]) {
		return text[:n]
	}
	return text
}

func capitals(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < 'A' || r > 'Z' }) < 0
}

func digits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}
