package accountant

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// rdpSampledByQuadrature is (α−1)·D_α of the Poisson-sampled Gaussian from its
// definition, in both directions.
func rdpSampledByQuadrature(q, tau, a float64) (remove, add float64) {
	moment := func(power float64) float64 {
		f := func(t float64) float64 {
			y := rdpLogAdd(math.Log1p(-q), math.Log(q)+tau*t-tau*tau/2)
			return math.Exp(power*y-t*t/2) / math.Sqrt(2*math.Pi)
		}
		to := 12 + max(0, power)*tau
		return math.Log(rdpSimpson(f, -12-tau, to, 2*int((to+12+tau)/0.01)))
	}
	return moment(1 + a), moment(-a)
}

// The sampled Gaussian at real orders and parameters: equal to the larger
// direction, so at least both.
func TestRDPSampledGaussianIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := math.Exp(rapid.Float64Range(math.Log(1e-4), math.Log(0.999)).Draw(t, "log q"))
		tau := math.Exp(rapid.Float64Range(math.Log(0.05), math.Log(6)).Draw(t, "log tau"))
		a := math.Exp(rapid.Float64Range(math.Log(0.01), math.Log(30)).Draw(t, "log a"))
		if a*tau > 25 {
			t.Skip("the moment overflows the plain formula")
		}
		remove, add := rdpSampledByQuadrature(q, tau, a)
		got := rdpSampledGauss(q, tau, a)
		// The plain formula finds a moment next to 1 to about 1e-13.
		if math.Abs(got-remove) > 1e-9*remove+1e-13 {
			t.Fatalf("q=%v τ=%v α=%v: %v, by quadrature %v", q, tau, 1+a, got, remove)
		}
		if add > got+1e-13 {
			t.Fatalf("q=%v τ=%v α=%v: the other direction has %v, above %v", q, tau, 1+a, add, got)
		}
	})
}

// Values of (α−1)·D_α with 30 to 50 digits by mpmath 1.3 (quad over the same
// definition), chosen where double precision needs care: tiny rates, tiny and
// huge noise, orders next to 1.
func TestRDPSampledGaussianToFullPrecision(t *testing.T) {
	for _, c := range []struct{ q, tau, a, want float64 }{
		{0.9999998902126744, 7.910340715630642, 2.184385764007439, 217.62831257366208},
		{2.8735605233548895e-05, 0.11685812077424972, 0.2559892179613372, 1.82517559331544594e-12},
		{0.012523376487256535, 0.0027024277956697674, 1.7190323717683438e-06, 9.84481194020012839e-16},
		{1.044605658691606e-09, 0.1118873769855448, 0.9745009535884446, 1.32250648311973592e-20},
		{1.8253159441693985e-09, 0.010466022519255611, 0.004309898349594391, 7.89892490832926096e-25},
		{9.307018024688883e-08, 0.13006964124746026, 0.00025420693896083116, 1.87896931060261475e-20},
		{0.002511971660545193, 20.306108354696693, 0.0031877782245940543, 0.00224252583010911726},
		{0.00019392681942129742, 11.465774702559573, 10.554522084441357, 7917.40996687812995},
		{0.014991352764118697, 0.08050899341296303, 2.7287354506397522e-05, 1.9937920984063257e-11},
		{3.4117124672007426e-08, 0.20431364359829848, 141.65636443256489, 5.01340813504147969e-13},
		{0.41028856857576307, 0.0010623362361828618, 3.194025879741605, 1.27245616354624621e-6},
		{0.024185369197294034, 11.924112692112098, 1.4001621011329688, 229.980271118217839},
		{1.7854466663405318e-09, 0.011381071293730154, 2.9570144663297156e-05, 6.10554552587694606e-27},
		{0.001141165452541074, 0.002414777017885495, 1.3757269022393334e-06, 5.22342536590265852e-18},
		{1.3521510643489996e-09, 2.9901926260332, 0.00011785325257880082, 8.1500928846753788e-19},
		{9.522401090307805e-09, 13.777331291615326, 0.017138098781343074, 2.66036489871252819e-8},
		{7.975809456336403e-05, 0.010345675228316418, 125.15105007442563, 5.37509688165445402e-9},
		{0.513052594352324, 10.652646695114159, 0.0003491475096919221, 0.00997459037902730181},
		{0.053182793167883075, 0.026771498801144853, 62.53080025562304, 0.00403699183365187053},
		{1.192103277247069e-09, 11.017988931719247, 2.0639881710347047e-06, 9.63353843759861378e-14},
		{0.9999999764420898, 26.676274386576846, 0.054116379419620046, 20.2972709964211804},
		{0.06444092991062299, 30.15546893114468, 0.6972557129568007, 533.419532215131404},
	} {
		got := rdpSampledGauss(c.q, c.tau, c.a)
		if rel := got/c.want - 1; !(rel > -1e-13 && rel < 1e-12) {
			t.Errorf("q=%v τ=%v α−1=%v: got %v, want %v", c.q, c.tau, c.a, got, c.want)
		}
	}
}

