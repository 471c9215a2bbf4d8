package private

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/schema"
)

// Request is what a model may cost.
type Request struct {
	// Schema of the rows, and how it is read. Required.
	Schema   schema.Schema
	Discrete bool
	// Epsilon is required. Delta of 0 takes Laplace noise.
	Epsilon, Delta float64
	// Size is the declared number of rows. Required.
	Size int64
}

// New finds settings that cost no more than was asked: of [Objective] where that is
// possible, and else of [Output].
//
// The ridge of method output balances what it does to the best coefficients with what
// noise does to them; that of method objective is at planObjective. With coefficients of
// squared norm B², the ridge costs about ½ΛB² of loss, and noise of variance v/Λ² on each
// coefficient costs at most ½·(n/4)·v/Λ², since n rows of norm 1 have second derivatives of
// trace n/4 at most. The sum is least at Λ = (nv/(2B²))^⅓. B² is taken for m²/4, m the number
// of columns and the constant: features are scaled by 1/√m, and each column is thought to
// move the log-odds by about ½. The result is at least 1/m, which is a ridge of 1 on the
// features before they are scaled.
func New(r Request) (Settings, error) {
	s := Settings{Discrete: r.Discrete, Size: r.Size}
	if err := privacy.CheckEpsilon(r.Epsilon); err != nil || r.Epsilon == 0 {
		return s, fmt.Errorf("an ε above 0 is needed, such as 1, not %v", r.Epsilon)
	}
	form, err := learn.NewForm(r.Schema, r.Discrete)
	if err != nil {
		return s, err
	}
	if r.Delta >= 2*minDelta && r.Epsilon <= maxEpsilon && len(form.Classes()) == 2 {
		s, err = planObjective(s, r, form)
	} else {
		s, err = planOutput(s, r, form)
	}
	if err != nil {
		return s, err
	}
	s = s.WithDefaults()
	return s, s.Check(r.Schema)
}

// planOutput takes the noise that is smaller.
func planOutput(s Settings, r Request, form *learn.Form) (Settings, error) {
	b, d := scale(r.Epsilon), float64(s.params(form).size)
	variance := 2 * b * b * d
	s.Noise, s.Multiplier = Laplace, b
	if r.Delta > 0 {
		sigma, err := calibrate(r.Epsilon, r.Delta)
		if err != nil {
			return s, err
		}
		if sigma*sigma <= variance {
			variance = sigma * sigma
			s.Noise, s.Multiplier = Gaussian, sigma
		}
	}
	s.Ridge = ridge(s, form, variance)
	return s, nil
}

// ridge is the rule of [New], for noise of this variance where the sensitivity is 1.
func ridge(s Settings, form *learn.Form, variance float64) float64 {
	s.Ridge = 1
	per := s.WithDefaults().params(form).sensitivity
	m := float64(len(form.Inputs()) + 1)
	return max(1/m, math.Cbrt(float64(s.Size)*variance*per*per*2/(m*m)))
}

// calibrate finds the σ of gaussian(σ).
func calibrate(epsilon, delta float64) (float64, error) {
	t, err := privacy.ParseTemplate("gaussian(x)")
	if err != nil {
		return 0, err
	}
	c, err := accountant.Calibrate(t, accountant.Target{Epsilon: epsilon, Delta: delta, Adjacency: privacy.AddRemove})
	if err != nil {
		return 0, fmt.Errorf("finding the noise for ε = %v and δ = %v: %w", epsilon, delta, err)
	}
	return c.X, nil
}

// scale is a b with 1/b ≤ ε. The margin is more than accountants allow for rounding.
func scale(epsilon float64) float64 { return (1 + 1e-10) / epsilon }
