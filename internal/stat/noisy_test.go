package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// laplaceOf draws noise as it is released: rounded.
func laplaceOf(random *rand.Rand, scale float64) int64 {
	x := scale * random.ExpFloat64()
	if random.IntN(2) == 0 {
		x = -x
	}
	return int64(math.Round(x))
}

// tooMany reports whether misses are more than allowed for, by 5 standard deviations,
// which a right interval exceeds with a probability below 1e-6.
func tooMany(misses, n int, miss float64) bool {
	return float64(misses) > float64(n)*miss+5*math.Sqrt(float64(n)*miss*(1-miss))
}

// TestLongShareCovers: over numbers of records, shares and scales the interval misses in at most
// 5 % of the cases, where records are drawn anew each time; and it is not much wider than
// one that knows the number of records and has a normal law.
func TestLongShareCovers(t *testing.T) {
	if testing.Short() {
		t.Skip("long statistics")
	}
	const tries = 400
	random := rand.New(rand.NewPCG(1, 1))
	for _, records := range []int{30, 400} {
		for _, p := range []float64{0.02, 0.5, 0.81} {
			for _, scale := range []float64{0.5, 10} {
				for _, cells := range []int{1, 2} {
					misses, width := 0, 0.0
					n := tries
					for range n {
						// Poisson sampling: how many are drawn varies.
						drawn, right := 0, 0
						for range 2 * records {
							if random.IntN(2) == 0 {
								drawn++
								if random.Float64() < p {
									right++
								}
							}
						}
						c := Noisy{Right: int64(right), Wrong: int64(drawn - right), Scale: scale, Cells: cells}
						for range cells {
							c.Right += laplaceOf(random, scale)
							c.Wrong += laplaceOf(random, scale)
						}
						got, err := c.Share()
						if err != nil {
							t.Fatal(err)
						}
						if p < got.Low || p > got.High {
							misses++
						}
						width += (got.High - got.Low) / float64(n)
					}
					m := float64(records)
					sd := math.Sqrt(p*(1-p)/m + float64(2*cells)*scale*scale*(p*p+(1-p)*(1-p))/(m*m))
					ideal := min(1, 2*1.96*sd)
					if tooMany(misses, n, 0.05) {
						t.Errorf("%d records, %v right, scale %v of %d: %d of %d intervals miss", records, p, scale, cells, misses, n)
					}
					if width > 1.35*ideal+3.5/m {
						t.Errorf("%d records, %v right, scale %v of %d: %.3f wide, a normal law %.3f", records, p, scale, cells, width, ideal)
					}
				}
			}
		}
	}
}

// TestLongDifferenceCovers is the same for two prompts.
func TestLongDifferenceCovers(t *testing.T) {
	if testing.Short() {
		t.Skip("long statistics")
	}
	const tries = 200
	random := rand.New(rand.NewPCG(2, 1))
	for _, records := range []int{40, 400} {
		for _, c := range [][3]float64{{0.6, 0.1, 0.1}, {0.5, 0.25, 0.05}, {0.9, 0.01, 0.01}, {0, 0.95, 0.02}, {0.98, 0, 0}} {
			for _, scale := range []float64{0.5, 10} {
				misses, width := 0, 0.0
				n := tries
				for range n {
					var cells [4]int64
					for range 2 * records {
						if random.IntN(2) == 0 {
							continue
						}
						switch x := random.Float64(); {
						case x < c[0]:
							cells[0]++
						case x < c[0]+c[1]:
							cells[1]++
						case x < c[0]+c[1]+c[2]:
							cells[2]++
						default:
							cells[3]++
						}
					}
					for i := range cells {
						cells[i] += laplaceOf(random, scale)
					}
					got, err := NoisyPair{Both: cells[0], First: cells[1], Second: cells[2], Neither: cells[3], Scale: scale}.Difference()
					if err != nil {
						t.Fatal(err)
					}
					if d := c[1] - c[2]; d < got.Low || d > got.High {
						misses++
					}
					width += (got.High - got.Low) / float64(n)
				}
				m, d, differ := float64(records), c[1]-c[2], c[1]+c[2]
				sd := math.Sqrt((differ-d*d)/m + 2*scale*scale*(2+4*d*d)/(m*m))
				ideal := min(2, 2*1.96*sd)
				if tooMany(misses, n, 0.05) {
					t.Errorf("%d records, %v, scale %v: %d of %d intervals miss", records, c, scale, misses, n)
				}
				if width > 1.6*ideal+10/m {
					t.Errorf("%d records, %v, scale %v: %.3f wide, a normal law %.3f", records, c, scale, width, ideal)
				}
			}
		}
	}
}

