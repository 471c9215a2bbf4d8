package reconstruct

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// TestPlainLargest: the largest estimate works, in the memory that it says.
func TestPlainLargest(t *testing.T) {
	n, err := NewCounts(Channel{Domains: []int{1 << 12, 1 << 12}, Keep: []float64{0.5, 0.75}})
	if err != nil {
		t.Fatal(err)
	}
	n.cells[0], n.cells[1], n.cells[1<<12], n.cells[maxCells-1] = 700, 100, 100, 100
	n.rows = 1000
	e, err := IBU(context.Background(), n, IBUOptions{Iterations: 1})
	if err != nil {
		t.Fatal(err)
	}
	check := func(cells []float64) {
		t.Helper()
		sum := 0.
		for _, v := range cells {
			sum += v
		}
		if slices.Max(cells) != cells[0] || math.Abs(sum-1) > 1e-9 {
			t.Errorf("cell 0 has %v of %v", cells[0], sum)
		}
	}
	check(e.Cells)
	e = nil
	inverse, err := Inverse(n)
	if err != nil {
		t.Fatal(err)
	}
	check(inverse.Cells)
}

// TestMemory: an estimate takes as many bytes a cell as its comment says.
func TestMemory(t *testing.T) {
	n := observe(even(15, 10), population(15), 5_000, rand.New(rand.NewPCG(1, 2)))
	for want, o := range map[float64]IBUOptions{24: {Iterations: 5}, 32: {MaxEvaluations: 10}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := IBU(context.Background(), n, o); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		// Another array would take 8; goroutines and the like are some 100 kB.
		if used := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(n.cells)); used > want+6 {
			t.Errorf("it took %.1f bytes a cell, want %v", used, want)
		}
	}
}
