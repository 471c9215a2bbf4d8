package reconstruct

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// matrix returns the Kronecker product of axes, built in full.
func matrix(axes []axis) [][]float64 {
	out := [][]float64{{1}}
	for _, a := range axes {
		size := len(out) * a.values
		next := make([][]float64, size)
		for i := range next {
			next[i] = make([]float64, size)
			for j := range next[i] {
				v := a.other
				if i%a.values == j%a.values {
					v = a.keep
				}
				next[i][j] = out[i/a.values][j/a.values] * v
			}
		}
		out = next
	}
	return out
}

// solve finds x with m·x = b by elimination with pivots. It is the slow way that the
// package does without. m and b are used up.
func solve(m [][]float64, b []float64) []float64 {
	n := len(b)
	for k := range n {
		pivot := k
		for i := k; i < n; i++ {
			if math.Abs(m[i][k]) > math.Abs(m[pivot][k]) {
				pivot = i
			}
		}
		m[k], m[pivot], b[k], b[pivot] = m[pivot], m[k], b[pivot], b[k]
		for i := k + 1; i < n; i++ {
			f := m[i][k] / m[k][k]
			row, top := m[i][k:], m[k][k:]
			for j, v := range top {
				row[j] -= f * v
			}
			b[i] -= f * b[k]
		}
	}
	for k := n - 1; k >= 0; k-- {
		for j := k + 1; j < n; j++ {
			b[k] -= m[k][j] * b[j]
		}
		b[k] /= m[k][k]
	}
	return b
}

func times(m [][]float64, x []float64) []float64 {
	out := make([]float64, len(m))
	for i, row := range m {
		for j, v := range row {
			out[i] += v * x[j]
		}
	}
	return out
}

// channels draws a small channel.
func channels(t *rapid.T) Channel {
	var c Channel
	cells := 1
	for range rapid.IntRange(1, 5).Draw(t, "columns") {
		d := rapid.IntRange(1, 5).Draw(t, "values")
		if cells *= d; cells > 60 {
			break
		}
		keep := 1.
		if d > 1 {
			e := math.Exp(rapid.Float64Range(0.2, 4).Draw(t, "ε"))
			keep = e / (e + float64(d-1))
		}
		c.Domains, c.Keep = append(c.Domains, d), append(c.Keep, keep)
	}
	return c
}

func counts(t *rapid.T, c Channel) *Counts {
	n, err := NewCounts(c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n.cells {
		n.cells[i] = rapid.Int64Range(0, 9).Draw(t, "count")
	}
	n.cells[0]++
	for _, v := range n.cells {
		n.rows += v
	}
	return n
}

func near(t rapid.TB, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d cells, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance) {
			t.Fatalf("%s: cell %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestAxesAreTheKroneckerProduct compares what is done axis by axis with the matrix: the
// channel itself, its inverse, and the errors.
func TestAxesAreTheKroneckerProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := channels(t)
		n := counts(t, c)
		m := matrix(c.axes())
		got := n.shares()
		apply(got, c.axes())
		near(t, "P·λ", got, times(m, n.shares()), 1e-12)

		want := solve(matrix(c.axes()), n.shares())
		got, err := unbiased(n)
		if err != nil {
			t.Fatal(err)
		}
		scale := 1.
		for _, a := range c.axes() {
			scale *= a.gain()
		}
		near(t, "P⁻¹·λ", got, want, 1e-11*scale)

		errors, err := Errors(n)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "errors", errors, denseErrors(m, n), 1e-8*scale)
	})
}

// denseErrors are square roots of the diagonal of P⁻¹·(diag λ − λλᵀ)·P⁻ᵀ/n.
func denseErrors(m [][]float64, c *Counts) []float64 {
	size := len(m)
	inverse := make([][]float64, size) // transposed, as m is symmetric it is the same
	for i := range inverse {
		unit := make([]float64, size)
		unit[i] = 1
		copied := make([][]float64, size)
		for j := range copied {
			copied[j] = append([]float64(nil), m[j]...)
		}
		inverse[i] = solve(copied, unit)
	}
	lambda := c.shares()
	out := make([]float64, size)
	for i, row := range inverse {
		second, mean := 0., 0.
		for j, v := range row {
			second += v * v * lambda[j]
			mean += v * lambda[j]
		}
		out[i] = math.Sqrt(max(0, second-mean*mean) / float64(c.rows))
	}
	return out
}

// TestApplyInParallel: large arrays, which are cut into pieces for all processors, come
// out as small ones do; with domains of odd sizes and of one value.
func TestApplyInParallel(t *testing.T) {
	for _, domains := range [][]int{{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, {3, 1, 5, 7, 11, 13, 2}, {1, 40_000}, {200, 1, 200}, {2, 30_000}} {
		var axes []axis
		size := 1
		for i, d := range domains {
			keep := 0.5 + 0.3/float64(i+1)
			a := axis{values: d, keep: 1}
			if d > 1 {
				a = axis{d, keep, (1 - keep) / float64(d-1)}
			}
			axes = append(axes, a)
			size *= d
		}
		r := rand.New(rand.NewPCG(1, 2))
		x := make([]float64, size)
		for i := range x {
			x[i] = r.Float64()
		}
		want := append([]float64(nil), x...)
		plain(want, axes)
		apply(x, axes)
		near(t, "parallel", x, want, 1e-12)
	}
}

// plain applies axes one by one to all of x: what is kept, and a share of all others.
func plain(x []float64, axes []axis) {
	inner := len(x)
	for _, a := range axes {
		block := inner
		inner /= a.values
		for at := range x {
			if at%block >= inner {
				continue
			}
			total := 0.
			for i := at; i < at+block; i += inner {
				total += x[i]
			}
			for i := at; i < at+block; i += inner {
				x[i] = a.keep*x[i] + a.other*(total-x[i])
			}
		}
	}
}
