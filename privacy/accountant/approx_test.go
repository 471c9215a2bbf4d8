package accountant

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// optimal returns the theorem of Kairouz, Oh and Viswanath (2015) for k runs that are
// (ε,δ)-DP each: for i = 0, …, ⌊k/2⌋ they are ((k−2i)ε, 1−(1−δ)^k(1−δᵢ))-DP, which cannot
// be improved, with
//
//	δᵢ = Σ_{l<i} C(k,l)·(e^((k−l)ε) − e^((k−2i+l)ε)) / (1+e^ε)^k.
func optimal(k, i int64, epsilon, delta float64) (float64, *big.Float) {
	power := func(x *big.Float, n int64) *big.Float {
		y := bigFloat(1)
		for range n {
			y.Mul(y, x)
		}
		return y
	}
	e := bigExp(bigFloat(epsilon))
	sum := bigFloat(0)
	for l := range i {
		ways := new(big.Float).SetPrec(exactBits).SetInt(new(big.Int).Binomial(k, l))
		sum.Add(sum, bigMul(ways, bigSub(power(e, k-l), power(e, k-2*i+l))))
	}
	sum = bigQuo(sum, power(bigAdd(bigFloat(1), e), k))
	left := bigMul(power(bigSub(bigFloat(1), bigFloat(delta)), k), bigSub(bigFloat(1), sum))
	return float64(k-2*i) * epsilon, bigSub(bigFloat(1), left)
}

func TestApproxIsTheOptimalComposition(t *testing.T) {
	for _, c := range []struct {
		k              int64
		epsilon, delta float64
	}{{1, 1, 1e-6}, {2, 0.5, 5e-7}, {5, 0.8, 1e-3}, {30, 0.1, 1e-9}, {101, 0.05, 1e-8}, {160, 0.02, 1e-5}} {
		e := privacy.Repeat{N: c.k, Event: privacy.Approx{Epsilon: c.epsilon, Delta: c.delta}}
		for i := int64(0); i <= c.k/2; i += 1 + c.k/6 {
			epsilon, exact := optimal(c.k, i, c.epsilon, c.delta)
			delta, _ := exact.Float64()
			// Where the finite losses are a part of δ that a float64 can show.
			_, failures := optimal(c.k, 0, c.epsilon, c.delta)
			share, _ := bigQuo(bigSub(exact, failures), exact).Float64()
			accountants := []Accountant{PLD{}}
			if i == 0 {
				accountants = append(accountants, Auto{})
			}
			for _, a := range accountants {
				for _, adj := range []privacy.Adjacency{privacy.AddRemove, privacy.ReplaceOne} {
					got, err := a.Epsilon(e, adj, delta)
					at := expect.At(t, "%s: ε of %s at %g", a.Name(), e, delta)
					expect.NoError(at, err)
					if share > 1e-8 {
						expect.Max(at, "got.Lower", got.Lower, epsilon*(1+1e-7))
						expect.Min(at, "got.Upper", got.Upper, epsilon*(1-1e-7))
						expect.Max(at, "got.Width", got.Width(), 1e-3*got.Upper+1e-9)
					}
					d, err := a.Delta(e, adj, epsilon)
					at = expect.At(t, "%s: δ of %s at %g, which is %v", a.Name(), e, epsilon, delta)
					expect.NoError(at, err)
					expect.Max(at, "d.Lower", d.Lower, delta*(1+1e-7))
					expect.Min(at, "d.Upper", d.Upper, delta*(1-1e-12))
					expect.Max(at, "d.Width", d.Width(), 2e-3*d.Upper)
				}
			}
		}
	}
}

