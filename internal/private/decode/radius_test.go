package decode

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestRadiusAsPublished holds the aggregation on integers against one in floating point
// that was written from the paper (testdata/radius.py), on the same vectors and noise.
func TestRadiusAsPublished(t *testing.T) {
	raw, err := os.ReadFile("testdata/radius.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Points          [][]float64
			S0, S1, S2, Lam float64
			Rounds          int
			Noise           struct {
				Search, Coverage []float64
				Means            [][]float64
			}
			Want struct {
				Target, Radius float64
				Mean           []float64
				Pick           int
				End            string
			}
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	ends := map[string]int{}
	for i, c := range file.Cases {
		r := &Radius{Draw: oneEach(len(c.Points)), Sigma0: c.S0, Sigma1: c.S1, Sigma2: c.S2, Lambda: c.Lam, Rounds: c.Rounds}
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		v := View{Public: make([]float64, len(c.Points[0]))}
		for _, p := range c.Points {
			logs := make([]float64, len(p))
			for k, x := range p {
				logs[k] = math.Log(x)
			}
			v.Prompts = append(v.Prompts, logs)
		}
		var radius float64
		var last []int64
		searched, means, covers := 0, 0, 0
		ask := func(q mechanism.Query) error {
			var z []float64
			switch {
			case searched < len(c.Noise.Search):
				z = c.Noise.Search[searched : searched+1]
				searched++
			case len(q.Values) == 1:
				z = c.Noise.Coverage[covers : covers+1]
				covers++
			default:
				z = c.Noise.Means[means]
				means++
				radius, last = math.Ldexp(q.Sensitivity/2, -mass), q.Values
			}
			for k := range q.Values {
				q.Values[k] += int64(math.Round(z[k] * q.Sigma * q.Sensitivity))
			}
			return nil
		}
		cloud := newCloud(v)
		target, err := r.search(cloud, ask)
		if err != nil {
			t.Fatal(err)
		}
		if got := math.Ldexp(float64(target), -mass); math.Abs(got-c.Want.Target) > 1e-7 {
			t.Errorf("case %d: r is %v, not %v", i, got, c.Want.Target)
			continue
		}
		pick, err := r.refine(cloud, target, ask)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(radius-c.Want.Radius) > 1e-7 || pick != c.Want.Pick {
			t.Errorf("case %d: picks %d in a ball of %v, not %d in %v", i, pick, radius, c.Want.Pick, c.Want.Radius)
		}
		for k, x := range normalise(last) {
			if got := math.Ldexp(float64(x), -mass); math.Abs(got-c.Want.Mean[k]) > 1e-6 {
				t.Errorf("case %d: entry %d of the mean is %v, not %v", i, k, got, c.Want.Mean[k])
			}
		}
		ends[c.Want.End]++
	}
	at := expect.At(t, "the cases do not end in all ways")
	expect.True(at, "ends[\"rounds\"] is not 0", ends["rounds"] != 0, ends["rounds"])
	expect.True(at, "ends[\"coverage\"] is not 0", ends["coverage"] != 0, ends["coverage"])
	expect.True(at, "ends[\"wide\"] is not 0", ends["wide"] != 0, ends["wide"])
}

func points(k int) *rapid.Generator[[]int64] {
	return rapid.Custom(func(t *rapid.T) []int64 { return probabilities(vectors(k).Draw(t, "scores"), nil) })
}

// TestIntoTheBall: a projected point is in the ball, in exact arithmetic, and one that
// was in it stays.
func TestIntoTheBall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 50).Draw(t, "candidates")
		p, centre := points(k).Draw(t, "point"), points(k).Draw(t, "centre")
		radius := rapid.Int64Range(0, wide).Draw(t, "radius")
		moved := into(p, centre, radius, nil)
		length := func(q []int64) *big.Int {
			sum := new(big.Int)
			for i, x := range q {
				d := big.NewInt(x - centre[i])
				sum.Add(sum, d.Mul(d, d))
			}
			return sum
		}
		square := new(big.Int).Mul(big.NewInt(radius), big.NewInt(radius))
		if length(moved).Cmp(square) > 0 {
			t.Fatalf("left outside: %v of %v", length(moved), square)
		}
		if length(p).Cmp(square) <= 0 && !slices.Equal(moved, p) {
			t.Fatal("moved from inside")
		}
		if exact := length(p); !exact.IsInt64() || exact.Int64() != apart(p, centre) {
			t.Fatalf("a squared distance of %v is taken for %v", exact, apart(p, centre))
		}
	})
}