// At whole orders the moment is a finite sum; the quadrature must agree.
func TestRDPQuadratureIsTheBinomialSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := math.Exp(rapid.Float64Range(math.Log(1e-9), math.Log(0.9999)).Draw(t, "log q"))
		tau := math.Exp(rapid.Float64Range(math.Log(1e-4), math.Log(20)).Draw(t, "log tau"))
		n := rapid.IntRange(2, 60).Draw(t, "order")
		c := rdpSampling{q: q, inner: rdpGaussian{tau * tau / 2}, sums: map[int64]float64{}}
		sum := c.binomial(int64(n))
		integral := rdpSoftplus(rdpGaussMoment(q, tau, float64(n-1)))
		if !(math.Abs(integral/sum-1) < 1e-11) {
			t.Fatalf("q=%v τ=%v α=%d: sum %v, integral %v", q, tau, n, sum, integral)
		}
	})
}

// A sum that is cut off after its tail was bounded is the whole sum.
func TestRDPBinomialCutIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := math.Exp(rapid.Float64Range(math.Log(1e-6), math.Log(0.5)).Draw(t, "log q"))
		rho := math.Exp(rapid.Float64Range(math.Log(1e-6), math.Log(0.1)).Draw(t, "log rho"))
		n := rapid.Int64Range(2, rdpMaxTerms-1).Draw(t, "order")
		lgamma := func(x int64) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
		var whole rdpLogSum
		for k := int64(2); k <= n; k++ {
			m := rho * float64(k) * float64(k-1)
			whole.add(lgamma(n) - lgamma(k) - lgamma(n-k) + float64(k)*math.Log(q) + float64(n-k)*math.Log1p(-q) + rdpLogExpm1(m))
		}
		c := rdpSampling{q: q, inner: rdpZCDP{rho}, sums: map[int64]float64{}}
		got, want := c.binomial(n), rdpSoftplus(whole.log())
		if !(got > want*(1-1e-8) && got < want*(1+1e-8)) {
			t.Fatalf("q=%v ρ=%v α=%d: %v, term by term %v", q, rho, n, got, want)
		}
	})
}

// rdpExact is the curve of a finite set of pairs, the largest at each order.
type rdpExact [][2]rdpPoints

func (c rdpExact) at(a float64) float64 {
	top := 0.0
	for _, pair := range c {
		d := 0.0
		if math.IsInf(a, 1) {
			for i := range pair[0] {
				d = max(d, math.Log(pair[0][i]/pair[1][i]))
			}
		} else {
			d = pair[0].divergence(pair[1], a)
		}
		top = max(top, d)
	}
	return top
}

func rdpDrawPoints(t *rapid.T, n int) rdpPoints {
	p, sum := make(rdpPoints, n), 0.0
	for i := range p {
		p[i] = math.Exp(rapid.Float64Range(-4, 4).Draw(t, "weight"))
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func (p rdpPoints) mix(q float64, with rdpPoints) rdpPoints {
	out := make(rdpPoints, len(p))
	for i := range p {
		out[i] = (1-q)*p[i] + q*with[i]
	}
	return out
}

// The lemma of rdpSampled, on arbitrary pairs that no involution relates: the
// binomial sum over the curve of a pair bounds both directions of the sampled
// pair at every order.
func TestRDPGenericPoissonBoundsBothDirections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 4).Draw(t, "outcomes")
		p, q := rdpDrawPoints(t, n), rdpDrawPoints(t, n)
		rate := rapid.Float64Range(0.001, 0.999).Draw(t, "rate")
		c := rdpSample(rate, rdpExact{{p, q}, {q, p}}, false)
		a := math.Exp(rapid.Float64Range(-4, 4).Draw(t, "log a"))
		for _, a := range []float64{a, math.Ceil(a)} {
			bound := c.at(a)
			for _, pair := range [][2]rdpPoints{{p, q}, {q, p}} {
				with, without := pair[0], pair[1]
				sampled := without.mix(rate, with)
				for _, d := range []float64{sampled.divergence(without, a), without.divergence(sampled, a)} {
					if d > bound*(1+1e-9)+1e-13/a {
						t.Fatalf("rate %v α=%v: divergence %v is above the bound %v\n%v\n%v", rate, 1+a, d, bound, p, q)
					}
				}
			}
			if bound > c.(*rdpSampling).inner.at(a) {
				t.Fatalf("rate %v α=%v: sampling made it worse", rate, 1+a)
			}
		}
	})
}