// TestIgnoringNoiseMisses: intervals of the numbers as if they had no noise miss far too
// often, so that the tests above would find it.
func TestIgnoringNoiseMisses(t *testing.T) {
	const n, records, p, scale = 300, 500, 0.8, 20
	random := rand.New(rand.NewPCG(3, 1))
	misses := 0
	for range n {
		right := 0
		for range records {
			if random.Float64() < p {
				right++
			}
		}
		c := Noisy{Right: int64(right) + laplaceOf(random, scale), Wrong: int64(records-right) + laplaceOf(random, scale), Scale: 1e-3}
		got, err := c.Share()
		if err != nil {
			t.Fatal(err)
		}
		if p < got.Low || p > got.High {
			misses++
		}
	}
	if !tooMany(misses, n, 0.05) {
		t.Errorf("%d of %d miss", misses, n)
	}
}

// TestNoisyEdges: numbers below 0 or without meaning give the whole range, never an error or
// a number that is none.
func TestNoisyEdges(t *testing.T) {
	for _, c := range []Noisy{
		{Right: -5, Wrong: -9, Scale: 10},
		{Right: 0, Wrong: 0, Scale: 1},
		{Right: 3, Wrong: -2, Scale: 4},
		{Right: 1000, Wrong: -3, Scale: 2},
		{Right: 1, Wrong: 0, Scale: 1e-6},
		{Right: 5_000_000, Wrong: 5_000_000, Scale: 100},
	} {
		got, err := c.Share()
		if err != nil || !(0 <= got.Low && got.Low <= got.Value && got.Value <= got.High && got.High <= 1) {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	for _, c := range []NoisyPair{
		{Scale: 3},
		{Both: -4, First: 2, Second: 1, Neither: 0, Scale: 5},
		{Both: 100, First: -2, Second: -1, Neither: 50, Scale: 2},
		{First: 100, Scale: 0.01},
	} {
		got, err := c.Difference()
		if err != nil || !(-1 <= got.Low && got.Low <= got.Value && got.Value <= got.High && got.High <= 1) {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	for _, c := range []Noisy{{Scale: 0}, {Scale: math.Inf(1)}, {Scale: math.NaN()}, {Scale: 1, Cells: -1}, {Scale: 1, Level: 2}} {
		if _, err := c.Share(); err == nil {
			t.Errorf("%+v is allowed", c)
		}
	}
	if _, err := (NoisyPair{}).Difference(); err == nil {
		t.Error("no noise is allowed")
	}
}

// TestLaplaces compares the law of sums with a closed form for two equal scales, with one
// scale, and with what was drawn.
func TestLaplaces(t *testing.T) {
	for _, x := range []float64{0, 0.3, 1, 4, 12} {
		one := newLaplaces([]float64{2, 0})
		if got, want := one.tail(x), math.Exp(-x/2)/2; !near(got, want, 1e-12) {
			t.Errorf("one: %v, not %v", got, want)
		}
		two := newLaplaces([]float64{2, 2})
		if got, want := two.tail(x), (2+x/2)/4*math.Exp(-x/2); got < want*(1-1e-9) || got > want*1.01+1e-9 {
			t.Errorf("two at %v: %v, not %v", x, got, want)
		}
	}
	four := newLaplaces([]float64{1, 1, 3, 3})
	random := rand.New(rand.NewPCG(4, 1))
	const n = 50_000
	for _, x := range []float64{1, 5, 10} {
		hits := 0
		for range n {
			sum := 0.0
			for _, a := range []float64{1, 1, 3, 3} {
				v := a * random.ExpFloat64()
				if random.IntN(2) == 0 {
					v = -v
				}
				sum += v
			}
			if sum >= x {
				hits++
			}
		}
		p := float64(hits) / n
		if got := four.tail(x); math.Abs(got-p) > 5*math.Sqrt(p/n)+2e-3*p {
			t.Errorf("four at %v: %v, drawn %v", x, got, p)
		}
	}
}