// TestAgreement counts with prompts that have no record as one point of many, and
// compares with every prompt by itself.
func TestAgreement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 4).Draw(t, "candidates")
		v := View{Public: vectors(k).Draw(t, "public"), Empty: rapid.IntRange(0, 4).Draw(t, "empty")}
		for range rapid.IntRange(1, 5).Draw(t, "prompts") {
			v.Prompts = append(v.Prompts, vectors(k).Draw(t, "prompt"))
		}
		each := View{Public: v.Public, Prompts: slices.Clone(v.Prompts)}
		for range v.Empty {
			each.Prompts = append(each.Prompts, v.Public)
		}
		a, b := newCloud(v), newCloud(each)
		radius := rapid.Int64Range(0, wide).Draw(t, "radius")
		limit := rapid.Int64Range(1, a.size).Draw(t, "t")
		centre := points(k).Draw(t, "centre")
		at := expect.At(t, "a point that is there several times is not as good as several points")
		expect.Equal(at, "a.size", a.size, b.size)
		expect.Equal(at, "a.agreement(radius, limit)", a.agreement(radius, limit), b.agreement(radius, limit))
		expect.Equal(at, "a.covered(centre, radius)", a.covered(centre, radius), b.covered(centre, radius))
		expect.True(at, "a.sum() equal to b.sum()", slices.Equal(a.sum(), b.sum()), a.sum(), b.sum())
		expect.True(at, "a.projected(centre, radius) equal to b.projected(centre, radius)", slices.Equal(a.projected(centre, radius), b.projected(centre, radius)), a.projected(centre, radius), b.projected(centre, radius))
		if !slices.Equal(a.sum(), sumOf(v, probabilities)) {
			t.Fatal("the points do not add up to the sum of the prompts")
		}
		var counts []int64
		for _, p := range b.points {
			n := int64(0)
			for _, q := range b.points {
				if apart(p, q) <= radius*radius {
					n++
				}
			}
			counts = append(counts, min(n, limit))
		}
		slices.Sort(counts)
		want := int64(0)
		for _, n := range counts[int64(len(counts))-limit:] {
			want += n
		}
		if got := b.agreement(radius, limit); got != want {
			t.Fatalf("an agreement of %d, not %d", got, want)
		}
	})
}

func TestNormalise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		noisy := rapid.SliceOfN(rapid.Int64Range(-1<<50, 1<<50), 1, 40).Draw(t, "noisy")
		sum := int64(0)
		for i, x := range normalise(noisy) {
			if x < 0 || noisy[i] > 0 && x == 0 && noisy[i] > 1<<49 {
				t.Fatalf("entry %d becomes %d", i, x)
			}
			sum += x
		}
		if sum > 1<<mass || sum < 1<<mass-int64(len(noisy)) {
			t.Fatalf("adds up to %d", sum)
		}
	})
}

func TestRootUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.OneOf(rapid.Int64Range(0, 1<<62), rapid.Map(rapid.Int64Range(1, 1<<31), func(s int64) int64 { return s*s - 1 + s%3 })).Draw(t, "x")
		s := rootUp(x)
		if s*s < x || s > 0 && (s-1)*(s-1) >= x {
			t.Fatalf("√%d is not %d", x, s)
		}
	})
}

func TestRadiusAsksWhatItDeclares(t *testing.T) {
	r := &Radius{Draw: oneEach(4), Sigma0: 1, Sigma1: 1, Sigma2: 1, Rounds: 3}
	same := []float64{math.Log(0.7), math.Log(0.3)}
	v := View{Public: same, Prompts: [][]float64{same, same}, Empty: 2}
	asked := 0
	if _, err := r.pick(newCloud(v), func(mechanism.Query) error { asked++; return nil }); err != nil {
		t.Fatal(err)
	}
	// All agree, so every round shrinks: 6 searches, 4 sums and 3 coverages.
	if asked != 13 {
		t.Errorf("%d questions", asked)
	}
	broken := errors.New("no noise")
	for at := range asked {
		n := 0
		_, err := r.pick(newCloud(v), func(mechanism.Query) error {
			if n++; n > at {
				return broken
			}
			return nil
		})
		if !errors.Is(err, broken) {
			t.Errorf("without an answer to question %d it continues", at)
		}
	}
	if _, err := r.Select(v, noise.KeyFromSeed(1).Stream("pick")); err != nil {
		t.Error(err)
	}
}
