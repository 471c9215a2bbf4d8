package accountant

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/privacy"
)

// Calibration is the number found for the unknown of an expression.
type Calibration struct {
	// X is the least noise, or the largest cost, that keeps ε within the target.
	X float64
	// Event is the expression with X filled in, and Epsilon its evaluation; its
	// upper end is at most the target.
	Event   privacy.Event
	Epsilon privacy.Interval
	// Increasing reports that ε grows with x, so that X is the largest x that fits.
	Increasing bool
	// Evaluations counts the evaluations by the accountant.
	Evaluations int
}

// Target is the goal of a calibration.
type Target struct {
	// Epsilon and Delta are required.
	Epsilon, Delta float64
	// Adjacency defaults to add-remove.
	Adjacency privacy.Adjacency
	// Accountant defaults to [Auto].
	Accountant Accountant
}

// ImpossibleError reports why no x meets a target.
type ImpossibleError struct {
	Expr   string
	Reason string
}

// Error returns the reason.
func (e *ImpossibleError) Error() string {
	return fmt.Sprintf("no x makes %s meet the target: %s", e.Expr, e.Reason)
}

// Calibrate solves for x so that the upper end of ε is at most the target, and
// as close to it as the accountant's own tolerance allows.
func Calibrate(t privacy.Template, target Target) (Calibration, error) {
	return solve(t, target)
}

// CalibrateFunc is [Calibrate] for a function that returns the event at each x; an event
// that is not valid is outside of its domain.
func CalibrateFunc(at func(x float64) privacy.Event, target Target) (Calibration, error) {
	return solve(family(at), target)
}

// expression is what has an event at each x.
type expression interface {
	At(x float64) (privacy.Event, error)
	// Integer reports whether x is a whole number.
	Integer() bool
	String() string
}

// family is an expression that only its values are known of.
type family func(x float64) privacy.Event

func (f family) At(x float64) (privacy.Event, error) {
	e := f(x)
	return e, privacy.Validate(e)
}

func (family) Integer() bool { return false }

func (family) String() string { return "the event" }

func solve(t expression, target Target) (Calibration, error) {
	if err := cmp.Or(privacy.CheckEpsilon(target.Epsilon), privacy.CheckDelta(target.Delta)); err != nil {
		return Calibration{}, err
	}
	if target.Accountant == nil {
		target.Accountant = Auto{}
	}
	target.Adjacency = cmp.Or(target.Adjacency, privacy.AddRemove)
	c := &calibrator{template: t, target: target}
	if err := c.begin(); err != nil {
		return Calibration{}, err
	}
	if err := c.narrow(4e-4); err != nil {
		return Calibration{}, err
	}
	return Calibration{c.good.x, c.good.event, c.good.epsilon, c.increasing, c.asked}, nil
}

type calibrator struct {
	template   expression
	target     Target
	increasing bool
	good, bad  probe // on either side of the target
	asked      int
}

// begin finds a bracket. The Rényi bound is quick to solve and close, so the
// search starts from its answer where it has one.
func (c *calibrator) begin() error {
	if c.target.Accountant.Name() == (RDP{}).Name() {
		return c.bracket()
	}
	quick := &calibrator{template: c.template, target: c.target}
	quick.target.Accountant = RDP{}
	if quick.bracket() != nil {
		return c.bracket()
	}
	if quick.narrow(0.05) != nil {
		return c.bracket()
	}
	p, ok, err := c.at(quick.good.x)
	if err != nil || !ok {
		return err
	}
	c.increasing = quick.increasing
	good := c.fits(p)
	slope := 1.5 // of ln ε in ln x, at first a guess
	for range 12 {
		x := c.beyond(p, slope)
		if x == p.x {
			break
		}
		next, ok, err := c.at(x)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if c.fits(next) != good {
			if c.good, c.bad = p, next; !good {
				c.good, c.bad = next, p
			}
			return nil
		}
		if d := math.Log(next.epsilon.Upper/p.epsilon.Upper) / math.Log(next.x/p.x); !math.IsNaN(d) {
			slope = math.Max(0.2, math.Min(20, math.Abs(d)))
		}
		p = next
	}
	return c.bracket()
}

// beyond proposes an x on the other side of the target than p, not far from it.
func (c *calibrator) beyond(p probe, slope float64) float64 {
	gap := math.Abs(math.Log(c.target.Epsilon/p.epsilon.Upper)) / slope
	if math.IsNaN(gap) {
		gap = 1
	}
	factor := math.Exp(math.Max(0.01, math.Min(1, 1.2*gap)))
	if c.fits(p) != c.increasing {
		factor = 1 / factor
	}
	return c.round(p.x*factor, factor-1)
}

// probe is the expression at one x.
type probe struct {
	x       float64
	event   privacy.Event
	epsilon privacy.Interval
}

// at evaluates the expression. It reports false when x is outside the domain.
func (c *calibrator) at(x float64) (probe, bool, error) {
	p := probe{x: x}
	var err error
	if p.event, err = c.template.At(x); err != nil {
		return p, false, nil
	}
	c.asked++
	p.epsilon, err = c.target.Accountant.Epsilon(p.event, c.target.Adjacency, c.target.Delta)
	return p, err == nil, err
}

func (c *calibrator) fits(p probe) bool { return p.epsilon.Upper <= c.target.Epsilon }

