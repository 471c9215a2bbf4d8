package noise

import (
	"math"
	"math/big"
	"math/bits"
	"testing"
)

func uniformBins(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1 / float64(n)
	}
	return out
}

func TestUniformLaw(t *testing.T) {
	fit{
		name:  "below 10",
		draws: lawDraws,
		bins:  func(scale float64) []float64 { return uniformBins(int(math.Round(10 * scale))) },
		sampler: func(_ testing.TB, scale float64) func(*Stream) int {
			n := uint64(math.Round(10 * scale))
			return func(s *Stream) int { return int(s.Uint64n(n)) }
		},
	}.run(t)
	// Eight coins in a row. They have no scale; the test rejects coins that
	// show heads with probability 0.45 and 0.55.
	fit{
		name:  "coins",
		draws: 20_000,
		bins: func(scale float64) []float64 {
			out := make([]float64, 256)
			for mask := range out {
				heads := bits.OnesCount(uint(mask))
				out[mask] = math.Pow(0.5*scale, float64(heads)) * math.Pow(1-0.5*scale, float64(8-heads))
			}
			return out
		},
		sampler: func(t testing.TB, scale float64) func(*Stream) int {
			flip := (*Stream).Bool
			if scale != 1 {
				p := mustProbability(t, 0.5*scale)
				flip = func(s *Stream) bool { return s.Bernoulli(p) }
			}
			return func(s *Stream) int {
				mask := 0
				for i := range 8 {
					if flip(s) {
						mask |= 1 << i
					}
				}
				return mask
			}
		},
	}.run(t)
	// Large n: sixteen equal slices of [0, n), and a last bin for values only
	// a larger n can give.
	for name, n := range map[string]*big.Int{
		"below 3·2^62":     new(big.Int).Mul(big.NewInt(3), new(big.Int).Lsh(one, 62)),
		"below 2^63+1":     new(big.Int).Add(new(big.Int).Lsh(one, 63), one),
		"big below 10^30":  new(big.Int).Exp(big.NewInt(10), big.NewInt(30), nil),
		"big below 2^70+1": new(big.Int).Add(new(big.Int).Lsh(one, 70), one),
	} {
		t.Run(name, func(t *testing.T) {
			sliceFit(name, n).run(t)
		})
	}
}

func sliceFit(name string, n *big.Int) fit {
	scaled := func(scale float64) *big.Int {
		r := new(big.Rat).Mul(new(big.Rat).SetInt(n), new(big.Rat).SetFloat64(scale))
		return new(big.Int).Quo(r.Num(), r.Denom())
	}
	return fit{
		name:  name,
		draws: 20_000,
		bins: func(scale float64) []float64 {
			out, left := make([]float64, 17), 1.0
			for i := range 16 {
				out[i] = min(left, 1/(16*scale))
				left -= out[i]
			}
			out[16] = max(0, left)
			return out
		},
		sampler: func(t testing.TB, scale float64) func(*Stream) int {
			m := scaled(scale)
			return func(s *Stream) int {
				var x *big.Int
				if m.IsUint64() {
					x = new(big.Int).SetUint64(s.Uint64n(m.Uint64()))
				} else {
					var err error
					if x, err = s.BigBelow(m); err != nil {
						t.Fatal(err)
					}
				}
				x.Mul(x, big.NewInt(16)).Quo(x, n)
				return int(min(x.Int64(), 16))
			}
		},
	}
}

func coinFit(name string, draws int, p func(scale float64) float64, flip func(t testing.TB, scale float64) func(*Stream) bool) fit {
	return fit{
		name:  name,
		draws: draws,
		bins:  func(scale float64) []float64 { return []float64{1 - p(scale), p(scale)} },
		sampler: func(t testing.TB, scale float64) func(*Stream) int {
			f := flip(t, scale)
			return func(s *Stream) int {
				if f(s) {
					return 1
				}
				return 0
			}
		},
	}
}

func TestBernoulliLaw(t *testing.T) {
	for _, p := range []float64{0.05, 0.3, 0.5, 0.85} {
		coinFit(label("float", p), int(20_000/p), func(scale float64) float64 { return p * scale },
			func(t testing.TB, scale float64) func(*Stream) bool {
				q, err := ProbabilityFloat(p * scale)
				if err != nil {
					t.Fatal(err)
				}
				return func(s *Stream) bool { return s.Bernoulli(q) }
			}).run(t)
	}
}

