package rowsketch

import (
	"bytes"
	"unicode/utf8"
)

const (
	// longValue is how many characters a value has at least that is known again without
	// its row: shorter ones, such as names and numbers, are in unrelated data sets too.
	longValue = 16
	// manyDigits is how many digits a value without words has at least: fewer are dates,
	// times and measurements, of which there are only so many.
	manyDigits = 18
	// oneWord is how many letters and digits a single word has at least that is no date.
	oneWord = 24
)

// isLong reports whether a canonical value distinguishes data sets by itself: it is long, and
// no date or number.
func isLong(v []byte) bool {
	if len(v) < longValue || len(v) < 4*longValue && utf8.RuneCount(v) < longValue {
		return false
	}
	if bytes.Contains(v, []byte("e-")) && len(bytes.Trim(v, "0123456789e-")) == 0 {
		return false // a fraction, such as one third
	}
	letters, digits, spaces := 0, 0, 0
	for _, c := range v[:min(len(v), 128)] {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 0x80 || c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		case c == '@':
			return true
		case c == ' ':
			spaces++
		}
	}
	// A date may have a weekday, a month and a zone in words.
	return digits >= manyDigits || letters >= 8+2*digits || spaces == 0 && letters+digits >= oneWord
}