// At its own δ the leaf costs its own ε, to the last digit; below it, nothing
// finite holds.
func TestApproxAtItsOwnDelta(t *testing.T) {
	for _, c := range []struct {
		expr    string
		delta   float64
		epsilon float64
		off     float64 // relative rounding that is allowed
	}{
		{"approx(1, 1e-6)", 1e-6, 1, 0},
		{"approx(0.3, 1e-9)", 1e-9, 0.3, 0},
		{"approx(0.3, 5e-324)", 5e-324, 0.3, 0},
		{"approx(0, 0.25)", 0.25, 0, 0},
		{"compose(approx(1, 1e-6), approx(2, 0), pure(0.5))", 1e-6, 3.5, 0},
		{"compose(approx(0.5, 0.25), repeat(2, approx(0.25, 0.5)))", 1 - 0.75*0.5*0.5, 1, 0},
		{"parallel(approx(0.2, 1e-6), approx(0.1, 1e-7))", 1e-6, 0.2, 0},
		{"poisson(0.25, approx(2, 1e-6))", 0.25 * 1e-6, math.Log1p(0.25 * math.Expm1(2)), 4 * massError},
		{"poisson(0.5, poisson(0.5, approx(2, 1e-6)))", 0.25 * 1e-6, math.Log1p(0.25 * math.Expm1(2)), 4 * massError},
		{"poisson(0.25, compose(approx(2, 1e-6), pure(1)))", 0.25 * 1e-6, math.Log1p(0.25 * math.Expm1(3)), 4 * massError},
	} {
		e := mustParse(t, c.expr)
		for _, a := range []Accountant{PLD{}, Auto{}} {
			got, err := a.Epsilon(e, privacy.AddRemove, c.delta)
			at := expect.At(t, "%s: ε of %s at its own δ", a.Name(), e)
			expect.NoError(at, err)
			expect.Within(at, "got.Upper", got.Upper, c.epsilon, c.epsilon*(1+c.off))
			expect.Within(at, "got.Lower", got.Lower, c.epsilon*(1-1e-11), c.epsilon)
			less := math.Nextafter(c.delta, 0)
			got, err = a.Epsilon(e, privacy.AddRemove, less)
			at = expect.At(t, "%s: ε of %s below its δ", a.Name(), e)
			expect.NoError(at, err)
			expect.Equal(at, "got.Lower", got.Lower, math.Inf(1))
			expect.Equal(at, "got.Upper", got.Upper, math.Inf(1))
			got, err = a.Epsilon(e, privacy.AddRemove, 0)
			at = expect.At(t, "%s: ε of %s at δ = 0", a.Name(), e)
			expect.NoError(at, err)
			expect.Equal(at, "got.Lower", got.Lower, math.Inf(1))
			expect.Equal(at, "got.Upper", got.Upper, math.Inf(1))
		}
	}
	// Under replace-one a sample of fixed size is at its own δ too.
	got, err := PLD{}.Epsilon(mustParse(t, "fixedsize(8, 2, approx(2, 1e-6))"), privacy.ReplaceOne, 0.25e-6)
	want := math.Log1p(0.25 * math.Expm1(2))
	expect.NoError(t, err)
	expect.Within(t, "got.Upper", got.Upper, want, want*(1+4*massError))
}

// Without the mass at infinite loss each of these would come out finite, and
// their δ would fall to 0: it stays at the probability of a failure.
func TestApproxKeepsItsFailures(t *testing.T) {
	for _, c := range []struct {
		expr    string
		adj     privacy.Adjacency
		failure float64
	}{
		{"approx(0.1, 1e-4)", privacy.AddRemove, 1e-4},
		{"compose(gaussian(5), approx(0.1, 1e-4))", privacy.ReplaceOne, 1e-4},
		{"poisson(0.1, approx(0.1, 1e-4))", privacy.AddRemove, 1e-5},
		{"repeat(20, poisson(0.1, approx(0.1, 1e-4)))", privacy.AddRemove, -math.Expm1(20 * math.Log1p(-1e-5))},
		{"repeat(20, poisson(0.1, approx(0.1, 1e-4)))", privacy.ReplaceOne, -math.Expm1(20 * math.Log1p(-1e-5))},
		{"repeat(5, poisson(0.1, compose(gaussian(3), repeat(2, approx(0.1, 1e-4)))))", privacy.AddRemove, -math.Expm1(5 * math.Log1p(-0.1*(2e-4-1e-8)))},
		{"repeat(2, poisson(0.5, compose(approx(0, 1e-4), pure(0.1))))", privacy.AddRemove, 1e-4 - 0.25e-8},
		{"repeat(2, poisson(0.5, compose(approx(1e-17, 1e-4), pure(0.1))))", privacy.AddRemove, 1e-4 - 0.25e-8},
		{"poisson(0.1, poisson(0.5, compose(laplace(3), approx(0.1, 1e-4))))", privacy.ReplaceOne, 5e-6},
		{"compose(gaussian(9), poisson(0.1, parallel(approx(0.1, 1e-5), approx(0.2, 1e-4))))", privacy.AddRemove, 1e-5},
		{"parallel(approx(0.1, 1e-5), poisson(0.5, approx(0.2, 1e-4)))", privacy.AddRemove, 5e-5},
		{"parallel(approx(0.1, 1e-5), approx(0.2, 1e-4))", privacy.ReplaceOne, 1e-4 + 1e-5 - 1e-9},
		{"fixedsize(100, 10, compose(approx(0.1, 1e-4), boundedrange(0.1)))", privacy.ReplaceOne, 1e-5},
		{"compose(zcdp(0.01), approx(0.1, 1e-4), repeat(9, boundedrange(0.1)))", privacy.AddRemove, 1e-4},
	} {
		e := mustParse(t, c.expr)
		for _, a := range []Accountant{PLD{}, Auto{}} {
			less, err := a.Epsilon(e, c.adj, c.failure*(1-1e-6))
			at := expect.At(t, "%s: %s (%s) at a δ below its failures", a.Name(), e, c.adj)
			expect.NoError(at, err)
			expect.Equal(at, "less.Lower", less.Lower, math.Inf(1))
			expect.Equal(at, "less.Upper", less.Upper, math.Inf(1))
			// δ just above it leaves little room, and still gives an enclosure.
			for _, more := range []float64{1.001, 1.5, 10} {
				got, err := a.Epsilon(e, c.adj, c.failure*more)
				at := expect.At(t, "%s: %s (%s) at %g times its failures", a.Name(), e, c.adj, more)
				expect.NoError(at, err)
				expect.True(at, "got.Upper is finite", !math.IsInf(got.Upper, 1))
				expect.Max(at, "got.Lower", got.Lower, got.Upper)
			}
			delta, err := a.Delta(e, c.adj, 8)
			at = expect.At(t, "%s: δ of %s (%s) at ε = 8", a.Name(), e, c.adj)
			expect.NoError(at, err)
			expect.Min(at, "delta.Upper", delta.Upper, c.failure*(1-1e-9))
			expect.Max(at, "delta.Lower", delta.Lower, c.failure*(1+1e-9))
			expect.Max(at, "delta.Width", delta.Width(), 1e-3*c.failure)
		}
	}
}