// The whole joint law of the inclusion of 8 indices, by both methods.
func TestInclusionLaw(t *testing.T) {
	const n = 8
	for q, draws := range map[float64]int{1.0 / 100: 400_000, 0.3: 60_000, 0.7: 60_000} {
		fit{
			name:  label("q", q),
			draws: draws,
			bins: func(scale float64) []float64 {
				out := make([]float64, 1<<n)
				for mask := range out {
					in := bits.OnesCount(uint(mask))
					out[mask] = math.Pow(q*scale, float64(in)) * math.Pow(1-q*scale, float64(n-in))
				}
				return out
			},
			sampler: func(t testing.TB, scale float64) func(*Stream) int {
				p, err := ProbabilityFloat(q * scale)
				if err != nil {
					t.Fatal(err)
				}
				in := NewInclusion(p)
				if (in.skip != nil) != (q < 0.1) {
					t.Fatal("the test does not cover the method it is for")
				}
				var buf []int
				return func(s *Stream) int {
					buf, err = in.Draw(s, n, buf[:0])
					if err != nil {
						t.Fatal(err)
					}
					mask := 0
					for _, i := range buf {
						mask |= 1 << i
					}
					return mask
				}
			},
		}.run(t)
	}
}

// assignment of 3 items: the joint law over bins³; wrong scales have 9 or 11
// bins.
func TestAssignLaw(t *testing.T) {
	fit{
		name:  "3 items, 10 bins",
		draws: lawDraws,
		bins: func(scale float64) []float64 {
			m := int(math.Round(10 * scale))
			out := make([]float64, max(m*m*m, 1000))
			side := max(m, 10)
			for a := range m {
				for b := range m {
					for c := range m {
						out[(a*side+b)*side+c] = 1 / float64(m*m*m)
					}
				}
			}
			return out
		},
		sampler: func(t testing.TB, scale float64) func(*Stream) int {
			m := int(math.Round(10 * scale))
			side := max(m, 10)
			var bins []int
			return func(s *Stream) int {
				var err error
				if bins, err = s.Assign(3, m, bins[:0]); err != nil {
					t.Fatal(err)
				}
				return (bins[0]*side+bins[1])*side + bins[2]
			}
		},
	}.run(t)
}

// Sets of 3 out of 10 as masks; wrong scales draw from 9 or 11.
func TestSubsetLaw(t *testing.T) {
	fit{
		name:  "3 of 10",
		draws: lawDraws,
		bins: func(scale float64) []float64 {
			n := int(math.Round(10 * scale))
			sets := float64(n * (n - 1) * (n - 2) / 6)
			out := make([]float64, 1<<max(n, 10))
			for mask := range 1 << n {
				if bits.OnesCount(uint(mask)) == 3 {
					out[mask] = 1 / sets
				}
			}
			return out
		},
		sampler: func(t testing.TB, scale float64) func(*Stream) int {
			n := int(math.Round(10 * scale))
			return func(s *Stream) int {
				set, err := s.Subset(3, n)
				if err != nil {
					t.Fatal(err)
				}
				mask := 0
				for i, x := range set {
					if i > 0 && set[i-1] >= x {
						t.Fatalf("subset %v is not increasing", set)
					}
					mask |= 1 << x
				}
				return mask
			}
		},
	}.run(t)
}

// tellApart accepts a sampler of equally likely bins that has no scale, and
// rejects a wrong one.
func tellApart(t *testing.T, bins, draws int, right, wrong func(*Stream) int) {
	t.Helper()
	f := fit{bins: func(float64) []float64 { return uniformBins(bins) }}
	key := freshKey(t)
	f.sampler = func(testing.TB, float64) func(*Stream) int { return right }
	if x := f.excess(t, key.Stream("right"), 1, draws); x > 1 {
		t.Errorf("rejected: statistic is %.3f times the threshold (false reject rate %.0e)", x, falseReject)
	}
	f.sampler = func(testing.TB, float64) func(*Stream) int { return wrong }
	if x := f.excess(t, key.Stream("wrong"), 1, draws); x <= 1 {
		t.Errorf("accepted the wrong sampler: statistic is %.3f times the threshold", x)
	}
}

// Without rejection, a third of the integers below 3·2^62 get two words each
// and the others one; the residues modulo 3 show it.
func TestUniformRejects(t *testing.T) {
	const n = 3 << 62
	tellApart(t, 3, 20_000,
		func(s *Stream) int { return int(s.Uint64n(n) % 3) },
		func(s *Stream) int {
			hi, _ := bits.Mul64(s.Uint64(), n)
			return int(hi % 3)
		})
}

// The wrong sampler swaps every position with any other, which favours some
// orders of 5 items by up to 60 %.
func TestPermutationLaw(t *testing.T) {
	rank := func(p []int) int {
		r := 0
		for i, x := range p {
			smaller := 0
			for _, y := range p[i+1:] {
				if y < x {
					smaller++
				}
			}
			r = r*(len(p)-i) + smaller
		}
		return r
	}
	tellApart(t, 120, 200_000,
		func(s *Stream) int {
			p, err := s.Permutation(5)
			if err != nil {
				t.Fatal(err)
			}
			return rank(p)
		},
		func(s *Stream) int {
			p := []int{0, 1, 2, 3, 4}
			for i := range p {
				j := s.Uint64n(5)
				p[i], p[j] = p[j], p[i]
			}
			return rank(p)
		})
}
