package noise

import (
	"fmt"
	"math"
	"math/big"
)

// Options describe additive noise.
type Options struct {
	// Multiplier is the standard deviation σ (Gaussian) or the scale b
	// (Laplace) divided by Sensitivity: the number in the event gaussian(σ) or
	// laplace(b). Required, positive.
	Multiplier float64
	// Sensitivity bounds, in the unit of the values, how far one record moves
	// the vector of values on the grid: in ℓ2 for Gaussian, in ℓ1 for Laplace.
	// Grid.RoundedL2 and Grid.RoundedL1 add what rounding may do to a vector
	// that was real before. Required, positive.
	Sensitivity float64
	// Grid is the grid of values and noise. The zero value is the integers.
	Grid Grid
}

// Additive adds independent noise to values on a grid.
type Additive struct {
	grid   Grid
	scale  *big.Rat // in steps, exact
	whole  bool     // the sensitivity is a whole number of steps
	sample interface{ Draw(*Stream) int64 }
}

// NewGaussian returns Gaussian noise of standard deviation
// Multiplier·Sensitivity. The product and the change to grid steps are exact
// rational arithmetic, so the noise is never smaller than asked; it must not
// exceed 2^46 steps.
//
// Guarantee, per vector: that of [RoundedGaussian], every guarantee of the event gaussian(σ).
func NewGaussian(o Options) (*Additive, error) {
	a, err := newAdditive(o)
	if err != nil {
		return nil, fmt.Errorf("gaussian noise: %w", err)
	}
	if a.sample, err = NewRoundedGaussian(a.scale); err != nil {
		return nil, fmt.Errorf("gaussian noise: %w", err)
	}
	return a, nil
}

// NewLaplace returns Laplace noise of scale Multiplier·Sensitivity, exact as in
// [NewGaussian].
//
// Guarantee, per vector: that of [RoundedLaplace], every guarantee of the event laplace(b).
func NewLaplace(o Options) (*Additive, error) {
	a, err := newAdditive(o)
	if err != nil {
		return nil, fmt.Errorf("laplace noise: %w", err)
	}
	if a.sample, err = NewRoundedLaplace(a.scale); err != nil {
		return nil, fmt.Errorf("laplace noise: %w", err)
	}
	return a, nil
}

func newAdditive(o Options) (*Additive, error) {
	multiplier, err := floatRat("Multiplier", o.Multiplier)
	if err != nil {
		return nil, err
	}
	sensitivity, err := floatRat("Sensitivity", o.Sensitivity)
	if err != nil {
		return nil, err
	}
	steps := sensitivity.Quo(sensitivity, o.Grid.step())
	a := &Additive{grid: o.Grid, whole: steps.IsInt(), scale: multiplier.Mul(multiplier, steps)}
	if err := checkScale("Multiplier·Sensitivity", a.scale); err != nil {
		return nil, err
	}
	return a, nil
}

// Granularity returns the grid step of everything released.
func (a *Additive) Granularity() float64 { return a.grid.Granularity() }

// Grid returns the grid.
func (a *Additive) Grid() Grid { return a.grid }

// Scale returns the standard deviation (Gaussian) or the scale (Laplace) in the
// unit of the values, rounded down to a float64.
func (a *Additive) Scale() float64 {
	exact := new(big.Rat).Mul(a.scale, a.grid.step())
	f, _ := exact.Float64()
	if new(big.Rat).SetFloat64(f).Cmp(exact) > 0 {
		f = math.Nextafter(f, 0)
	}
	return f
}

// Draw returns noise alone, in grid steps.
func (a *Additive) Draw(s *Stream) int64 { return a.sample.Draw(s) }

// AddTo adds independent noise to each value, in grid steps. Values must be
// within ±(2^62-1); they are all checked before the first draw, and the error
// names the position only. Clip values beforehand: an error that depends on
// private values reveals something about them.
func (a *Additive) AddTo(s *Stream, steps []int64) error {
	for i, v := range steps {
		if v > maxSteps || v < -maxSteps {
			return fmt.Errorf("value %d exceeds 2^62 steps of %v: clip it, or choose a coarser grid", i, a.grid)
		}
	}
	for i := range steps {
		steps[i] += a.sample.Draw(s)
	}
	return nil
}

// Release rounds one real value to the grid, adds noise and returns the sum.
// Sensitivity must be a whole number of grid steps: only then is the rounded
// value's sensitivity no larger than the real one's (see [Grid.Round]).
func (a *Additive) Release(s *Stream, value float64) (float64, error) {
	if !a.whole {
		return 0, fmt.Errorf("sensitivity is not a whole number of grid steps of %v: use Grid.RoundedL2 or Grid.RoundedL1 with d = 1", a.grid)
	}
	n, err := a.grid.Round(value)
	if err != nil {
		return 0, err
	}
	one := [1]int64{n}
	if err := a.AddTo(s, one[:]); err != nil {
		return 0, err
	}
	return a.grid.Float(one[0]), nil
}
