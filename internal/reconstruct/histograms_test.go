package reconstruct

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"pgregory.net/rapid"
)

// TestFromHistograms: counts without noise come back as the shares that they are.
func TestFromHistograms(t *testing.T) {
	h := Histograms{Columns: 3, Label: 1, Rows: []float64{30, 10}, Counts: [][][]float64{
		{{12, 18}, nil, {6, 9, 15}},
		{{10, 0}, nil, {2, 3, 5}},
	}}
	got, err := FromHistograms(h)
	if err != nil {
		t.Fatal(err)
	}
	want := []*Estimate{
		{Columns: []int{1, 0}, Domains: []int{2, 2}, Cells: []float64{0.3, 0.45, 0.25, 0}},
		{Columns: []int{1, 2}, Domains: []int{2, 3}, Cells: []float64{0.15, 0.225, 0.375, 0.05, 0.075, 0.125}},
	}
	if len(got) != len(want) {
		t.Fatalf("%d estimates", len(got))
	}
	for i, e := range got {
		same := slices.EqualFunc(e.Cells, want[i].Cells, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
		expect.True(t, "same", same)
		expect.True(t, "e.Columns equal to want[i].Columns", slices.Equal(e.Columns, want[i].Columns), e.Columns, want[i].Columns)
		expect.True(t, "e.Domains equal to want[i].Domains", slices.Equal(e.Domains, want[i].Domains), e.Domains, want[i].Domains)
		expect.Equal(t, "e.Rows", e.Rows, 40)
		expect.Equal(t, "e.Method", e.Method, methodHistograms)
	}
	h = Histograms{Columns: 1, Rows: []float64{3, 1}, Counts: [][][]float64{{nil}, {nil}}}
	got, err = FromHistograms(h)
	at := expect.At(t, "of the label alone")
	expect.NoError(at, err)
	expect.Len(at, "got", got, 1)
	expect.True(at, "got[0].Cells equal to []float64{0.75, 0.25}", slices.Equal(got[0].Cells, []float64{0.75, 0.25}), got[0].Cells, []float64{0.75, 0.25})
}

// TestFromHistogramsNoise: whatever the counts are, what comes out is a distribution in which
// the label has the same shares everywhere, and it can be drawn from.
func TestFromHistogramsNoise(t *testing.T) {
	count := rapid.OneOf(rapid.SampledFrom([]float64{0, -1, 1e-300, 1 << 62, -(1 << 62)}), rapid.Float64Range(-100, 1000))
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.IntRange(1, 3).Draw(t, "labels")
		h := Histograms{Columns: 3, Label: rapid.IntRange(0, 2).Draw(t, "label")}
		domains := []int{1, 2, 5}
		domains[h.Label] = labels
		positive := 0.
		for range labels {
			rows := count.Draw(t, "rows")
			positive += max(0, rows)
			var columns [][]float64
			for _, d := range domains {
				columns = append(columns, rapid.SliceOfN(count, d, d).Draw(t, "counts"))
			}
			h.Rows, h.Counts = append(h.Rows, rows), append(h.Counts, columns)
		}
		got, err := FromHistograms(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got {
			if err := e.Check(); err != nil {
				t.Fatal(err)
			}
			shares, err := e.Marginal(h.Label)
			if err != nil {
				t.Fatal(err)
			}
			for y, p := range shares.Cells {
				want := 1 / float64(labels)
				if positive > 0 {
					want = max(0, h.Rows[y]) / positive
				}
				if math.Abs(p-want) > 1e-9 {
					t.Fatalf("label %d of %v has a share of %v", y, h.Rows, p)
				}
			}
		}
		if _, err := NewSampler(3, got...); err != nil {
			t.Fatal(err)
		}
	})
}

func TestFromHistogramsRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		h    Histograms
		want string
	}{
		"nothing":         {Histograms{}, "do not fit"},
		"label":           {Histograms{Columns: 2, Label: 2, Rows: []float64{1}, Counts: [][][]float64{{{1}, {1}}}}, "do not fit"},
		"labels":          {Histograms{Columns: 2, Rows: []float64{1, 2}, Counts: [][][]float64{{nil, {1}}}}, "do not fit"},
		"columns":         {Histograms{Columns: 2, Rows: []float64{1}, Counts: [][][]float64{{nil}}}, "1 columns instead of 2"},
		"no values":       {Histograms{Columns: 2, Rows: []float64{1}, Counts: [][][]float64{{nil, {}}}}, "column number 2"},
		"other values":    {Histograms{Columns: 2, Rows: []float64{1, 1}, Counts: [][][]float64{{nil, {1}}, {nil, {1, 2}}}}, "column number 2"},
		"not a number":    {Histograms{Columns: 2, Rows: []float64{1}, Counts: [][][]float64{{nil, {math.NaN()}}}}, "not one"},
		"infinitely many": {Histograms{Columns: 2, Rows: []float64{math.Inf(1)}, Counts: [][][]float64{{nil, {1}}}}, "not one"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := FromHistograms(c.h); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
