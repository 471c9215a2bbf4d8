package sums

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"pgregory.net/rapid"
)

// length is the square of a length in steps of sums, exactly.
func length(v []int64) *big.Int {
	sum := new(big.Int)
	for _, x := range v {
		b := big.NewInt(x)
		sum.Add(sum, b.Mul(b, b))
	}
	return sum
}

// moved is the square of how far two sums are apart.
func moved(a, b []int64) *big.Int {
	out := make([]int64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return length(out)
}

// whole is the square of a number of ones, in steps of sums.
func whole(ones int64) *big.Int {
	one := new(big.Int).Lsh(big.NewInt(ones), 2*fine)
	return one.Mul(one, one)
}

// bad are vectors that round badly: of length one to the last bit or a little longer, along an axis, with all
// numbers just below a step of the grid, and all alike.
func bad(width int) [][]float32 {
	out := [][]float32{axis(width, 0, 1), axis(width, width-1, -1), axis(width, 0, -1.0004), axis(width, 0, 1.0004), axis(width, 0, 0.9996)}
	for _, sign := range []float64{1, -1} {
		alike, steps := make([]float64, width), make([]float64, width)
		for i := range width {
			alike[i] = sign
			if i > 0 {
				sign = -sign
			}
		}
		out = append(out, ofLengthOne(alike))
		// (m+0.9)/2^15 each, and the rest in the first one: rounded to nearest it is longer than one.
		m := math.Floor(one / math.Sqrt(float64(width)) / 2)
		var square float64
		for i := 1; i < width; i++ {
			steps[i] = sign * (m + 0.9) / one
			square += steps[i] * steps[i]
		}
		steps[0] = sign * math.Sqrt(1-square)
		out = append(out, ofLengthOne(steps))
	}
	for i, v := range slices.Clone(out) {
		if i < 5 {
			continue
		}
		longer := slices.Clone(v)
		for j := range longer {
			longer[j] = math.Nextafter32(longer[j], 2*longer[j])
		}
		out = append(out, longer)
	}
	return out
}

// TestGrid: on the grid no number is larger than it was, none is off by a step, and no vector is longer than
// one, in whole numbers.
func TestGrid(t *testing.T) {
	check := func(v []float32) {
		t.Helper()
		got, err := onGrid(v, len(v))
		if err != nil {
			t.Fatalf("%d numbers: %v", len(v), err)
		}
		var square, n int64
		var exact float64
		for _, x := range v {
			exact += float64(x) * float64(x)
		}
		scale := one / math.Max(1, math.Sqrt(exact))
		for i, x := range got {
			square, n = square+int64(x)*int64(x), n+1
			if real := float64(v[i]) * one; math.Abs(float64(x)) > math.Abs(real) || float64(x)*real < 0 {
				t.Fatalf("%v of a step becomes %d", real, x)
			}
			if off := math.Abs(float64(v[i])*scale) - math.Abs(float64(x)); off > 1.001 {
				t.Fatalf("%d is off by %v steps", x, off)
			}
		}
		if square > one*one {
			t.Fatalf("%d numbers have a length of %v", n, math.Sqrt(float64(square))/one)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for width := 1; width <= 400; width++ {
		for _, v := range bad(width) {
			check(v)
		}
		for range 10 {
			check(normal(width, random))
		}
	}
}

// TestBadVectorsRoundBadly: what TestGrid is tried with would be longer than one if it were rounded to nearest.
func TestBadVectorsRoundBadly(t *testing.T) {
	for _, width := range []int{8, 100, 384} {
		longer := 0
		for _, v := range bad(width) {
			var rounded float64
			for _, x := range v {
				rounded += math.Pow(math.Round(float64(x)*one), 2)
			}
			if rounded > square {
				longer++
			}
		}
		if longer < 3 {
			t.Errorf("of %d numbers only %d are longer than one", width, longer)
		}
	}
}

// TestNotOfLengthOne: such vectors are a fault of the encoder.
func TestNotOfLengthOne(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, v := range [][]float32{
		nil, {0, 0}, {0.9, 0}, {1.1, 0}, {1, 1}, {nan, 0}, {1, nan}, {inf, 0}, {-inf, inf}, {math.MaxFloat32, 0}, {1}, {1, 0, 0},
	} {
		if got, err := onGrid(v, 2); err == nil {
			t.Errorf("%v becomes %v", v, got)
		}
	}
}

// TestNorm: numbers whose squares overflow are not short.
func TestNorm(t *testing.T) {
	for n := 1; n <= 8; n++ {
		v := make([]int32, n)
		for i := range v {
			v[i] = math.MinInt32
		}
		if got := norm(v); got <= square {
			t.Errorf("%d of the largest numbers have a norm of %d", n, got)
		}
	}
	if got := norm([]int16{-32768, 0}); got != square {
		t.Errorf("one has %d", got)
	}
	if got := norm([]int16{3, -4}); got != 25 {
		t.Errorf("three and four have %d", got)
	}
}

// classifiers are vectors of labels that are public when a sum is made: none yet, some, far ones, as far as
// they get, and ones that bring the record of a vector to the cut.
func classifiers(k int, v []float32, random *rand.Rand) map[string][][]float64 {
	out := map[string][][]float64{}
	for name, far := range map[string]float64{"none": 0, "some": 3, "far": 300, "farthest": farthest} {
		vectors := make([][]float64, k)
		for l := range vectors {
			for range v {
				vectors[l] = append(vectors[l], max(-farthest, min(farthest, far*random.NormFloat64())))
			}
		}
		out[name] = vectors
	}
	// All other labels share q, so that the error is q·√(1+1/(k−1)) long: that is the cut.
	q := cut / math.Sqrt(1+1/float64(k-1))
	vectors := make([][]float64, k)
	for l := range vectors {
		far := 0.
		if l == 0 {
			far = math.Log((1 - q) / q * float64(k-1))
		}
		for _, x := range v {
			vectors[l] = append(vectors[l], far*float64(x))
		}
	}
	out["at the cut"] = vectors
	return out
}

// slowly are the coefficients of a record in real numbers.
func slowly(label int, v []float32, vectors [][]float64, sums int64) []float64 {
	out := make([]float64, len(vectors))
	switch {
	case label < 0:
		return out
	case sums == 1:
		out[label] = 1
		return out
	}
	odds := make([]float64, len(vectors))
	for l := range vectors {
		for i := range v {
			odds[l] += vectors[l][i] * float64(v[i])
		}
	}
	highest, all, square := slices.Max(odds), 0., 0.
	for _, x := range odds {
		all += math.Exp(x - highest)
	}
	for l, x := range odds {
		out[l] = -math.Exp(x-highest) / all
		if l == label {
			out[l] = 0
			for m, y := range odds { // 1−p, without cancellation
				if m != l {
					out[l] += math.Exp(y-highest) / all
				}
			}
		}
		square += out[l] * out[l]
	}
	for l := range out {
		out[l] /= max(cut, math.Sqrt(square))
	}
	return out
}

func single(t testing.TB, label int, v []float32) unit {
	t.Helper()
	grid, err := onGrid(v, len(v))
	if err != nil {
		t.Fatal(err)
	}
	return unit{{label, grid}}
}

// TestCoefficients: they are those of the definition, cut, and of a norm of at most one in whole numbers.
func TestCoefficients(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for k := 2; k <= 100; k++ {
		widths := []int{1, 4}
		if k%49 == 2 {
			widths = append(widths, 384)
		}
		for _, width := range widths {
			v := normal(width, random)
			for name, vectors := range classifiers(k, v, random) {
				for _, sums := range []int64{1, 8} {
					s := &Summer{Options{Sums: settings(sums, 1)}}
					for _, label := range []int{-1, 0, k / 2, k - 1} {
						r := single(t, label, v)[0]
						got := s.adder(vectors, width).coefficients(r)
						if norm(got) > square {
							t.Fatalf("%d labels, %s: a norm of %v", k, name, math.Sqrt(float64(norm(got)))/one)
						}
						// The vector as it is on the grid, so that far classifiers see the same.
						seen := make([]float32, width)
						for i, x := range r.vector {
							seen[i] = float32(x) / one
						}
						for l, want := range slowly(label, seen, vectors, sums) {
							if off := want - float64(got[l])/one; math.Abs(off) > 1.01/one+1e-8 || math.Abs(float64(got[l]))/one > math.Abs(want)+1e-9 {
								t.Fatalf("%d labels, %s, label %d of record %d: %v, not %v", k, name, l, label, float64(got[l])/one, want)
							}
						}
					}
				}
			}
		}
	}
}

// TestSumIsExact: what is added up is, number by number, what whole numbers of any size give: products of
// coefficients and vectors, the mean of a unit's records rounded towards zero.
func TestSumIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		got := added(t, w.summer, w.units, w.vectors)
		want := make([]int64, len(got))
		for _, u := range w.units {
			own := make([]*big.Int, len(got))
			for i := range own {
				own[i] = new(big.Int)
			}
			for _, r := range u {
				for l, c := range w.summer.adder(w.vectors, w.width).coefficients(r) {
					for i, x := range r.vector {
						at := own[l*w.width+i]
						at.Add(at, new(big.Int).Mul(big.NewInt(int64(c)), big.NewInt(int64(x))))
					}
				}
			}
			for i := range own {
				want[i] += new(big.Int).Quo(own[i], big.NewInt(int64(len(u)))).Int64() // Quo is towards zero
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, not %v", got, want)
		}
	})
}

// world is a few units, and a classifier.
type world struct {
	summer  *Summer
	width   int
	units   []unit
	vectors [][]float64
}

func drawWorld(t *rapid.T) world {
	k := rapid.SampledFrom([]int{2, 3, 5, 30, 100}).Draw(t, "labels")
	width := rapid.SampledFrom([]int{1, 2, 4, 20}).Draw(t, "width")
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	s := settings(rapid.SampledFrom([]int64{1, 4}).Draw(t, "sums"), 1)
	s.Each = rapid.SampledFrom([]int{1, 2, 3, 16}).Draw(t, "each")
	w := world{summer: &Summer{Options{Sums: s}}, width: width}
	w.summer.Encoder, _ = trustToy(width)
	var v []float32
	for range 1 + rapid.IntRange(0, 5).Draw(t, "others") {
		var u unit
		alike := rapid.Bool().Draw(t, "alike")
		for range s.Each {
			if v == nil || !alike {
				v = normal(width, random)
				if all := bad(width); rapid.Bool().Draw(t, "bad") {
					v = all[random.IntN(len(all))]
				}
			}
			grid, err := onGrid(v, width)
			if err != nil {
				t.Fatal(err)
			}
			u = append(u, recordVector{rapid.IntRange(-1, k-1).Draw(t, "label"), grid})
		}
		w.units = append(w.units, u)
	}
	all := classifiers(k, v, random)
	w.vectors = all[rapid.SampledFrom([]string{"none", "some", "far", "farthest", "at the cut"}).Draw(t, "classifier")]
	return w
}

// TestSensitivity: one unit more or less moves a sum by at most one, and one that is exchanged by at most two,
// in whole numbers, whatever units, labels and the classifier are.
func TestSensitivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		with := added(t, w.summer, w.units, w.vectors)
		last := len(w.units) - 1
		if d := moved(with, added(t, w.summer, w.units[:last], w.vectors)); d.Cmp(whole(1)) > 0 {
			t.Fatalf("one unit less moves it by the square root of %v of %v", d, whole(1))
		}
		// Exchanged for the worst: the opposite vector, or another label.
		other := make(unit, len(w.units[last]))
		for i, r := range w.units[last] {
			other[i] = recordVector{r.label, slices.Clone(r.vector)}
			if rapid.Bool().Draw(t, "relabel") {
				other[i].label = rapid.IntRange(-1, len(w.vectors)-1).Draw(t, "other label")
			}
			for j := range r.vector {
				other[i].vector[j] = -max(r.vector[j], -one+1)
			}
		}
		exchanged := append(slices.Clone(w.units[:last]), other)
		if d := moved(with, added(t, w.summer, exchanged, w.vectors)); d.Cmp(whole(2)) > 0 {
			t.Fatalf("an exchanged unit moves it by the square root of %v of %v", d, whole(1))
		}
	})
}

