package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Series is one thing measured at several places.
type Series struct {
	// Name stands beside the last point; a series without one has no label.
	Name string
	// Look picks a colour and a shape, the same ones in every figure.
	Look int
	// Points in order of X where they are joined.
	Points []Estimate
	// Apart leaves the points unjoined. Hollow draws them as outlines.
	Apart, Hollow bool
}

// Estimate is a value that may lie anywhere between Low and High.
type Estimate struct {
	X, Low, Y, High float64
}

// Level is a horizontal line: what holds whatever X is.
type Level struct {
	Name string
	Look int
	Y    float64
}

// Looks is how many there are before colours and shapes come again.
const Looks = 8

// Measures of series, in SVG user units.
const (
	labelGap    = 15.0 // between two labels
	labelIndent = 26.0 // from the frame to the words of a label
	labelRunes  = 26   // of a name, at most
	endWidth    = 46.0 // of the place for 0 or ∞
	dodge       = 3.5  // between error bars at the same place
)

func (s Series) check(x, y Axis) error {
	if len(s.Points) == 0 {
		return errors.New("a series needs a point")
	}
	for i, m := range s.Points {
		if err := errors.Join(x.check(m.X), y.check(m.Low), y.check(m.Y), y.check(m.High)); err != nil {
			return err
		}
		if m.Low > m.Y || m.Y > m.High {
			return fmt.Errorf("the value %v is not between %v and %v", m.Y, m.Low, m.High)
		}
		if !s.Apart && i > 0 && !(s.Points[i-1].X < m.X) {
			return errors.New("the points of a joined series are not in order")
		}
	}
	return nil
}

// ends reports which of 0 and ∞ occur.
func (p *Panel) ends() (zero, infinity bool) {
	for _, s := range p.Series {
		for _, m := range s.Points {
			zero = zero || p.X.Ends && m.X == 0
			infinity = infinity || p.X.Ends && math.IsInf(m.X, 1)
		}
	}
	return zero, infinity
}

// drawSeries draws levels, series and their labels. Points of several series at one
// place stand a little beside each other.
func (p *Panel) drawSeries(d *drawing, xs, ys scale) {
	var labels []label
	for _, l := range p.Levels {
		y := ys.at(l.Y)
		d.add(`<g class="look%d"><line class="level" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/></g>`, look(l.Look), xs.left, y, xs.right, y)
		if l.Name != "" {
			labels = append(labels, label{name: l.Name, look: look(l.Look), from: y, level: true})
		}
	}
	for i, s := range p.Series {
		shift := (float64(i) - float64(len(p.Series)-1)/2) * dodge
		if s.Apart {
			shift = 0
		}
		last := s.draw(d, xs, ys, math.Max(-12, math.Min(12, shift)))
		if s.Name != "" {
			labels = append(labels, label{name: s.Name, look: look(s.Look), from: last, hollow: s.Hollow})
		}
	}
	drawLabels(d, labels, xs.right, ys)
}

func look(n int) int { return ((n % Looks) + Looks) % Looks }

// class of what has a look.
func class(look int, hollow bool) string {
	if hollow {
		return fmt.Sprintf("look%d hollow", look)
	}
	return fmt.Sprintf("look%d", look)
}

// draw gives the height of the last point.
func (s Series) draw(d *drawing, xs, ys scale, shift float64) float64 {
	d.add(`<g class="%s">`, class(look(s.Look), s.Hollow))
	if path := s.path(xs, ys, shift); path != "" {
		d.add(`<path class="join" d="%s"/>`, path)
	}
	last := 0.0
	for _, m := range s.Points {
		x, y := xs.at(m.X)+shift, ys.at(m.Y)
		if m.Low < m.High {
			d.add(`<path class="bar" d="M%.1f %.1fV%.1fM%.1f %.1fh6M%.1f %.1fh6"/>`, x, ys.at(m.Low), ys.at(m.High), x-3, ys.at(m.Low), x-3, ys.at(m.High))
		}
		d.shape(look(s.Look), x, y)
		last = y
	}
	d.add(`</g>`)
	return last
}

