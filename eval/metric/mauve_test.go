package metric

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAreasOfNumPy: frontiers.json is made by testdata/reference.py.
func TestAreasOfNumPy(t *testing.T) {
	data, err := os.ReadFile("testdata/frontiers.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Items []struct {
			P, Q        []float64
			Scale, Area float64
		}
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Items) < 40 {
		t.Fatalf("the fixture has %d items", len(f.Items))
	}
	for i, item := range f.Items {
		if got := area(item.P, item.Q, item.Scale); math.Abs(got-item.Area) > 1e-10 {
			t.Errorf("frontier %d: %v, want %v", i, got, item.Area)
		}
	}
}

func TestKnownAreas(t *testing.T) {
	half := []float64{0.5, 0.5, 0}
	if got := area(half, half, 5); math.Abs(got-1) > 1e-12 {
		t.Errorf("the same distribution: %v", got)
	}
	// Without a common cluster the curve is ((1−λ)^c, λ^c), over which the integral is
	// c·B(c+1, c) = 1/252 for c = 5 and 1/2 for c = 1.
	for scale, want := range map[float64]float64{5: 1. / 252, 1: 1. / 2} {
		if got := area(half, []float64{0, 0, 1}, scale); math.Abs(got-want) > 1e-4 {
			t.Errorf("nothing in common, scale %v: %v, want %v", scale, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "clusters")
		draw := func(name string) []float64 {
			in := rapid.SliceOfN(rapid.IntRange(0, n-1), 1, 30).Draw(t, name)
			return histogram(in, n)
		}
		p, q := draw("p"), draw("q")
		forth, back := area(p, q, 5), area(q, p, 5)
		if !(forth >= 1./252-1e-3 && forth <= 1+1e-12) || math.Abs(forth-back) > 1e-9 {
			t.Fatalf("%v one way, %v the other", forth, back)
		}
		closer := make([]float64, n)
		for k := range closer {
			closer[k] = (p[k] + q[k]) / 2
		}
		if area(p, closer, 5) < forth-1e-9 {
			t.Fatalf("closer by half: %v, before %v", area(p, closer, 5), forth)
		}
	})
}

// blobs has texts "c.i" around centre c, far from each other: in clusters no two of
// which any good clustering takes for one.
func blobs(sizes ...int) (*flat, []string, []int) {
	f := &flat{vectors: map[string][]float32{}}
	random := rand.New(rand.NewPCG(9, 9))
	var texts []string
	var in []int
	for c, n := range sizes {
		for i := range n {
			text := fmt.Sprintf("%d.%d", c, i)
			angle := 2 * math.Pi * (float64(c) + 0.1*random.Float64()) / float64(len(sizes))
			f.vectors[text] = []float32{float32(math.Cos(angle)), float32(math.Sin(angle))}
			texts, in = append(texts, text), append(in, c)
		}
	}
	return f, texts, in
}

func TestCluster(t *testing.T) {
	f, texts, want := blobs(30, 5, 12, 40)
	vectors, _ := f.Embed(context.Background(), texts)
	for seed := range uint64(20) {
		got, err := cluster(context.Background(), vectors, 4, seed)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			for j := range got {
				if (got[i] == got[j]) != (want[i] == want[j]) {
					t.Fatalf("seed %d: texts %s and %s", seed, texts[i], texts[j])
				}
			}
		}
		again, _ := cluster(context.Background(), vectors, 4, seed)
		if !slices.Equal(got, again) {
			t.Fatal("the same seed gives another clustering")
		}
	}
	// As many clusters as texts, and more of them than different vectors.
	same := slices.Repeat([][]float32{{1, 0}}, 5)
	if got, err := cluster(context.Background(), same, 5, 1); err != nil || slices.Max(got) != 0 {
		t.Errorf("equal vectors: %v, %v", got, err)
	}
}

// TestSpread: where texts have four vectors in all, four centres are these, since a
// vector that is a centre already has no chance.
func TestSpread(t *testing.T) {
	vectors := slices.Repeat([][]float32{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}, 10)
	for seed := range uint64(50) {
		centres := spread(vectors, 4, rand.New(rand.NewPCG(seed, 0)))
		slices.SortFunc(centres, slices.Compare)
		if len(slices.CompactFunc(centres, slices.Equal)) != 4 {
			t.Fatalf("seed %d: centres %v", seed, centres)
		}
	}
}

func TestMauve(t *testing.T) {
	ctx := context.Background()
	f, texts, _ := blobs(40, 40, 40)
	first, second, third := texts[:40], texts[40:80], texts[80:]
	mixed := func(a, b, c int) []string { return slices.Concat(first[:a], second[:b], third[:c]) }
	o := MauveOptions{Clusters: 3, Seed: 3}
	for _, c := range []struct {
		a, b []string
		want float64
	}{
		{mixed(20, 10, 10), mixed(20, 10, 10), 1},
		{mixed(20, 10, 10), mixed(20, 20, 0), area([]float64{0.5, 0.25, 0.25}, []float64{0.5, 0.5, 0}, 5)},
		{mixed(40, 0, 0), mixed(0, 20, 20), 1. / 252},
	} {
		got, err := Mauve(ctx, f, c.a, c.b, o)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Value-c.want) > 1e-4 || got.Name != "mauve (flat, 3 clusters, scale 5)" {
			t.Errorf("%+v, want %v", got, c.want)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for name, c := range map[string]struct {
		err  func() error
		want string
	}{
		"encoder":   {func() error { _, err := Mauve(ctx, nil, first, second, o); return err }, "needs an encoder"},
		"empty":     {func() error { _, err := Mauve(ctx, f, nil, second, o); return err }, "0 and 40 texts"},
		"clusters":  {func() error { _, err := Mauve(ctx, f, first, second, MauveOptions{Clusters: 81}); return err }, "81 clusters"},
		"scale":     {func() error { _, err := Mauve(ctx, f, first, second, MauveOptions{Scale: -1}); return err }, "positive"},
		"vectors":   {func() error { _, err := Mauve(ctx, f, []string{"?"}, second, o); return err }, "another encoder"},
		"cancelled": {func() error { _, err := Mauve(cancelled, f, first, second, o); return err }, "cancel"},
	} {
		if err := c.err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
