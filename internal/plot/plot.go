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
	// Lines are drawn in order; at least one with at least two points.
	Lines []Line
	// Marks single out points. Optional.
	Marks []Mark
}

// Axis labels one direction of a panel.
type Axis struct {
	Label string
	// Log spaces the axis by magnitude; all values must then be above 0. A
	// linear axis of values that are all at least 0 begins at 0.
	Log bool
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
	if len(p.Lines) == 0 {
		return errors.New("it has no line")
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
	return nil
}

func (a *Axis) check(v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) || a.Log && v <= 0 {
		return fmt.Errorf("the value %v has no place on axis %q", v, a.Label)
	}
	return nil
}

// span is the range of the panel's values along one axis.
func (p *Panel) span(of func(Point) []float64, axis Axis) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	add := func(v float64) { lo, hi = math.Min(lo, v), math.Max(hi, v) }
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
	if !axis.Log && lo >= 0 {
		lo = 0
	}
	return lo, hi
}

// rising reports whether the first line ends above where it begins.
func (p *Panel) rising() bool {
	points := p.Lines[0].Points
	return points[len(points)-1].Y > points[0].Y
}
