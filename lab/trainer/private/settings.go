package private

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/lab/trainer/logit"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// Noise is what is added to coefficients.
type Noise string

// The kinds of noise there are.
const (
	// Gaussian noise needs a δ. The default.
	Gaussian Noise = "gaussian"
	// Laplace noise needs none, and is larger by the root of the number of coefficients.
	Laplace Noise = "laplace"
)

// Method is where noise is added.
type Method string

// The methods there are.
const (
	// Output adds noise to the coefficients. The default.
	Output Method = "output"
	// Objective adds noise to what is minimised, and a little to the coefficients. It is
	// the better one, and is for two classes, a δ, add-remove and one row of each unit.
	Objective Method = "objective"
)

// Settings are all that decides what a model costs, under add-remove, where each row is a
// unit. They are public.
type Settings struct {
	// Discrete reads numeric columns with bins as their bins.
	Discrete bool `json:"discrete,omitempty"`
	// Size is the declared number of rows: it limits how many there may be. Required.
	Size int64 `json:"size"`
	// Ridge is Λ, the penalty on squared coefficients of the scaled features. Required.
	Ridge float64 `json:"ridge"`
	// Method is Output by default.
	Method Method `json:"method,omitempty"`
	// Noise on the coefficients is Gaussian by default, and Multiplier its scale as a
	// multiple of the sensitivity: the σ of gaussian(σ), the b of laplace(b). Required.
	Noise      Noise   `json:"noise,omitempty"`
	Multiplier float64 `json:"multiplier"`
	// Linear is the standard deviation of the noise in the objective, where the gradient
	// of one row is at most 1, and Epsilon and Delta are what that noise costs: required
	// by Objective.
	Linear  float64 `json:"linear,omitempty"`
	Epsilon float64 `json:"epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
}

const (
	// outputTolerance is τ of Output, and objectiveTolerance of Objective, unless rounding
	// needs more; maxTolerance is too much. The gradient of one row is 1 at most.
	outputTolerance    = 1e-3
	objectiveTolerance = 1e-9
	maxTolerance       = 0.5
	// excess is how many times the declared size a table may have.
	excess = 16
	// maxParameters bounds the time of a step, which grows with the cube.
	maxParameters = 4096
	// fine is how many times smaller than the sensitivity the rounding to the grid is.
	fine = 1024
)

// MaxRows is how many rows a table may have: 16 times the declared size, and no more than
// package table can count.
func (s Settings) MaxRows() int64 {
	if s.Size > table.MaxRows/excess {
		return table.MaxRows
	}
	return s.Size * excess
}

// WithDefaults fills in what was left open.
func (s Settings) WithDefaults() Settings {
	s.Method, s.Noise = cmp.Or(s.Method, Output), cmp.Or(s.Noise, Gaussian)
	return s
}

// Check finds settings that have no guarantee, or do not fit a schema.
func (s Settings) Check(sch schema.Schema) error {
	s = s.WithDefaults()
	form, err := learn.NewForm(sch, s.Discrete)
	if err != nil {
		return err
	}
	switch {
	case s.Noise != Gaussian && s.Noise != Laplace:
		return fmt.Errorf("unknown noise %q: one of gaussian, laplace", s.Noise)
	case s.Size < 1:
		return fmt.Errorf("a size of %d rows: declare how many there are, about", s.Size)
	case !(s.Ridge >= 1e-6 && s.Ridge <= 1e12):
		return fmt.Errorf("a ridge of %v: it must be between 1e-6 and 1e12; a plan chooses one", s.Ridge)
	case !(s.Multiplier >= 1e-6 && s.Multiplier <= 1e6):
		return fmt.Errorf("a noise multiplier of %v: it must be between 1e-6 and 1e6; a plan chooses one", s.Multiplier)
	}
	if s.Method == Objective {
		if err := s.checkObjective(form); err != nil {
			return err
		}
	} else if s.Method != Output {
		return fmt.Errorf("unknown method %q: one of output, objective", s.Method)
	}
	p := s.params(form)
	if p.size > maxParameters {
		return fmt.Errorf("%d features and classes are more than the %d that can be fitted: use fewer columns, or coarser values", p.size, maxParameters)
	}
	if p.tolerance > maxTolerance {
		return fmt.Errorf("with a ridge of %v and up to %d rows the solver's rounding is too large: raise the ridge", s.Ridge, s.MaxRows())
	}
	_, err = p.mechanism(s)
	return err
}

// Event is what a model costs.
func (s Settings) Event() privacy.Event {
	s = s.WithDefaults()
	var e privacy.Event = privacy.Gaussian{Sigma: s.Multiplier}
	if s.Noise == Laplace {
		e = privacy.Laplace{B: s.Multiplier}
	}
	if s.Method == Objective {
		e = privacy.Compose{Events: []privacy.Event{privacy.Approx{Epsilon: s.Epsilon, Delta: s.Delta}, e}}
	}
	return e
}

// params are the public numbers that the proof is about.
type params struct {
	outcomes, size int
	// entry is s, the largest entry of a feature.
	entry float64
	// sensitivity is Δ before rounding to the grid.
	sensitivity float64
	limits      logit.Limits
	// rounding is how far the gradient that is computed may be from the true one, with
	// what rounding of θ does in a step of descent.
	rounding float64
	// tolerance is τ: how large a gradient may be left.
	tolerance float64
}

func (s Settings) params(form *learn.Form) params {
	entries := len(form.Inputs()) + 1
	p := params{outcomes: len(form.Classes()), entry: entry(entries)}
	lipschitz := math.Nextafter(math.Sqrt2, 2)
	if p.outcomes == 2 {
		p.outcomes, lipschitz = 1, 1
	}
	p.size = p.outcomes * form.Width()
	root := math.Sqrt(float64(p.size))
	p.limits = logit.Limits{Rows: float64(s.MaxRows()), Columns: entries, Outcomes: p.outcomes, Ridge: s.Ridge}
	if s.Method == Objective {
		p.limits.Linear = s.Linear * (root + farNorm)
	}
	p.rounding = p.limits.Rounding() + p.limits.Step()
	if s.Method == Objective {
		p.tolerance = max(objectiveTolerance, 5*p.rounding)
		p.sensitivity = 2 * (p.tolerance + root*s.linearStep()/2) / s.Ridge * (1 + 0x1p-40)
		return p
	}
	p.tolerance = max(outputTolerance, 5*p.rounding)
	// The last factor is more than the rounding of this line.
	p.sensitivity = (lipschitz + 2*p.tolerance) / s.Ridge * (1 + 0x1p-40)
	return p
}

// entry is the largest s with m·s² ≤ 1.
func entry(m int) float64 {
	s := math.Sqrt(1 / float64(m))
	for {
		square := new(big.Rat).SetFloat64(s)
		square.Mul(square, square)
		if square.Mul(square, big.NewRat(int64(m), 1)).Cmp(big.NewRat(1, 1)) <= 0 {
			return s
		}
		s = math.Nextafter(s, 0)
	}
}

// mechanism is the noise that runs, on its grid.
func (p params) mechanism(s Settings) (*noise.Additive, error) {
	root := math.Sqrt(float64(p.size))
	grid, err := noise.NewGrid(int(math.Ceil(math.Log2(fine * root / p.sensitivity))))
	if err != nil {
		return nil, fmt.Errorf("the noise of coefficients: %w", err)
	}
	if !(4*p.limits.Radius() < grid.Granularity()*0x1p61) {
		return nil, errors.New("coefficients may be too large for the grid of their noise: raise the ridge")
	}
	o := noise.Options{Multiplier: s.Multiplier, Grid: grid}
	make := noise.NewGaussian
	if s.Noise == Laplace {
		make = noise.NewLaplace
		o.Sensitivity, err = grid.RoundedL1(math.Nextafter(root, math.Inf(1))*p.sensitivity*(1+0x1p-50), p.size)
	} else {
		o.Sensitivity, err = grid.RoundedL2(p.sensitivity, p.size)
	}
	if err != nil {
		return nil, fmt.Errorf("the noise of coefficients: %w", err)
	}
	return make(o)
}
