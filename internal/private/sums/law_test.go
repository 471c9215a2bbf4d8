package sums

import (
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/privacytest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// ratio is a/(b·c), exactly.
func ratio(a, b, c float64) *big.Rat {
	of := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	return new(big.Rat).Quo(of(a), new(big.Rat).Mul(of(b), of(c)))
}

// fits holds samples against a normal distribution of that scale by how many are within a reach of
// 0, and wants scales ×0.9 and ×1.1 to be rejected. Inside is the probability of a reach at a scale.
func fits(t *testing.T, what string, samples []float64, reach []float64, inside func(reach, scale float64) float64) {
	t.Helper()
	hits := make([]int, len(reach))
	for _, x := range samples {
		for i, r := range reach {
			if math.Abs(x) <= r {
				hits[i]++
			}
		}
	}
	at := func(scale float64) float64 {
		p := make([]float64, len(reach))
		for i, r := range reach {
			p[i] = inside(r, scale)
		}
		return privacytest.Misfit(len(samples), hits, p)
	}
	if w := at(1); w > 1 {
		t.Errorf("%s: not the noise of the event: %.2f", what, w)
	}
	for _, wrong := range []float64{0.9, 1.1} {
		if w := at(wrong); w < 1 {
			t.Errorf("%s: the test accepts scale ×%v: %.2f", what, wrong, w)
		}
	}
}

var exchange = map[privacy.Adjacency]float64{privacy.AddRemove: 1, privacy.ReplaceOne: 2}

// TestNoiseOfSeveralSums: without records vectors are the sum of the noise of all sums, independent of each
// other: normal of variance Sums·(σ·Step/Size)², and four times that where units are exchanged. A sum without
// noise, or with that of another, has another variance.
func TestNoiseOfSeveralSums(t *testing.T) {
	for adjacency, by := range exchange {
		const sums, sigma = 4, 1.5
		s := settings(sums, sigma)
		s.Step, s.Size, s.Adjacency = 30, 10, adjacency
		data := newScene(400, 1)
		var samples []float64
		for seed := range 10 {
			o := data.options(t, 10, s)
			o.Key = noise.KeyFromSeed(uint64(seed))
			for _, v := range released(t, o).Evidence.Vectors {
				samples = append(samples, v...)
			}
		}
		scale := math.Sqrt(sums) * sigma * by * s.Step / float64(s.Size)
		var reach []float64
		for _, x := range []float64{0.1, 0.3, 0.6, 1, 1.5, 2, 3, 4} {
			reach = append(reach, x*scale)
		}
		fits(t, string(adjacency), samples, reach, func(r, wrong float64) float64 { return math.Erf(r / (wrong * scale * math.Sqrt2)) })
		distinct := slices.Clone(samples)
		slices.Sort(distinct)
		if n := len(slices.Compact(distinct)); n < len(samples)*99/100 {
			t.Errorf("%s: of %d numbers %d are different", adjacency, len(samples), n)
		}
	}
}

// TestNoiseOfOneSum: a record along the first axis for each label. With s the number that it adds on the grid,
// |v_2| ≤ r·v_1 of a direction is |N_2| ≤ r·(s+N_1): its probability is known exactly for normal noise, but for
// directions that are turned round, at hundred standard deviations.
func TestNoiseOfOneSum(t *testing.T) {
	for adjacency, by := range exchange {
		const k, sigma = 100, 0.005
		s := settings(1, sigma)
		s.Adjacency = adjacency
		data := newScene(3, 1)
		for _, label := range labels(k) {
			data.unit(0, data.record(label, axis(3, 0, 1)))
		}
		var samples []float64
		for seed := range 400 {
			o := data.options(t, k, s)
			o.Key = noise.KeyFromSeed(uint64(seed))
			for _, v := range released(t, o).Evidence.Vectors {
				samples = append(samples, v[1]/v[0])
			}
		}
		const added = float64(one-1) / one
		var reach []float64
		for _, x := range []float64{0.1, 0.3, 0.6, 1, 1.5, 2, 3, 4} {
			reach = append(reach, x*sigma*by)
		}
		// N_2 − r·N_1 ≤ r·s, and the other side.
		fits(t, string(adjacency), samples, reach, func(r, wrong float64) float64 {
			scale := wrong * sigma * by
			return math.Erf(r * added / (scale * math.Sqrt(1+r*r) * math.Sqrt2))
		})
	}
}

// correlation of two lists of the same length.
func correlation(a, b []float64) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab, aa, bb = ab+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i]
	}
	return ab / math.Sqrt(aa*bb)
}

// TestOtherSettingsHaveOtherNoise: with noise of two scales from the same randomness, two releases of a key
// would give the exact sum. Of n independent pairs a correlation above 7/√n has a probability below 1e-11.
func TestOtherSettingsHaveOtherNoise(t *testing.T) {
	data := newScene(400, 2)
	o := data.options(t, 10, settings(4, 1.5))
	all := func(o Options) (out []float64) {
		for _, v := range released(t, o).Evidence.Vectors {
			out = append(out, v...)
		}
		return out
	}
	first := all(o)
	for name, change := range map[string]func(*Options){
		"another σ":         func(o *Options) { o.Sums.Sigma = 3 },
		"another step":      func(o *Options) { o.Sums.Step = 7 },
		"another size":      func(o *Options) { o.Sums.Size = 7 },
		"another adjacency": func(o *Options) { o.Sums.Adjacency = privacy.ReplaceOne },
		"more sums":         func(o *Options) { o.Sums.Sums = 5 },
		"one sum":           func(o *Options) { o.Sums.Sums, o.Sums.Step = 1, 0 },
		"more records each": func(o *Options) { o.Sums.Each = 2 },
		"fewer parts":       func(o *Options) { o.Parts = 1 },
		"other labels":      func(o *Options) { o.Task.Labels = append([]string{"another"}, labels(9)...) },
		"other aliases":     func(o *Options) { o.Task.Aliases = nil },
		"another key":       func(o *Options) { o.Key = noise.KeyFromSeed(2) },
	} {
		other := o
		change(&other)
		if c := correlation(first, all(other)); math.Abs(c) > 7/math.Sqrt(float64(len(first))) {
			t.Errorf("%s: a correlation of %v with what was released", name, c)
		}
	}
	if c := correlation(first, all(o)); math.Abs(c-1) > 1e-9 {
		t.Errorf("the same again has a correlation of %v", c)
	}
}

