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
	// left and right are the ends of the frame; zero and infinity the places of these
	// values beyond the scale, where there are such.
	left, right    float64
	ends           bool
	zero, infinity float64
}

// newScale covers a range of values. A linear scale of which room is true ends
// on a tick above them, so that a line does not touch the frame.
func newScale(log bool, lo, hi, from, to float64, room bool) scale {
	s := scale{log: log, lo: lo, hi: hi, from: from, to: to}
	// What differs by rounding errors has no range to show.
	same := hi-lo <= 1e-9*math.Max(math.Abs(lo), math.Abs(hi))
	if log {
		if same {
			s.lo, s.hi = lo/2, hi*2
		}
		s.ticks = decades(s.lo, s.hi, 7)
		if len(s.ticks) < 2 {
			s.ticks = linearTicks(s.lo, s.hi, 5)
		}
		return s
	}
	if same {
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

// beyond reports whether a value has a place of its own.
func (s scale) beyond(v float64) bool {
	return s.ends && (v == 0 || math.IsInf(v, 1))
}

func (s scale) at(v float64) float64 {
	if s.beyond(v) {
		if v == 0 {
			return s.zero
		}
		return s.infinity
	}
	t := 0.0
	if s.log {
		t = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	} else {
		t = (v - s.lo) / (s.hi - s.lo)
	}
	return s.from + t*(s.to-s.from)
}

// across is the scale of the horizontal axis in a frame.
func (p *Panel) across(left, right float64) scale {
	lo, hi := p.span(func(pt Point) []float64 { return []float64{pt.X} }, p.X)
	zero, infinity := p.ends()
	from, to := left, right
	if zero {
		from += endWidth
	}
	if infinity {
		to -= endWidth
	}
	switch {
	case lo > hi: // nothing is on the scale
		lo, hi = 1, 1
	case p.X.Fit && p.X.Log:
		lo, hi = lo/1.35, hi*1.35
	case p.X.Fit:
		pad := (hi - lo) * 0.08
		lo, hi = lo-pad, hi+pad
	case !p.X.Log && len(p.Lines) > 0:
		lo = p.Lines[0].Points[0].X
		if lo <= (hi-lo)/10 && lo > 0 {
			lo = 0
		}
	}
	s := newScale(p.X.Log, lo, hi, from, to, false)
	s.left, s.right = left, right
	s.ends, s.zero, s.infinity = p.X.Ends, left+endWidth/2, right-endWidth/2
	if p.X.Ticks != nil {
		s.ticks = p.X.Ticks
	}
	return s
}

// up is the scale of the vertical axis in a frame.
func (p *Panel) up(bottom, top float64) scale {
	lo, hi := p.span(func(pt Point) []float64 { return []float64{pt.Y, pt.Low} }, p.Y)
	for _, l := range p.Levels {
		lo, hi = math.Min(lo, l.Y), math.Max(hi, l.Y)
	}
	if p.Y.Fit && !p.Y.Log {
		lo, hi = p.Y.fit(lo, hi)
		return newScale(false, lo, hi, bottom, top, false)
	}
	if !p.Y.Log && lo >= 0 {
		lo = 0
	}
	return newScale(p.Y.Log, lo, hi, bottom, top, true)
}

// fit rounds a range outwards to ticks.
func (a Axis) fit(lo, hi float64) (float64, float64) {
	pad := math.Max((hi-lo)*0.06, math.Max(math.Abs(hi)*5e-3, 1e-9))
	step := tickStep(hi-lo+2*pad, 5)
	low, high := math.Floor((lo-pad)/step)*step, math.Ceil((hi+pad)/step)*step
	if lo >= 0 {
		low = math.Max(low, 0)
	}
	if a.Max > 0 && hi <= a.Max {
		high = math.Min(high, a.Max)
	}
	return low, high
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
	for i := range 4 * n { // far from 0, adding 1 may change nothing
		k := first + float64(i)
		if k*step > hi+step*1e-9 {
			break
		}
		// The product may lie a rounding error outside; + 0 makes −0 a 0.
		tick := math.Min(math.Max(k*step, lo), hi) + 0
		if i == 0 || tick > ticks[len(ticks)-1] {
			ticks = append(ticks, tick)
		}
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
