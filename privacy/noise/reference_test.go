package noise

import (
	"math"
	"math/big"
	"testing"
	"time"
)

// cks20 is the peer: the algorithms of Canonne, Kamath and Steinke (2020) as
// they stand in the paper, on math/big, with uniform integers from the same
// stream cipher.
type cks20 struct {
	num, den *big.Int // σ²
	t        *big.Int
}

func newCKS20(sigma float64) *cks20 {
	v := new(big.Rat).SetFloat64(sigma)
	v.Mul(v, v)
	t := new(big.Int).Sqrt(new(big.Int).Quo(v.Num(), v.Denom()))
	return &cks20{v.Num(), v.Denom(), t.Add(t, one)}
}

func (c *cks20) bernoulli(s *Stream, num, den *big.Int) bool {
	x, err := s.BigBelow(den)
	if err != nil {
		panic(err)
	}
	return x.Cmp(num) < 0
}

// bernoulliExp is Bernoulli(exp(-num/den)), algorithm 1.
func (c *cks20) bernoulliExp(s *Stream, num, den *big.Int) bool {
	whole, rest := new(big.Int).QuoRem(num, den, new(big.Int))
	for ; whole.Sign() > 0; whole.Sub(whole, one) {
		if !c.bernoulliExpUnit(s, one, one) {
			return false
		}
	}
	return c.bernoulliExpUnit(s, rest, den)
}

func (c *cks20) bernoulliExpUnit(s *Stream, num, den *big.Int) bool {
	k := int64(1)
	for c.bernoulli(s, num, new(big.Int).Mul(den, big.NewInt(k))) {
		k++
	}
	return k%2 == 1
}

// laplace is algorithm 2 for the integer scale t.
func (c *cks20) laplace(s *Stream) *big.Int {
	for {
		u, err := s.BigBelow(c.t)
		if err != nil {
			panic(err)
		}
		if !c.bernoulliExpUnit(s, u, c.t) {
			continue
		}
		v := big.NewInt(0)
		for c.bernoulliExpUnit(s, one, one) {
			v.Add(v, one)
		}
		x := u.Add(u, v.Mul(v, c.t))
		if !s.Bool() {
			return x
		}
		if x.Sign() != 0 {
			return x.Neg(x)
		}
	}
}

// Draw is algorithm 3.
func (c *cks20) Draw(s *Stream) int64 {
	for {
		y := c.laplace(s)
		// (|y| - σ²/t)²/(2σ²) = (|y|·t·den - num)² / (2·num·t²·den)
		a := new(big.Int).Abs(y)
		a.Mul(a, c.t).Mul(a, c.den).Sub(a, c.num)
		a.Mul(a, a)
		b := new(big.Int).Mul(c.t, c.t)
		b.Mul(b, c.num).Mul(b, c.den).Lsh(b, 1)
		if c.bernoulliExp(s, a, b) {
			return y.Int64()
		}
	}
}

// Fast sampler and reference must agree. By Hoeffding's inequality two samples
// of size n of the same law differ on an event by more than sqrt(ln(2E/α)/n)
// for one of E events with probability at most α = falseReject. At scale ×0.9
// and ×1.1 of the large σ the reference must differ by more.
func TestDiscreteGaussianMatchesReference(t *testing.T) {
	const draws = 40_000
	for _, sigma := range []float64{0.9, 1 << 20} {
		edges := []float64{-2, -1, -0.5, 0, 0.5, 0.8, 1, 1.25, 1.5, 2, 2.5}
		sample := func(d drawer, s *Stream) []float64 {
			counts := make([]float64, 2*len(edges))
			for range draws {
				y := float64(d.Draw(s)) / sigma
				for i, e := range edges {
					if y <= e {
						counts[i]++
					}
					if math.Abs(y) <= e {
						counts[len(edges)+i]++
					}
				}
			}
			return counts
		}
		apart := func(a, b []float64) float64 {
			worst := 0.0
			for i := range a {
				worst = max(worst, math.Abs(a[i]-b[i])/draws)
			}
			return worst / math.Sqrt(math.Log(2*float64(len(a))/falseReject)/draws)
		}
		key := freshKey(t)
		v := new(big.Rat).SetFloat64(sigma)
		fast, err := NewDiscreteGaussian(v.Mul(v, v))
		if err != nil {
			t.Fatal(err)
		}
		ours := sample(fast, key.Stream("fast"))
		if x := apart(ours, sample(newCKS20(sigma), key.Stream("reference"))); x > 1 {
			t.Errorf("σ = %v: differs from the reference by %.2f times the bound", sigma, x)
		}
		if sigma < 1 {
			continue
		}
		for i, scale := range []float64{0.9, 1.1} {
			if x := apart(ours, sample(newCKS20(sigma*scale), key.Stream("wrong", uint64(i)))); x <= 1 {
				t.Errorf("σ = %v: does not differ from the reference at scale ×%v (%.2f of the bound)", sigma, scale, x)
			}
		}
	}
}

// BenchmarkDiscreteGaussian times the sampler and, in the same run, the big.Int
// CKS20 reference, and reports both rates and their ratio.
func BenchmarkDiscreteGaussian(b *testing.B) {
	for _, c := range []struct {
		name  string
		sigma float64
	}{{"1", 1}, {"2^10", 1 << 10}, {"2^20", 1 << 20}, {"2^40", 1 << 40}, {"1234.567", 1234.567}} {
		b.Run("sigma="+c.name, func(b *testing.B) {
			v := new(big.Rat).SetFloat64(c.sigma)
			g, err := NewDiscreteGaussian(v.Mul(v, v))
			if err != nil {
				b.Fatal(err)
			}
			compare(b, g, newCKS20(c.sigma))
		})
	}
}

// BenchmarkRoundedGaussian is the same for the default form.
func BenchmarkRoundedGaussian(b *testing.B) {
	for _, c := range []struct {
		name  string
		sigma float64
	}{{"1", 1}, {"2^20", 1 << 20}, {"2^40", 1 << 40}} {
		b.Run("sigma="+c.name, func(b *testing.B) {
			g, err := NewRoundedGaussian(new(big.Rat).SetFloat64(c.sigma))
			if err != nil {
				b.Fatal(err)
			}
			compare(b, g, newCKS20(c.sigma))
		})
	}
}

// compare times the two in turn, block by block, and takes each one's fastest
// block for the ratio, so that other load on the machine falls on neither.
func compare(b *testing.B, fast, reference drawer) {
	b.Helper()
	s := benchKey(b).Stream("bench")
	block := func(d drawer, n int) float64 {
		start := time.Now()
		for range n {
			d.Draw(s)
		}
		return float64(n) / time.Since(start).Seconds()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		fast.Draw(s)
	}
	b.StopTimer()
	var ours, peer float64
	for range 40 {
		ours = max(ours, block(fast, 4000))
		peer = max(peer, block(reference, 200))
	}
	b.ReportMetric(ours, "draws/s")
	b.ReportMetric(peer, "bigint-cks20-draws/s")
	b.ReportMetric(ours/peer, "times-bigint-cks20")
}