// path joins the points that are on the scale.
func (s Series) path(xs, ys scale, shift float64) string {
	if s.Apart {
		return ""
	}
	var b strings.Builder
	n := 0
	for _, m := range s.Points {
		if xs.beyond(m.X) {
			continue
		}
		op := "L"
		if n == 0 {
			op = "M"
		}
		n++
		fmt.Fprintf(&b, "%s%.1f %.1f", op, xs.at(m.X)+shift, ys.at(m.Y))
	}
	if n < 2 {
		return ""
	}
	return b.String()
}

// shape marks a point, so that looks differ without colour too.
func (d *drawing) shape(look int, x, y float64) {
	const r = 4.2
	path := ""
	switch look {
	case 0:
		d.add(`<circle class="dot" cx="%.1f" cy="%.1f" r="%.1f"/>`, x, y, r)
		return
	case 1:
		path = fmt.Sprintf("M%.1f %.1fh7.6v7.6h-7.6Z", x-3.8, y-3.8)
	case 2:
		path = fmt.Sprintf("M%.1f %.1fl5.2 9h-10.4Z", x, y-5.6)
	case 3:
		path = fmt.Sprintf("M%.1f %.1fl5.2 5.2l-5.2 5.2l-5.2 -5.2Z", x, y-5.2)
	case 4:
		path = fmt.Sprintf("M%.1f %.1fl5.2 -9h-10.4Z", x, y+5.6)
	case 5:
		path = fmt.Sprintf("M%.1f %.1fl4.8 3.5l-1.8 5.7h-6l-1.8 -5.7Z", x, y-5)
	case 6:
		path = fmt.Sprintf("M%.1f %.1fh3v3.4h3.4v3h-3.4v3.4h-3v-3.4h-3.4v-3h3.4Z", x-1.5, y-4.9)
	case 7:
		path = fmt.Sprintf("M%.1f %.1fh5l2.5 4.3l-2.5 4.3h-5l-2.5 -4.3Z", x-2.5, y-4.3)
	}
	d.add(`<path class="dot" d="%s"/>`, path)
}

// label is a name beside the frame, near the height it belongs to.
type label struct {
	name          string
	look          int
	from, at      float64
	level, hollow bool
}

func drawLabels(d *drawing, labels []label, right float64, ys scale) {
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(a.from, b.from) })
	spread(labels, ys.to+4, ys.from-2)
	for _, l := range labels {
		d.add(`<g class="%s"><path class="lead" d="M%.1f %.1fL%.1f %.1f"/>`, class(l.look, l.hollow), right+1, l.from, right+10, l.at)
		if l.level {
			d.add(`<line class="level" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, right+10, l.at, right+labelIndent-4, l.at)
		} else {
			d.shape(l.look, right+16, l.at)
		}
		d.add(`<text class="name" x="%.1f" y="%.1f">%s</text></g>`, right+labelIndent, l.at+4, escape(shorten(l.name, labelRunes)))
	}
}

// spread moves sorted labels apart, within the frame as far as they fit, each as near
// to its own height as the others let it.
func spread(labels []label, top, bottom float64) {
	gap := labelGap
	if n := len(labels); n > 1 {
		gap = math.Min(gap, (bottom-top)/float64(n-1))
	}
	for i := range labels {
		labels[i].at = math.Max(labels[i].from, top+gap*float64(i))
		if i > 0 {
			labels[i].at = math.Max(labels[i].at, labels[i-1].at+gap)
		}
	}
	for i := len(labels) - 1; i >= 0; i-- {
		labels[i].at = math.Min(labels[i].at, bottom-gap*float64(len(labels)-1-i))
		if i+1 < len(labels) {
			labels[i].at = math.Min(labels[i].at, labels[i+1].at-gap)
		}
	}
}

// labelRoom is what the names of a panel need beside the frame.
func (p *Panel) labelRoom() float64 {
	widest := 0.0
	for _, s := range p.Series {
		widest = math.Max(widest, textWidth(shorten(s.Name, labelRunes)))
	}
	for _, l := range p.Levels {
		widest = math.Max(widest, textWidth(shorten(l.Name, labelRunes)))
	}
	if widest == 0 {
		return padRight
	}
	return labelIndent + widest + 6
}

// textWidth is about as much as the widest of the faces needs.
func textWidth(s string) float64 {
	w := 0.0
	for _, r := range s {
		if r >= 0x1100 {
			w += 12.5
		} else {
			w += 7.2
		}
	}
	return w
}
