package private

import (
	"errors"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// farNorm is t in P(‖b‖ > Linear·(√d+t)) ≤ e^{−t²/2}, for normal noise b on d coefficients
// (concentration of a 1-Lipschitz function): e^−200.
const farNorm = 20

// The claim of [Objective] is for these: then e^−200, and e^ε times that, is below a
// billionth of δ.
const (
	maxEpsilon = 100
	minDelta   = 1e-30
)

// determinant is κ = ln(1+1/(4Λ)), rounded up.
func determinant(ridge float64) float64 { return math.Log1p(1/(4*ridge)) * (1 + 0x1p-40) }

// checkObjective finds settings whose claim does not follow from the theorem.
func (s Settings) checkObjective(form *learn.Form) error {
	switch {
	case len(form.Classes()) != 2:
		return fmt.Errorf("noise in the objective is for two classes, and there are %d: use method output", len(form.Classes()))
	case s.Noise != Gaussian:
		return errors.New("noise in the objective goes with gaussian noise on the coefficients: use that, or method output")
	case !(s.Linear >= 1e-3 && s.Linear <= 1e6):
		return fmt.Errorf("noise of %v in the objective: it must be between 0.001 and 1e6; a plan chooses one", s.Linear)
	case !(s.Epsilon > 0 && s.Epsilon <= maxEpsilon) || !(s.Delta >= minDelta && s.Delta < 0.5):
		return fmt.Errorf("noise in the objective needs the ε and δ that it costs, at most %v and at least %v: a plan chooses them", maxEpsilon, minDelta)
	}
	if s.Epsilon-determinant(s.Ridge) <= 1/(2*s.Linear*s.Linear) {
		return fmt.Errorf("noise of %v in the objective, with a ridge of %v, has no guarantee at ε = %v: raise the ridge or the noise", s.Linear, s.Ridge, s.Epsilon)
	}
	got, err := accountant.PLD{}.Delta(privacy.Gaussian{Sigma: s.Linear}, privacy.AddRemove, s.Epsilon-determinant(s.Ridge))
	if err != nil {
		return fmt.Errorf("what noise in the objective costs: %w", err)
	}
	if got.Upper > s.Delta*(1-1e-9) {
		return fmt.Errorf("noise of %v in the objective, with a ridge of %v, costs a δ of %v at ε = %v, more than the %v that is declared: a plan chooses them", s.Linear, s.Ridge, got.Upper, s.Epsilon, s.Delta)
	}
	return nil
}

// linearGrid is where noise in the objective lives: so fine that rounding to it is nothing,
// and noise is below 2^46 steps.
func (s Settings) linearGrid() (noise.Grid, error) {
	return noise.NewGrid(40 - int(math.Ceil(math.Log2(s.Linear))))
}

func (s Settings) linearStep() float64 {
	g, err := s.linearGrid()
	if err != nil {
		return math.Inf(1) // no guarantee, and Check says so
	}
	return g.Granularity()
}

// linear draws the noise of the objective.
func (s Settings) linear(key noise.Key, size int) ([]float64, error) {
	grid, err := s.linearGrid()
	if err != nil {
		return nil, fmt.Errorf("the noise of the objective: %w", err)
	}
	gaussian, err := noise.NewGaussian(noise.Options{Multiplier: s.Linear, Sensitivity: 1, Grid: grid})
	if err != nil {
		return nil, fmt.Errorf("the noise of the objective: %w", err)
	}
	stream := key.Stream("logistic regression, objective")
	out := make([]float64, size)
	for j := range out {
		// Exact: 2^46 steps are far below 2^53.
		out[j] = grid.Float(gaussian.Draw(stream))
	}
	return out, nil
}

// planObjective chooses the noise of [Objective] for an ε and a δ. The noise on the
// coefficients has a hundredth of ε and a twentieth of δ: it covers what the solver and
// rounding do, which is little.
//
// The ridge is the one with the least loss that is to be expected of it (see expected), and
// at least so large that the determinant costs a tenth of ε.
func planObjective(s Settings, r Request, form *learn.Form) (Settings, error) {
	s.Method, s.Noise = Objective, Gaussian
	s.Epsilon, s.Delta = 0.9895*r.Epsilon, 0.9*r.Delta
	var err error
	if s.Multiplier, err = calibrate(r.Epsilon/100, r.Delta/20); err != nil {
		return s, err
	}
	sigma, err := calibrate(s.Epsilon, s.Delta*(1-1e-6))
	if err != nil {
		return s, err
	}
	s.Ridge = max(argmin(func(ridge float64) float64 { return expected(form, r.Size, sigma, ridge) }), 1/(4*math.Expm1(r.Epsilon/10)))
	s.Linear, err = calibrate(s.Epsilon-determinant(s.Ridge), s.Delta*(1-1e-6))
	return s, err
}

// expected is the loss that a ridge and noise of deviation σ in the objective are thought
// to add to that of the best coefficients, from public knowledge alone.
//
// The ridge adds ½ΛB², with B² = m²/16: each of m columns is thought to move the log-odds
// by about ¼, and features are scaled by 1/√m. Noise moves a coefficient by σ/(Λ+h), h the
// second derivative of the rows' loss, and that costs ½h(σ/(Λ+h))². h is thought to be
// n·p/(7m), for a value that n·p rows have: by Zipf's law, p in proportion to 1, ½, ⅓ and so
// on for the values of a column. Numbers from -1 to 1 have a mean square of about ⅓.
func expected(form *learn.Form, n int64, sigma, ridge float64) float64 {
	m := float64(len(form.Inputs()) + 1)
	of := func(share float64) float64 {
		h := float64(n) * share / (7 * m)
		return h * sigma * sigma / (2 * (ridge + h) * (ridge + h))
	}
	loss := ridge*m*m/32 + of(1)
	for _, in := range form.Inputs() {
		if !in.Discrete {
			loss += of(1. / 3)
			continue
		}
		var all float64
		for v := range in.Values {
			all += 1 / float64(v+1)
		}
		for v := range in.Values {
			loss += of(1 / float64(v+1) / all)
		}
	}
	return loss
}

// argmin is where a function is least, of numbers between 1e-3 and 1e6 that are 5 % apart.
func argmin(f func(float64) float64) float64 {
	best := 1e-3
	for x := best; x < 1e6; x *= 1.05 {
		if f(x) < f(best) {
			best = x
		}
	}
	return best
}
