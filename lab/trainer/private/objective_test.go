package private

import (
	"context"
	"math"
	"strings"
	"testing"

	pub "github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/lab/trainer/logit"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// objective makes settings of noise in the objective, with a claim that holds.
func objective(s Settings, linear float64) Settings {
	s.Method, s.Linear = Objective, linear
	s.Epsilon, s.Delta = determinant(s.Ridge)+3/linear, 0.01
	return s
}

// gaussianDelta is the δ of gaussian(σ) at ε.
func gaussianDelta(t *testing.T, sigma, epsilon float64) float64 {
	t.Helper()
	d, err := accountant.PLD{}.Delta(privacy.Gaussian{Sigma: sigma}, privacy.AddRemove, epsilon)
	if err != nil {
		t.Fatal(err)
	}
	return d.Upper
}

// counts are a table without columns: so many rows of each class. The one coefficient is
// the constant's, and its law is known.
type counts struct{ zero, one float64 }

// slope and curve are the first and second derivatives of the objective without noise.
func (c counts) slope(theta, ridge float64) float64 {
	return ridge*theta + c.zero*logit.Sigmoid(theta) - c.one*logit.Sigmoid(-theta)
}

func (c counts) curve(theta, ridge float64) float64 {
	return ridge + (c.zero+c.one)*logit.Sigmoid(theta)*logit.Sigmoid(-theta)
}

// minimum is where the slope is -b.
func (c counts) minimum(b, ridge float64) float64 {
	high := (math.Abs(b) + c.zero + c.one + 1) / ridge
	low := -high
	for range 60 {
		if mid := (low + high) / 2; c.slope(mid, ridge) < -b {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// apart is how much one law exceeds e^ε times the other, the least δ: an integral over the
// noise of the first, by the midpoint rule.
func apart(a, b counts, ridge, sigma, epsilon float64) float64 {
	const n = 4000
	var sum float64
	for i := range n {
		z := 10 * (2*(float64(i)+0.5)/n - 1)
		theta := a.minimum(z*sigma, ridge)
		other := b.slope(theta, ridge) / sigma
		loss := (other*other-z*z)/2 + math.Log(a.curve(theta, ridge)/b.curve(theta, ridge))
		sum += math.Exp(-z*z/2) * max(0, 1-math.Exp(epsilon-loss))
	}
	return sum * 20 / n / math.Sqrt(2*math.Pi)
}

// TestTheoremOfTheObjective: the δ of the exact law, by integration, is at most what the
// theorem says, and there are tables where less noise or no determinant would not do.
func TestTheoremOfTheObjective(t *testing.T) {
	caught := false
	for _, c := range []struct {
		table                 counts
		ridge, sigma, epsilon float64
	}{
		{counts{0, 0}, 1, 1, 1.5},
		{counts{3, 1}, 1, 2, 1},
		{counts{0, 0}, 0.2, 5, 0.9},
		{counts{1, 1}, 0.2, 5, 0.9},
		{counts{4000, 0}, 10, 2, 1},
		{counts{40000, 0}, 50, 3, 0.8},
	} {
		left := c.epsilon - determinant(c.ridge)
		if left < 1/(2*c.sigma*c.sigma) {
			t.Fatalf("the theorem says nothing of %+v", c)
		}
		claimed := gaussianDelta(t, c.sigma, left)
		for _, more := range []counts{{c.table.zero + 1, c.table.one}, {c.table.zero, c.table.one + 1}} {
			for _, d := range []float64{
				apart(more, c.table, c.ridge, c.sigma, c.epsilon), apart(c.table, more, c.ridge, c.sigma, c.epsilon),
			} {
				if d > claimed+1e-9 {
					t.Errorf("%+v: δ = %v, claimed %v", c, d, claimed)
				}
				if d > gaussianDelta(t, c.sigma*1.1, left)+1e-9 {
					caught = true
				}
			}
		}
	}
	if !caught {
		t.Error("a tenth less noise would not be found out")
	}
	if d, without := apart(counts{0, 1}, counts{0, 0}, 0.2, 5, 0.6), gaussianDelta(t, 5, 0.6); d < 2*without {
		t.Errorf("without the determinant δ would be %v, and is %v", without, d)
	}
}

// TestDeterminant: κ is how much one row can add to the logarithm of the determinant, which
// the first row does at θ = 0, and hardly more.
func TestDeterminant(t *testing.T) {
	for _, ridge := range []float64{1e-3, 0.2, 1, 50, 1e6} {
		limit := math.Log(counts{0, 1}.curve(0, ridge) / counts{}.curve(0, ridge))
		if k := determinant(ridge); k < limit*(1-1e-9) || k > limit*(1+1e-9) {
			t.Errorf("ridge %v: κ is %v, and a row can do %v", ridge, k, limit)
		}
	}
}

// TestLawOfTheObjective: at what is released the gradient of the objective without noise
// is the noise in it. The mean square of n = 4500 such has a standard deviation of √(2/n);
// seven of these have a false-reject rate below 1e-9, and scales of 0.9 and 1.1 are further
// away. The noise on the coefficients is 1e-5 of it at most.
func TestLawOfTheObjective(t *testing.T) {
	r := fixed(2)
	s := objective(Settings{Size: 60, Ridge: 2, Multiplier: 100}, 3)
	if err := s.Check(r.s); err != nil {
		t.Fatal(err)
	}
	problem, p := problemOf(t, r, s)
	gradient, theta := make([]float64, p.size), make([]float64, p.size)
	var square, mean, n float64
	for seed := uint64(0); n < 4500; seed++ {
		for j, w := range train(t, r, s, noise.KeyFromSeed(seed)).Model().Weights()[1] {
			theta[j] = w / p.entry
		}
		problem.Careful(theta, gradient)
		for _, g := range gradient {
			square += g * g / (s.Linear * s.Linear)
			mean += g / s.Linear
			n++
		}
	}
	accept := func(factor float64) bool {
		return math.Abs(square*factor*factor/n-1) < 7*math.Sqrt(2/n)+0.002 && math.Abs(mean*factor/n) < 7/math.Sqrt(n)
	}
	if !accept(1) {
		t.Errorf("the noise in the objective has a mean of %v and a mean square of %v", mean/n, square/n)
	}
	if accept(0.9) || accept(1.1) {
		t.Error("a wrong scale is not distinguished")
	}
}

// TestCoefficientsOfTheObjective: noise on the coefficients covers twice what solver and
// rounding can do.
func TestCoefficientsOfTheObjective(t *testing.T) {
	for _, ridge := range []float64{0.5, 4, 100} {
		s := objective(Settings{Size: 30000, Ridge: ridge, Multiplier: 100}, 3).WithDefaults()
		_, p := problemOf(t, fixed(2), s)
		mechanism, err := p.mechanism(s)
		if err != nil {
			t.Fatal(err)
		}
		step := math.Sqrt(float64(p.size)) * (mechanism.Granularity() + s.linearStep()/ridge)
		bound := 2*p.tolerance/ridge + step
		if ratio := mechanism.Scale() / s.Multiplier / bound; !(ratio > 1-1e-9 && ratio < 1.01) {
			t.Errorf("noise is %v of what it must be", ratio)
		}
		if p.tolerance < 5*p.rounding || p.limits.Linear < s.Linear*20 {
			t.Errorf("descent may not end: %+v", p)
		}
	}
}

// TestClaimsOfTheObjective: a claim that does not follow is refused, and so is what the
// theorem is not about.
func TestClaimsOfTheObjective(t *testing.T) {
	good, err := New(Request{Schema: mixed(2), Epsilon: 1, Delta: 1e-6, Size: 1000})
	if err != nil || good.Method != Objective {
		t.Fatalf("the plan is %+v: %v", good, err)
	}
	for _, c := range []struct {
		words   string
		classes int
		change  func(*Settings)
	}{
		{"more than", 2, func(s *Settings) { s.Linear *= 0.99 }},
		{"more than", 2, func(s *Settings) { s.Delta *= 0.9 }},
		{"more than", 2, func(s *Settings) { s.Epsilon *= 0.99 }},
		{"more than", 2, func(s *Settings) { s.Ridge *= 0.8 }},
		{"no guarantee", 2, func(s *Settings) { s.Ridge = 0.01 }},
		{"needs the ε", 2, func(s *Settings) { s.Epsilon = 0 }},
		{"needs the ε", 2, func(s *Settings) { s.Delta = 0 }},
		{"between", 2, func(s *Settings) { s.Linear = math.NaN() }},
		{"two classes", 3, func(*Settings) {}},
		{"gaussian", 2, func(s *Settings) { s.Noise = Laplace }},
		{"unknown method", 2, func(s *Settings) { s.Method = "both" }},
	} {
		s := good
		c.change(&s)
		if err := s.Check(mixed(c.classes)); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("want an error with %q, got %v", c.words, err)
		}
		r := fixed(c.classes)
		if _, err := Train(context.Background(), r, r.s, s, noise.KeyFromSeed(1)); err == nil {
			t.Errorf("%q was trained", c.words)
		}
	}
}

// TestRidgeOfTheObjective: more noise asks for a larger ridge, more rows for a smaller one,
// and the loss that is expected at the ridge is the least.
func TestRidgeOfTheObjective(t *testing.T) {
	form, err := pub.NewForm(mixed(2), true)
	if err != nil {
		t.Fatal(err)
	}
	choose := func(n int64, sigma float64) float64 {
		return argmin(func(ridge float64) float64 { return expected(form, n, sigma, ridge) })
	}
	if a, b := choose(1000, 4), choose(1000, 40); !(a < b) {
		t.Errorf("noise of 4 gets a ridge of %v, of 40 one of %v", a, b)
	}
	if a, b := choose(1000, 40), choose(1_000_000, 40); !(b < a) {
		t.Errorf("1000 rows get a ridge of %v, a million one of %v", a, b)
	}
	best := choose(1000, 4)
	for _, factor := range []float64{0.5, 0.9, 1.1, 2} {
		if expected(form, 1000, 4, best*factor) < expected(form, 1000, 4, best) {
			t.Errorf("%v of the ridge is better", factor)
		}
	}
}
