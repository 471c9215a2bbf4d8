package private

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/privacy/noise"
)

func distance(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum)
}

// someRows draws a table of the mixed schema: few distinct values, so that rows repeat and
// classes can be distinguished, and extreme ones.
func someRows(t *rapid.T, classes int, discrete bool) rows {
	value := rapid.SampledFrom([]int32{-table.Steps, -1, 0, 12345, table.Steps / 2, table.Steps})
	r := rows{s: mixed(classes), discrete: discrete, size: rapid.IntRange(0, 7).Draw(t, "batch")}
	for range rapid.IntRange(1, 40).Draw(t, "rows") {
		d := value.Draw(t, "d")
		if discrete {
			d = rapid.Int32Range(0, 2).Draw(t, "d")
		}
		r.values = append(r.values, []int32{
			value.Draw(t, "x0"), value.Draw(t, "x1"), rapid.Int32Range(0, int32(classes-1)).Draw(t, "y"),
			rapid.Int32Range(0, 2).Draw(t, "c"), d,
		})
	}
	return r
}

// TestRemovingAnyRow: what is noised moves by at most what was declared, whichever row
// goes.
func TestRemovingAnyRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(2, 3).Draw(t, "classes")
		s := Settings{
			Size: 100, Multiplier: 1, Ridge: rapid.SampledFrom([]float64{1e-3, 0.1, 1, 30}).Draw(t, "ridge"),
			Discrete: rapid.Bool().Draw(t, "discrete"),
		}
		r := someRows(t, classes, s.Discrete)
		all := minimum(t, r, s)
		gone := rapid.IntRange(0, len(r.values)-1).Draw(t, "gone")
		_, p := problemOf(t, r, s)
		if moved := distance(all, minimum(t, r.without(gone, gone+1), s)); moved > p.sensitivity {
			t.Fatalf("a row moves the coefficients by %v, declared %v", moved, p.sensitivity)
		}
	})
}

// worst is a table in which the last row is as wrong as can be, and where nothing but the
// ridge holds the coefficients that it moves: many columns, and rows that each speak of one
// of them. Mirrored rows keep the constant at 0.
func worst(classes, columns int, ridge float64) rows {
	r := rows{s: numbers(columns, classes)}
	add := func(sign int32, class int32, of ...int) {
		row := make([]int32, columns+1)
		for _, c := range of {
			row[c] = sign * table.Steps
		}
		row[columns] = class
		r.values = append(r.values, row)
	}
	all := make([]int, columns)
	for c := range columns {
		all[c] = c
		for range int(5 * ridge) {
			add(1, 0, c)
			add(-1, 1, c)
		}
	}
	add(1, 1, all...)
	return r
}

// TestTheBoundIsTight: there are tables where a row does nearly what it is declared to do,
// so that a smaller constant would be wrong, and would be found out.
func TestTheBoundIsTight(t *testing.T) {
	for _, classes := range []int{2, 3} {
		s := Settings{Size: 100, Multiplier: 1, Ridge: 1}
		r := worst(classes, 60/(classes-1), s.Ridge)
		_, p := problemOf(t, r, s)
		n := len(r.values)
		moved := distance(minimum(t, r, s), minimum(t, r.without(n-1, n), s)) / p.sensitivity
		t.Logf("%d classes: %.3f of what is declared", classes, moved)
		if moved > 1 || moved < 0.85 {
			t.Errorf("with %d classes a row does %.3f of what is declared", classes, moved)
		}
	}
}

// TestCertificate: where the solver stops is as near the minimum as the proof needs, by
// Newton's method and by plain descent.
func TestCertificate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Settings{Size: 100, Multiplier: 1, Ridge: rapid.SampledFrom([]float64{0.5, 5}).Draw(t, "ridge")}
		r := someRows(t, rapid.IntRange(2, 3).Draw(t, "classes"), false)
		if len(r.s.Columns[2].Values) == 2 && rapid.Bool().Draw(t, "objective") {
			s = objective(s, 2)
		}
		problem, p := problemOf(t, r, s)
		if s.Method == Objective {
			var err error
			if problem.Linear, err = s.linear(noise.KeyFromSeed(rapid.Uint64().Draw(t, "seed")), p.size); err != nil {
				t.Fatal(err)
			}
		}
		exact, err := problem.Newton(context.Background(), 1e-12, 100)
		if err != nil {
			t.Fatal(err)
		}
		smooth := p
		smooth.limits.Rows = float64(problem.Rows) // fewer steps, and still a bound
		for _, steps := range []int{newtonSteps, 0} {
			got, err := minimise(context.Background(), problem, smooth, steps)
			if err != nil {
				t.Fatal(err)
			}
			if off := distance(got, exact.Theta); off > p.tolerance/s.Ridge+1e-9 {
				t.Fatalf("%d steps of Newton's method: off by %v, allowed %v", steps, off, p.tolerance/s.Ridge)
			}
		}
	})
}

// TestEntries: features have a norm of at most 1 whatever the row is, in exact arithmetic,
// and not much less.
func TestEntries(t *testing.T) {
	for m := 1; m < 3000; m = m*5/4 + 1 {
		s := entry(m)
		if below := float64(m) * s * s; below < 1-1e-12 {
			t.Errorf("%d entries of %v have a squared norm of %v", m, s, below)
		}
		if float64(s/table.Steps)*table.Steps != s {
			t.Errorf("the largest number of steps is not %v", s)
		}
	}
	// 1/√3 rounded to nearest is fine, but of 5, 6, 7, ... some round up.
	up := 0
	for m := 1; m < 200; m++ {
		if entry(m) < math.Sqrt(1/float64(m)) {
			up++
		}
	}
	if up == 0 {
		t.Error("no entry had to be rounded down: is that looked at?")
	}
}