// bracket finds an x that fits and one that does not, walking by factors from a
// first x in the domain; which way ε falls is seen on the way.
func (c *calibrator) bracket() error {
	first, err := c.start()
	if err != nil {
		return err
	}
	ends := [2]probe{first, first}
	step := [2]float64{1, 1} // exponents of 2, doubled as we go: 2, 8, 128, …
	edge := [2]bool{}
	for range 12 {
		for side, sign := range [2]float64{-1, 1} {
			if edge[side] {
				continue
			}
			x := c.round(ends[side].x*math.Pow(2, sign*step[side]), sign)
			p, ok, err := c.at(x)
			if err != nil {
				return err
			}
			if !ok { // outside the domain: walk up to its edge
				if p, ok, err = c.edge(ends[side].x, x, sign); err != nil {
					return err
				}
				edge[side] = true
				if !ok {
					continue
				}
			}
			ends[side] = p
			step[side] *= 2
		}
		lo, hi := ends[0], ends[1]
		if c.fits(lo) != c.fits(hi) {
			c.increasing = c.fits(lo)
			if c.good, c.bad = lo, hi; !c.increasing {
				c.good, c.bad = hi, lo
			}
			return nil
		}
		if edge[0] && edge[1] {
			break
		}
	}
	return c.impossible(ends[0], ends[1])
}

// start finds an x inside the domain.
func (c *calibrator) start() (probe, error) {
	for _, x := range [...]float64{1, 0.5, 2, 1e6} {
		if p, ok, err := c.at(x); ok || err != nil {
			return p, err
		}
	}
	return probe{}, fmt.Errorf("no x was found for which %s is an event", c.template)
}

// edge returns the outermost x of the domain between one inside and one outside.
func (c *calibrator) edge(inside, outside, sign float64) (probe, bool, error) {
	start := inside
	for range 60 {
		mid := c.round((inside+outside)/2, -sign)
		if mid == inside || mid == outside {
			break
		}
		if _, err := c.template.At(mid); err == nil {
			inside = mid
		} else {
			outside = mid
		}
	}
	if inside == start {
		return probe{}, false, nil
	}
	return c.at(inside)
}

func (c *calibrator) round(x, sign float64) float64 {
	if !c.template.Integer() {
		return x
	}
	if sign < 0 {
		return math.Floor(x)
	}
	return math.Ceil(x)
}

func (c *calibrator) impossible(lo, hi probe) error {
	expr := c.template.String()
	if c.fits(lo) {
		return &ImpossibleError{expr, fmt.Sprintf("every x from %g to %g keeps ε ≤ %g (ε is %g and %g there), so x is not limited by the target", lo.x, hi.x, c.target.Epsilon, lo.epsilon.Upper, hi.epsilon.Upper)}
	}
	better := lo
	if hi.epsilon.Upper < lo.epsilon.Upper {
		better = hi
	}
	if math.IsInf(better.epsilon.Upper, 1) {
		return &ImpossibleError{expr, fmt.Sprintf("ε is infinite for every x from %g to %g at δ = %g; some part of the expression needs a larger δ or gives no guarantee", lo.x, hi.x, c.target.Delta)}
	}
	return &ImpossibleError{expr, fmt.Sprintf("ε stays at %.4g even at x = %g, above %g: the rest of the expression costs that much; raise ε or lower the rest", better.epsilon.Upper, better.x, c.target.Epsilon)}
}

// narrow closes the bracket until at most a small share of the target is left
// unused, by false position in (ln x, ln ε) with bisection where that does not
// help.
func (c *calibrator) narrow(enough float64) error {
	stuck := 0
	for range 60 {
		if c.target.Epsilon > 0 && c.good.epsilon.Upper >= c.target.Epsilon*(1-enough) || math.Abs(c.bad.x/c.good.x-1) < enough*1e-3 {
			return nil
		}
		x := c.next(stuck, enough/2)
		if x == c.good.x || x == c.bad.x || math.Abs(c.bad.x/c.good.x-1) < 1e-9 {
			return nil
		}
		p, ok, err := c.at(x)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("x = %v lies between two values for which %s is an event, but is none", x, c.template)
		}
		if err := c.monotone(p); err != nil {
			return err
		}
		before := math.Abs(math.Log(c.bad.x / c.good.x))
		if c.fits(p) {
			c.good = p
		} else {
			c.bad = p
		}
		if math.Abs(math.Log(c.bad.x/c.good.x)) > before/2 {
			stuck++
		} else {
			stuck = 0
		}
	}
	return nil
}

// next proposes an x inside the bracket.
func (c *calibrator) next(stuck int, below float64) float64 {
	lg, lb := math.Log(c.good.x), math.Log(c.bad.x)
	share := 0.5
	g, b := math.Log(c.good.epsilon.Upper), math.Log(c.bad.epsilon.Upper)
	// Aim a little below the target: a hit on the good side ends the search.
	want := math.Log(c.target.Epsilon) - below
	if stuck < 2 && b > g && !math.IsInf(g, 0) && !math.IsInf(b, 0) {
		share = math.Max(0.01, math.Min(0.99, (want-g)/(b-g)))
	}
	x := math.Exp(lg + share*(lb-lg))
	if !c.template.Integer() {
		return x
	}
	x = math.Round(x)
	lo, hi := math.Min(c.good.x, c.bad.x)+1, math.Max(c.good.x, c.bad.x)-1
	if lo > hi {
		return c.good.x
	}
	return math.Max(lo, math.Min(hi, x))
}

// monotone rejects an expression in which ε goes up and down with x, where one
// bracket may hide another.
func (c *calibrator) monotone(p probe) error {
	lo, hi := c.good.epsilon.Lower, c.bad.epsilon.Upper
	if p.epsilon.Upper < lo*(1-0.01) || p.epsilon.Lower > hi*(1+0.01) {
		return errors.New("ε does not change in one direction with x in this expression; let x stand for one number only")
	}
	return nil
}
