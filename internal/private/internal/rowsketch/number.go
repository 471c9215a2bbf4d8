package rowsketch

import (
	"math"
	"strconv"
)

// maxDigits bounds numbers: longer ones are texts.
const maxDigits = 40

// decimal is a number as it is written: ±digits·10^exponent.
type decimal struct {
	negative bool
	digits   [maxDigits]byte
	n        int
	exponent int
}

// number appends the canonical form of a decimal number: its sign, its digits without zeros
// at the ends, and its exponent. A fraction of more than 15 digits is first rounded to the
// nearest double, since programs print doubles with 15 to 17 digits or more.
func number(room, v []byte) ([]byte, bool) {
	var d decimal
	if !d.read(v) {
		return nil, false
	}
	if d.exponent < 0 && d.n > 15 {
		x, err := strconv.ParseFloat(string(v), 64)
		if err != nil || math.IsInf(x, 0) {
			return nil, false
		}
		var short [32]byte
		d = decimal{}
		if !d.read(strconv.AppendFloat(short[:0], x, 'e', -1, 64)) {
			return nil, false
		}
	}
	if d.n == 0 {
		return append(room, '0'), true
	}
	if d.negative {
		room = append(room, '-')
	}
	room = append(room, d.digits[:d.n]...)
	room = append(room, 'e')
	return strconv.AppendInt(room, int64(d.exponent), 10), true
}

// read parses [+-]digits[.digits][e[+-]digits].
func (d *decimal) read(v []byte) bool {
	if v[0] == '-' || v[0] == '+' {
		d.negative = v[0] == '-'
		v = v[1:]
	}
	seen, point := false, false
	for len(v) > 0 && v[0] != 'e' && v[0] != 'E' {
		switch c := v[0]; {
		case c == '.' && !point:
			point = true
		case c < '0' || c > '9':
			return false
		default:
			seen = true
			if point {
				d.exponent--
			}
			if c != '0' || d.n > 0 {
				if d.n == maxDigits {
					return false
				}
				d.digits[d.n] = c
				d.n++
			}
		}
		v = v[1:]
	}
	if !seen {
		return false
	}
	if len(v) > 0 {
		e, err := strconv.ParseInt(string(v[1:]), 10, 16)
		if err != nil {
			return false
		}
		d.exponent += int(e)
	}
	for d.n > 0 && d.digits[d.n-1] == '0' {
		d.n--
		d.exponent++
	}
	return true
}

// moment appends the canonical form of a date and time as ISO 8601 and databases write it:
// without a zone that is UTC, zeros at the end, or a time of midnight.
func moment(room, v []byte) ([]byte, bool) {
	const pattern = "dddd-dd-ddTdd:dd:dd"
	if len(v) < len("dddd-dd-dd") {
		return nil, false
	}
	at := 0
	for ; at < len(pattern) && at < len(v); at++ {
		switch p, c := pattern[at], v[at]; {
		case p == 'd' && (c < '0' || c > '9'), p == '-' && c != '-', p == 'T' && c != 'T' && c != ' ' && c != 't':
			return nil, false
		case p == ':' && c != ':':
			return nil, false
		}
	}
	switch at {
	case len("dddd-dd-dd"), len("dddd-dd-ddTdd:dd"), len(pattern):
	default:
		return nil, false
	}
	fraction, rest := fractionOf(v[at:])
	switch string(rest) {
	case "", "Z", "z", "+00", "+00:00", "+0000", " UTC":
	default:
		return nil, false
	}
	room = append(room, v[:len("dddd-dd-dd")]...)
	if at == len("dddd-dd-dd") {
		return room, len(fraction) == 0
	}
	clock := append(append([]byte{}, v[11:at]...), fraction...)
	if at < len(pattern) {
		clock = append(append([]byte{}, v[11:at]...), ":00"...)
	}
	if string(clock) != "00:00:00" {
		room = append(append(room, 'T'), clock...)
	}
	return room, true
}

// fractionOf splits a fraction of seconds off, without the zeros at its end.
func fractionOf(v []byte) (fraction, rest []byte) {
	if len(v) < 2 || v[0] != '.' {
		return nil, v
	}
	n := 1
	for n < len(v) && v[n] >= '0' && v[n] <= '9' {
		n++
	}
	fraction, rest = v[:n], v[n:]
	for len(fraction) > 1 && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	if len(fraction) == 1 {
		fraction = nil
	}
	return fraction, rest
}