// On a pair that reversing its outcomes exchanges, the bound is attained at
// whole orders.
func TestRDPGenericPoissonIsAttained(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rdpDrawPoints(t, rapid.IntRange(2, 5).Draw(t, "outcomes"))
		q := slices.Clone(p)
		slices.Reverse(q)
		rate := rapid.Float64Range(0.001, 0.999).Draw(t, "rate")
		a := float64(rapid.IntRange(1, 40).Draw(t, "a"))
		got, want := rdpSample(rate, rdpExact{{p, q}}, false).at(a), q.mix(rate, p).divergence(q, a)
		if math.Abs(got-want) > 1e-9*want+1e-13 {
			t.Fatalf("rate %v α=%v: %v, attained %v", rate, 1+a, got, want)
		}
	})
}

// The order-wise bound for sampling without replacement, on arbitrary triples.
func TestRDPThreefoldBoundsTriples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 4).Draw(t, "outcomes")
		x, y, z := rdpDrawPoints(t, n), rdpDrawPoints(t, n), rdpDrawPoints(t, n)
		rate := rapid.Float64Range(0.001, 0.999).Draw(t, "rate")
		c := rdpSample(rate, rdpExact{{x, y}, {y, x}, {x, z}, {z, x}, {y, z}, {z, y}}, true)
		a := math.Exp(rapid.Float64Range(-3, 3).Draw(t, "log a"))
		for _, a := range []float64{a, math.Ceil(a), math.Inf(1)} {
			d := rdpExact{{x.mix(rate, y), x.mix(rate, z)}}.at(a)
			if bound := c.at(a); d > bound*(1+1e-9)+1e-13 {
				t.Fatalf("rate %v α=%v: divergence %v is above the bound %v", rate, 1+a, d, bound)
			}
		}
	})
}

// Three distributions pairwise equally far apart: replacing a sampled record
// costs up to twice what adding one does, so the bound for add/remove would be
// too small.
func TestRDPThreefoldIsNeeded(t *testing.T) {
	const x = 20
	u, v, w := rdpPoints{x, 1, 1}, rdpPoints{1, x, 1}, rdpPoints{1, 1, x}
	for i := range u {
		u[i], v[i], w[i] = u[i]/(x+2), v[i]/(x+2), w[i]/(x+2)
	}
	pairs := rdpExact{{u, v}, {v, u}, {u, w}, {w, u}, {v, w}, {w, v}}
	for _, a := range []float64{0.5, 1, 2, 3.7} {
		d := u.mix(0.001, v).divergence(u.mix(0.001, w), a)
		replaced, removed := rdpSample(0.001, pairs, true).at(a), rdpSample(0.001, pairs, false).at(a)
		if d > replaced*(1+1e-9) {
			t.Errorf("α=%v: divergence %v is above the bound %v", 1+a, d, replaced)
		}
		if a >= 1 && d < 1.5*removed {
			t.Errorf("α=%v: divergence %v, but %v for a record more or less", 1+a, d, removed)
		}
	}
}

// Randomised response on a sample under replace-one: three inputs, pairwise as
// far apart as the event allows.
func TestRDPReplacedResponseBoundsTriples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := rapid.Float64Range(0.01, 6).Draw(t, "epsilon")
		k := rapid.IntRange(3, 6).Draw(t, "k")
		rate := rapid.Float64Range(0.001, 0.999).Draw(t, "rate")
		a := rdpDrawOrder(t)
		var inputs [3]rdpPoints
		norm := math.Exp(epsilon) + float64(k) - 1
		for i := range inputs {
			for j := range k {
				p := 1 / norm
				if i == j {
					p = math.Exp(epsilon) / norm
				}
				inputs[i] = append(inputs[i], p)
			}
		}
		c := rdpSample(rate, rdpResponse{epsilon, float64(k)}, true)
		d := inputs[0].mix(rate, inputs[1]).divergence(inputs[0].mix(rate, inputs[2]), a)
		if bound := c.at(a); d > bound*(1+1e-9)+1e-13/a {
			t.Fatalf("ε=%v k=%d rate=%v α=%v: divergence %v is above the bound %v", epsilon, k, rate, 1+a, d, bound)
		}
	})
}

