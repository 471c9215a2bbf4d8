package plot

import (
	"math"
	"strconv"
	"strings"
)

// scale maps values to positions between from and to.
type scale struct {
	log      bool
	lo, hi   float64
	from, to float64
	ticks    []float64
}

// newScale covers a range of values. A linear scale of which room is true ends
// on a tick above them, so that a line does not touch the frame.
func newScale(log bool, lo, hi, from, to float64, room bool) scale {
	s := scale{log: log, lo: lo, hi: hi, from: from, to: to}
	if log {
		if lo == hi {
			s.lo, s.hi = lo/2, hi*2
		}
		s.ticks = decades(s.lo, s.hi, 7)
		if len(s.ticks) < 2 {
			s.ticks = linearTicks(s.lo, s.hi, 5)
		}
		return s
	}
	if lo == hi {
		if s.hi = hi + math.Abs(hi); s.hi == 0 {
			s.hi = 1
		}
	}
	if room {
		step := tickStep(s.hi-s.lo, 5)
		s.hi = (math.Floor((s.hi*1.02)/step+1e-9) + 1) * step
	}
	s.ticks = linearTicks(s.lo, s.hi, 5)
	return s
}

func (s scale) at(v float64) float64 {
	t := 0.0
	if s.log {
		t = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	} else {
		t = (v - s.lo) / (s.hi - s.lo)
	}
	return s.from + t*(s.to-s.from)
}

// tickStep is the 1, 2 or 5 times a power of ten that cuts a span into about n.
func tickStep(span float64, n int) float64 {
	raw := span / float64(n)
	mag := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*mag*1.0000001 {
			return m * mag
		}
	}
	return 10 * mag
}

func linearTicks(lo, hi float64, n int) []float64 {
	step := tickStep(hi-lo, n)
	var ticks []float64
	first := math.Ceil(lo/step - 1e-9)
	for k := first; k*step <= hi+step*1e-9; k++ {
		ticks = append(ticks, k*step+0) // + 0 makes −0 a 0
	}
	return ticks
}

// decades are the powers of ten in a range, thinned out to at most n.
func decades(lo, hi float64, n int) []float64 {
	first, last := math.Ceil(math.Log10(lo)-1e-9), math.Floor(math.Log10(hi)+1e-9)
	every := math.Max(1, math.Ceil((last-first+1)/float64(n)))
	var ticks []float64
	for e := math.Ceil(first/every) * every; e <= last; e += every {
		ticks = append(ticks, math.Pow(10, e))
	}
	return ticks
}

var superscript = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

// label prints the value of a tick.
func (s scale) label(v float64) string {
	if s.log {
		if e := math.Round(math.Log10(v)); math.Abs(math.Log10(v)-e) < 1e-9 && (e < -3 || e > 4) {
			return "10" + superscript.Replace(strconv.Itoa(int(e)))
		}
	}
	// A tick is a multiple of a round step; ten digits hide what is left of
	// the multiplication.
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 10, 64), 64)
	switch size := math.Abs(v); {
	case size >= 1e9 && size < 1e12:
		return strconv.FormatFloat(v/1e9, 'g', -1, 64) + "G"
	case size >= 1e6 && size < 1e9:
		return strconv.FormatFloat(v/1e6, 'g', -1, 64) + "M"
	case size >= 1e12 || size < 1e-4 && v != 0:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case size >= 1e4:
		return group(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// group sets thin spaces between thousands.
func group(digits string) string {
	whole, rest, _ := strings.Cut(digits, ".")
	var b strings.Builder
	for i, d := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteRune('\u2009')
		}
		b.WriteRune(d)
	}
	if rest != "" {
		b.WriteString("." + rest)
	}
	return b.String()
}
