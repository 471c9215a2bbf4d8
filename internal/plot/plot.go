package plot

import (
	"errors"
	"fmt"
	"math"
)

// Figure is a row of panels under a title.
type Figure struct {
	// Title is set in a fixed-width face and shortened in the middle when it
	// does not fit; the description keeps all of it.
	Title string
	// Subtitle stands below the title. Optional.
	Subtitle string
	// Panels stand side by side; at least one.
	Panels []Panel
	// Notes stand below the panels, a line each. Optional.
	Notes []string
}

// Panel is one pair of axes.
type Panel struct {
	Title string
	X, Y  Axis
	// Lines are drawn in order, each with at least two points.
	Lines []Line
	// Marks single out points. Optional.
	Marks []Mark
	// Series are measured values, Levels what holds all along the panel. A panel needs
	// a line, a series or a level.
	Series []Series
	Levels []Level
}

// Axis labels one direction of a panel.
type Axis struct {
	Label string
	// Log spaces the axis by magnitude; all values must then be above 0. A
	// linear axis of values that are all at least 0 begins at 0.
	Log bool
	// Fit covers the values and a margin, instead of beginning at 0.
	Fit bool
	// Max is where the axis ends at the latest, unless a value lies beyond it; 0 for no
	// such end.
	Max float64
	// Ends gives 0 and +∞ places of their own before and after the scale of a
	// logarithmic horizontal axis, where there are such values.
	Ends bool
	// Ticks to label, instead of round ones.
	Ticks []float64
}

// Line joins points whose X increases.
type Line struct {
	// Name is for the legend; lines without a name have no entry.
	Name   string
	Points []Point
}

// Point is a value, known to lie between Low and Y when Low is below Y: the area
// between them is shaded.
type Point struct {
	X, Low, Y float64
}

// Mark is a labelled point.
type Mark struct {
	X, Y float64
	Text string
}

// check reports what cannot be drawn.
func (f *Figure) check() error {
	if len(f.Panels) == 0 {
		return errors.New("plot: a figure needs a panel")
	}
	for i := range f.Panels {
		if err := f.Panels[i].check(); err != nil {
			return fmt.Errorf("plot: panel %q: %w", f.Panels[i].Title, err)
		}
	}
	return nil
}

func (p *Panel) check() error {
	if len(p.Lines)+len(p.Series)+len(p.Levels) == 0 {
		return errors.New("it has no line")
	}
	if p.Y.Ends || p.X.Ends && !p.X.Log {
		return errors.New("only a logarithmic horizontal axis has places for 0 and infinity")
	}
	for _, l := range p.Lines {
		if len(l.Points) < 2 {
			return errors.New("a line needs two points")
		}
		for i, pt := range l.Points {
			if err := errors.Join(p.X.check(pt.X), p.Y.check(pt.Y), p.Y.check(pt.Low)); err != nil {
				return err
			}
			if pt.Low > pt.Y {
				return fmt.Errorf("a point lies from %v to %v", pt.Low, pt.Y)
			}
			if i > 0 && !(l.Points[i-1].X < pt.X) {
				return errors.New("the points of a line are not in order")
			}
		}
	}
	for _, m := range p.Marks {
		if err := errors.Join(p.X.check(m.X), p.Y.check(m.Y)); err != nil {
			return err
		}
	}
	for _, s := range p.Series {
		if err := s.check(p.X, p.Y); err != nil {
			return err
		}
	}
	for _, l := range p.Levels {
		if err := p.Y.check(l.Y); err != nil {
			return err
		}
	}
	return nil
}

func (a *Axis) check(v float64) error {
	if a.end(v) {
		return nil
	}
	if math.IsNaN(v) || math.IsInf(v, 0) || a.Log && v <= 0 {
		return fmt.Errorf("the value %v has no place on axis %q", v, a.Label)
	}
	return nil
}

// end reports whether a value has a place beyond the scale.
func (a *Axis) end(v float64) bool {
	return a.Ends && (v == 0 || math.IsInf(v, 1))
}

// span is the range of the panel's values along one axis.
func (p *Panel) span(of func(Point) []float64, axis Axis) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	add := func(v float64) {
		if !axis.end(v) {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}
	for _, l := range p.Lines {
		for _, pt := range l.Points {
			for _, v := range of(pt) {
				add(v)
			}
		}
	}
	for _, m := range p.Marks {
		add(of(Point{m.X, m.Y, m.Y})[0])
	}
	for _, s := range p.Series {
		for _, m := range s.Points {
			for _, v := range append(of(Point{m.X, m.Low, m.Y}), of(Point{m.X, m.High, m.High})...) {
				add(v)
			}
		}
	}
	return lo, hi
}

// rising reports whether the first line ends above where it begins.
func (p *Panel) rising() bool {
	if len(p.Lines) == 0 {
		return true
	}
	points := p.Lines[0].Points
	return points[len(points)-1].Y > points[0].Y
}