// The Gaussian on a sample under replace-one: triples of centres within
// distance 1 of each other, on a line and as a triangle in the plane. The bound
// holds, and is below 1.75 times the worst of them where rates are small (the
// order-wise bound is above 2.5 times there).
func TestRDPReplacedGaussianBoundsTriples(t *testing.T) {
	for _, c := range []struct{ q, sigma, a float64 }{
		{0.01, 1, 3}, {0.01, 1, 0.5}, {0.1, 2, 5.5}, {0.3, 1, 1}, {0.02, 0.7, 1.5}, {0.5, 3, 8}, {0.9, 2, 2}, {0.001, 1, 7},
	} {
		bound := rdpSample(c.q, rdpGaussian{0.5 / (c.sigma * c.sigma)}, true).at(c.a)
		worst := 0.0
		for _, centres := range [][3][2]float64{
			{{0, 0}, {1, 0}, {0, 0}},
			{{0, 0}, {0, 0}, {1, 0}},
			{{0.5, 0}, {1, 0}, {0, 0}},
			{{0, 0}, {1, 0}, {0.5, 0}},
			{{0, 0}, {1, 0}, {0.5, math.Sqrt(3) / 2}},
			{{0.5, math.Sqrt(3) / 2}, {0, 0}, {1, 0}},
		} {
			d := rdpPlanarTriple(c.q, c.sigma, c.a, centres)
			worst = max(worst, d)
			if d > bound*(1+1e-6) {
				t.Errorf("%+v %v: divergence %v is above the bound %v", c, centres, d, bound)
			}
		}
		wise := rdpSampling{q: c.q, inner: rdpGaussian{0.5 / (c.sigma * c.sigma)}, sums: map[int64]float64{}}
		published := rdpChord(c.a, wise.threefold) / c.a
		if bound > published*(1+1e-12) || c.q <= 0.02 && bound > worst*1.75 {
			t.Errorf("%+v: bound %v, order-wise bound %v, worst triple %v", c, bound, published, worst)
		}
	}
}

// rdpPlanarTriple is D_α of (1−q)A+qB against (1−q)A+qC for normal A, B, C.
func rdpPlanarTriple(q, sigma, a float64, centres [3][2]float64) float64 {
	const step = 0.25
	reach := 9 + (1+a)/sigma
	sum := 0.0
	for x := -reach; x <= reach; x += step {
		for y := -reach; y <= reach; y += step {
			var l [3]float64
			for i, c := range centres {
				dx, dy := x-c[0]/sigma, y-c[1]/sigma
				l[i] = -(dx*dx + dy*dy) / 2
			}
			p := rdpLogAdd(math.Log1p(-q)+l[0], math.Log(q)+l[1])
			r := rdpLogAdd(math.Log1p(-q)+l[0], math.Log(q)+l[2])
			// The excess y^α − 1 − α(y−1) under the second, for digits.
			s := math.Expm1(p - r)
			sum += math.Exp(r + rdpLogExcess(a, s, p-r))
		}
	}
	return math.Log1p(sum*step*step/(2*math.Pi)) / a
}

// The skew of the Gaussian pair against its integral, and its bound for tiny τ.
func TestRDPGaussSkew(t *testing.T) {
	for _, tau := range []float64{1e-3, 0.01, 0.1, 1, 3} {
		f := func(x float64) float64 {
			r := math.Expm1(tau*x - tau*tau/2)
			return r * math.Abs(r) * math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
		}
		want := rdpSimpson(f, -12, tau/2, 20000) + rdpSimpson(f, tau/2, 12+2*tau, 20000)
		if got := rdpGaussSkew(tau); !(got > want*(1-1e-7) && got < want*(1+1e-4)+1e-14) {
			t.Errorf("τ=%v: %v, want %v", tau, got, want)
		}
	}
	if got := rdpGaussSkew(0.999e-3); got < rdpGaussSkew(1e-3)*0.99 {
		t.Errorf("the bound for tiny τ is below the value next to it: %v", got)
	}
}