// drawExact draws an event of few outcomes, and lists them: P has the record.
func drawExact(t *rapid.T, depth int) (privacy.Event, []outcome) {
	epsilon := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 2), rapid.Float64Range(0, 2)).Draw(t, "epsilon")
	delta := math.Pow(10, -rapid.Float64Range(0.3, 8).Draw(t, "log δ"))
	if depth == 0 {
		switch rapid.IntRange(0, 3).Draw(t, "leaf") {
		case 0:
			return privacy.Pure{Epsilon: epsilon}, twoPoint(epsilon)
		case 1:
			return privacy.RandomizedResponse{Epsilon: epsilon, K: 4}, response(epsilon, 4)
		default:
			return privacy.Approx{Epsilon: epsilon, Delta: delta}, failing(epsilon, delta)
		}
	}
	a, pa := drawExact(t, depth-1)
	switch rapid.IntRange(0, 2).Draw(t, "node") {
	case 0:
		if b, pb := drawExact(t, depth-1); len(pa)*len(pb) < 70 {
			return privacy.Compose{Events: []privacy.Event{a, b}}, product(pa, pb)
		}
	case 1:
		if len(pa)*len(pa) < 70 {
			return privacy.Repeat{N: 2, Event: a}, product(pa, pa)
		}
	}
	q := rapid.Float64Range(0.01, 1).Draw(t, "q")
	return privacy.Poisson{Q: q, Event: a}, sampled(q, pa)
}

// Any nesting of compositions and samples agrees with the sum over all outcomes.
func TestPlainApproxAgainstAllOutcomes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, list := drawExact(t, rapid.IntRange(0, 3).Draw(t, "depth"))
		profile := discrete(list)
		epsilon := rapid.Float64Range(0, 4).Draw(t, "ε asked about")
		delta := profile(epsilon)
		a := PLD{Tolerance: 5e-3}
		got, err := a.Delta(e, privacy.AddRemove, epsilon)
		expect.NoError(t, err)
		expect.Max(t, "got.Lower", got.Lower, delta*(1+1e-7)+1e-15)
		expect.Within(t, "got.Upper", got.Upper, delta*(1-1e-7)-1e-15, delta*1.05+1e-8)
		if delta < 1e-12 {
			return
		}
		// As δ at ε is known, ε at a little more and less δ is known too.
		more, err := a.Epsilon(e, privacy.AddRemove, min(delta*1.0001, 0.9999999))
		if err != nil || more.Lower > epsilon*(1+1e-7)+1e-9 {
			t.Fatalf("%s: ε of %s at more than δ=%v is at least %v, not %v (%v)", a.Name(), e, delta, more.Lower, epsilon, err)
		}
		less, err := a.Epsilon(e, privacy.AddRemove, delta*0.9999)
		if err != nil || less.Upper < epsilon*(1-1e-7)-1e-9 {
			t.Fatalf("%s: ε of %s at less than δ=%v is at most %v, not %v (%v)", a.Name(), e, delta, less.Upper, epsilon, err)
		}
		ask := min(delta*1.01, 0.99)
		if len(list) > 16 {
			return
		}
		if truth := invert(profile, ask); !math.IsInf(truth, 1) {
			near, err := a.Epsilon(e, privacy.AddRemove, ask)
			// Bounds on δ may be 1e-8 apart (above), so that a δ near that has ε within
			// bounds, and not near them.
			loose := near.Upper > truth*1.05+5e-3 && ask > 1e-7
			expect.NoError(t, err)
			expect.Max(t, "near.Lower", near.Lower, truth*(1+1e-9)+1e-9)
			expect.Min(t, "near.Upper", near.Upper, truth*(1-1e-9)-1e-9)
			expect.Equal(t, "loose", loose, false)
		}
	})
}

func TestApproxWithoutDeltaIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := rapid.Float64Range(0, 3).Draw(t, "epsilon")
		n := rapid.Int64Range(1, 50).Draw(t, "n")
		for _, a := range all {
			got, err := a.Epsilon(privacy.Repeat{N: n, Event: privacy.Approx{Epsilon: epsilon}}, privacy.AddRemove, 1e-6)
			want, wantErr := a.Epsilon(privacy.Repeat{N: n, Event: privacy.Pure{Epsilon: epsilon}}, privacy.AddRemove, 1e-6)
			if got != want || (err == nil) != (wantErr == nil) {
				t.Fatalf("%s: approx(%v, 0) costs %v (%v), pure %v (%v)", a.Name(), epsilon, got, err, want, wantErr)
			}
		}
	})
}

func TestApproxIsRefusedByName(t *testing.T) {
	e := mustParse(t, "compose(gaussian(3), poisson(0.5, approx(1, 1e-6)))")
	for _, a := range []Accountant{RDP{}} {
		_, err := a.Epsilon(e, privacy.AddRemove, 1e-5)
		if !unsupported(t, a, e, err) {
			t.Errorf("%s gives a bound for %s", a.Name(), e)
		}
	}
	leaf := privacy.Approx{Epsilon: 1, Delta: 1e-6}
	r, _ := NewRDPFilter(100, 0.1)
	for _, f := range []interface {
		Spend(privacy.Event, privacy.Adjacency) error
		CanSpend(privacy.Event, privacy.Adjacency) bool
	}{r} {
		err := f.Spend(leaf, privacy.AddRemove)
		at := expect.At(t, "a filter, %T", f)
		u := expect.As[*UnsupportedError](at, err)
		expect.Equal(at, "u.Node", u.Node, "approx")
		expect.Contains(at, "err.Error", err.Error(), "planned budget")
		if f.CanSpend(leaf, privacy.AddRemove) {
			t.Error("a filter lets a step pass that it cannot charge")
		}
		if err := f.Spend(privacy.Approx{Epsilon: 1}, privacy.AddRemove); err != nil {
			t.Errorf("without δ it is a pure step: %v", err)
		}
	}
	if r.Spent() == 0 {
		t.Error("the pure step was not charged")
	}
}