// TestSensitivityIsTight: a record along an axis moves a sum by one but for the grid, and exchanged for its
// opposite by two; and the mean of a unit's equal records does.
func TestSensitivityIsTight(t *testing.T) {
	for _, sums := range []int64{1, 8} {
		for _, each := range []int{1, 16} {
			s := &Summer{Options{Sums: settings(sums, 1)}}
			s.Sums.Each = each
			s.Encoder, _ = trustToy(3)
			vectors := [][]float64{{0, 0, 0}, {0, 0, 0}}
			var u, opposite unit
			for range each {
				u = append(u, single(t, 0, axis(3, 0, 1))...)
				opposite = append(opposite, single(t, 0, axis(3, 0, -1))...)
			}
			with, none := added(t, s, []unit{u}, vectors), added(t, s, nil, vectors)
			for d, ones := range map[*big.Int]int64{moved(with, none): 1, moved(with, added(t, s, []unit{opposite}, vectors)): 2} {
				share, _ := new(big.Rat).SetFrac(d, whole(ones)).Float64()
				if share > 1 || share < 0.9997 {
					t.Errorf("%d sums, %d records: a square of %v of what is possible", sums, each, share)
				}
			}
		}
	}
}

// TestExchangeDoublesNoise: the noise is sigma times what one unit may move.
func TestExchangeDoublesNoise(t *testing.T) {
	for adjacency, want := range map[privacy.Adjacency]float64{privacy.AddRemove: 3.5, privacy.ReplaceOne: 7} {
		s := settings(8, 3.5)
		s.Adjacency = adjacency
		n, err := s.noise()
		at := expect.At(t, "%s", adjacency)
		expect.NoError(at, err)
		expect.Equal(at, "n.Scale", n.Scale(), want)
		expect.Equal(at, "n.Granularity", n.Granularity(), math.Ldexp(1, -2*fine))
		if got, want := s.Event().String(), fmt.Sprintf("repeat(8, %v)", privacy.Gaussian{Sigma: 3.5}); got != want {
			t.Errorf("%s costs %s, not %s", adjacency, got, want)
		}
	}
}