// TestUnitsHaveRandomnessOfTheirOwn: no two units choose records with the same, nor with that of the noise.
func TestUnitsHaveRandomnessOfTheirOwn(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	data := newScene(3, 3)
	for part := range 3 {
		for range 40 {
			data.unit(part, data.record("label 0", normal(3, random)), data.record("label 1", normal(3, random)))
		}
	}
	data.pool.seeds = map[string]uint64{}
	s := settings(4, 1)
	s.Each = 3
	o := data.options(t, 2, s)
	released(t, o)
	key, err := summer(t, o).key()
	if err != nil {
		t.Fatal(err)
	}
	used := map[uint64]string{}
	for at := range uint64(s.Sums) {
		used[key.Stream("noise", at).Uint64()] = "noise"
	}
	if len(used) != int(s.Sums) {
		t.Error("sums share noise")
	}
	for name, x := range data.pool.seeds {
		if used[x] != "" {
			t.Errorf("%s has the randomness of %s", name, used[x])
		}
		used[x] = name
	}
	if len(data.pool.seeds) != 120 {
		t.Errorf("%d units were asked", len(data.pool.seeds))
	}
}

// TestEachRecordMayBeAsked: a unit of two records that are opposites has both asked in the end, over keys.
func TestEachRecordMayBeAsked(t *testing.T) {
	data := newScene(2, 1)
	data.unit(0, data.record("label 0", axis(2, 0, 1)), data.record("label 0", axis(2, 0, -1)))
	o := data.options(t, 2, settings(1, 1e-6))
	signs := map[bool]int{}
	for seed := range 100 { // all alike has a probability of 2^-99
		o.Key = noise.KeyFromSeed(uint64(seed))
		signs[released(t, o).Evidence.Vectors[0][0] > 0]++
	}
	if len(signs) != 2 {
		t.Errorf("%v", signs)
	}
}

// TestSecrecy: errors hold no content, and nothing comes with them.
func TestSecrecy(t *testing.T) {
	nan := float32(math.NaN())
	for name, spoil := range map[string]func([][]float32) [][]float32{
		"a vector that is too long":  func(v [][]float32) [][]float32 { v[1] = []float32{2, 0, 0}; return v },
		"one that is too short":      func(v [][]float32) [][]float32 { v[1] = []float32{0.5, 0, 0}; return v },
		"no number":                  func(v [][]float32) [][]float32 { v[1] = []float32{1, nan, 0}; return v },
		"another dimension":          func(v [][]float32) [][]float32 { v[1] = []float32{1, 0}; return v },
		"a larger dimension":         func(v [][]float32) [][]float32 { v[1] = []float32{1, 0, 0, 0}; return v },
		"no vector":                  func(v [][]float32) [][]float32 { v[1] = nil; return v },
		"fewer vectors":              func(v [][]float32) [][]float32 { return v[:1] },
		"more vectors":               func(v [][]float32) [][]float32 { return append(v, v[0]) },
		"no vectors where some were": func([][]float32) [][]float32 { return nil },
	} {
		for _, sums := range []int64{1, 4} {
			data := newScene(3, 1)
			for range 2 {
				data.encoder.known[canary] = axis(3, 0, 1)
				data.n++
				data.unit(0, seal.NewRecord(data.n, canary, canary))
			}
			data.encoder.spoil = spoil
			out, err := summer(t, data.options(t, 2, settings(sums, 1))).Evidence(t.Context())
			silent(t, name, err)
			if out.Evidence.Vectors != nil || out.Event != nil {
				t.Errorf("%s: something comes with the error", name)
			}
		}
	}
}

// TestProgressIsHeard: the caller is told how many units were encoded, again and again within a part, up to all.
func TestProgressIsHeard(t *testing.T) {
	data, records := crowd(1, 1)
	for len(data.pool.parts[0]) < 200*runtime.GOMAXPROCS(0) {
		data.pool.parts[0] = append(data.pool.parts[0], data.pool.parts[0]...)
	}
	data.pool.parts = append(data.pool.parts, nil)
	all := int64(len(data.pool.parts[0]) + len(data.pool.parts[1]))
	o := data.options(t, 3, settings(1, 1))
	var counts []int64
	o.Encoded = func(n int64) { counts = append(counts, n) }
	released(t, o)
	expect.True(t, "len(records) is not 0", len(records) != 0, len(records))
	expect.Min(t, "len(counts)", len(counts), 4)
	expect.True(t, "slices.IsSorted(counts)", slices.IsSorted(counts), counts)
	expect.Equal(t, "counts[len(counts)-1]", counts[len(counts)-1], all)
}