// A ledger with one discovery and many other charges: the sum of the parts, few
// or many of them.
func TestTotalWithApprox(t *testing.T) {
	discovery := privacy.Approx{Epsilon: 0.25, Delta: 1e-7}
	const delta = 1e-6
	rest := (delta - 1e-7) / (1 - 1e-7)
	total, without := NewTotal(privacy.AddRemove), NewTotal(privacy.AddRemove)
	add := func(e privacy.Event, n int64) {
		t.Helper()
		for _, x := range []*Total{total, without} {
			if err := x.Add(e, n); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(mustParse(t, "repeat(100, poisson(20/30000, gaussian(0.6)))"), 3)
	add(privacy.Laplace{B: 5}, 2)
	if err := total.Add(discovery, 1); err != nil {
		t.Fatal(err)
	}
	if err := without.Add(privacy.Pure{Epsilon: 0.25}, 1); err != nil {
		t.Fatal(err)
	}
	for _, many := range []int{0, 40} {
		for i := range many {
			add(privacy.Gaussian{Sigma: 50 + float64(i)}, 1)
		}
		got, err := total.Epsilon(delta)
		if err != nil {
			t.Fatal(err)
		}
		want, err := without.Epsilon(rest)
		at := expect.At(t, "%s, and as a pure step at the δ that is left", total.Event())
		expect.NoError(at, err)
		expect.Max(at, "math.Abs(got.Upper/want.Upper-1)", math.Abs(got.Upper/want.Upper-1), 1e-3)
		expect.Max(at, "math.Abs(got.Lower-want.Lower)", math.Abs(got.Lower-want.Lower), 1e-3*want.Lower)
		if many == 0 && got.Width() > 1e-3*got.Upper {
			t.Errorf("ε of %s is only known to be in [%v, %v]", total.Event(), got.Lower, got.Upper)
		}
		for _, limit := range []float64{want.Upper * 0.9, want.Upper * 1.1} {
			if fits, err := total.clone().Within(limit, delta); err != nil || fits != (limit > want.Upper) {
				t.Errorf("within %v: %v, %v", limit, fits, err)
			}
		}
		if fits, err := total.Within(1e9, 0.9e-7); err != nil || fits {
			t.Errorf("within any ε at less than the δ of the discovery: %v, %v", fits, err)
		}
	}
	// No Rényi bound holds below a sampling node: then the numerical one answers.
	if err := total.Add(mustParse(t, "poisson(0.01, approx(0.1, 1e-6))"), 1); err != nil {
		t.Fatal(err)
	}
	got, err := total.Epsilon(delta)
	expect.NoError(t, err)
	expect.True(t, "got.Upper is finite", !math.IsInf(got.Upper, 1))
	expect.Max(t, "got.Width", got.Width(), 0.01*got.Upper)
}

func TestCalibrateApprox(t *testing.T) {
	for _, c := range []struct {
		expr           string
		epsilon, delta float64
		want           float64
	}{
		{"approx(x, 1e-7)", 1, 1e-6, math.Log((math.E - 1.8e-6) / (1 - 1e-6 - 0.9e-6*math.E) * 1)},
		{"approx(0.5, x)", 0.6, 1e-6, 1e-6},
		{"repeat(x, approx(0.1, 1e-7))", 2.05, 1.01e-6, 10},
		{"compose(approx(0.25, 1e-7), gaussian(x))", 1, 1e-6, 0},
	} {
		tm, err := privacy.ParseTemplate(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Calibrate(tm, Target{Epsilon: c.epsilon, Delta: c.delta})
		at := expect.At(t, "%s", c.expr)
		expect.NoError(at, err)
		expect.Max(at, "got.Epsilon.Upper", got.Epsilon.Upper, c.epsilon)
		if c.want > 0 {
			expect.Max(at, "math.Abs(got.X/c.want-1)", math.Abs(got.X/c.want-1), 1e-3)
		}
	}
	tm, _ := privacy.ParseTemplate("compose(approx(0.25, 1e-5), gaussian(x))")
	var impossible *ImpossibleError
	if _, err := Calibrate(tm, Target{Epsilon: 1, Delta: 1e-6}); !errors.As(err, &impossible) || !strings.Contains(err.Error(), "larger δ") {
		t.Errorf("more δ in a leaf than there is: %v", err)
	}
}

// FuzzApprox holds repeated leaves against the optimal composition theorem.
func FuzzApprox(f *testing.F) {
	f.Add(int64(3), int64(1), 0.5, 1e-6)
	f.Fuzz(func(t *testing.T, k, i int64, epsilon, delta float64) {
		if k < 1 || k > 60 || i < 0 || i > k/2 || !(epsilon >= 0 && epsilon < 20) || !(delta >= 0 && delta < 1) {
			return
		}
		e := privacy.Repeat{N: k, Event: privacy.Approx{Epsilon: epsilon, Delta: delta}}
		at, exact := optimal(k, i, epsilon, delta)
		want, _ := exact.Float64()
		got, err := PLD{Tolerance: 0.05}.Delta(e, privacy.AddRemove, at)
		expect.NoError(t, err)
		expect.Max(t, "got.Lower", got.Lower, want*(1+1e-7)+1e-15)
		expect.Min(t, "got.Upper", got.Upper, want*(1-1e-7)-1e-15)
		// At a little more δ than that ε is not above, at a little less not below.
		more, err := PLD{Tolerance: 0.05}.Epsilon(e, privacy.AddRemove, min(want*(1+1e-9)+1e-300, 1-1e-16))
		expect.NoError(t, err)
		expect.Max(t, "more.Lower", more.Lower, more.Upper)
		if want < 0.999 {
			expect.Max(t, "more.Lower", more.Lower, at*(1+1e-9))
		}
		less, err := PLD{Tolerance: 0.05}.Epsilon(e, privacy.AddRemove, want*(1-1e-9))
		expect.NoError(t, err)
		expect.Max(t, "less.Lower", less.Lower, less.Upper)
		expect.Min(t, "less.Upper", less.Upper, at*(1-1e-9))
	})
}
