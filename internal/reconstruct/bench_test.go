package reconstruct

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func many(columns, values int) Channel {
	var c Channel
	for range columns {
		c.Domains, c.Keep = append(c.Domains, values), append(c.Keep, 0.6)
	}
	return c
}

func random(c Channel, rows int) *Counts {
	n, err := NewCounts(c)
	if err != nil {
		panic(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range rows {
		// A few kinds of rows, and noise.
		cell := r.IntN(len(n.cells))
		if r.IntN(2) == 0 {
			cell = r.IntN(64) * (len(n.cells) / 64)
		}
		n.cells[cell]++
	}
	n.rows = int64(rows)
	return n
}

// BenchmarkApply prints what a cell and axis cost: the same at every size, if time is
// linear in F·Πd.
func BenchmarkApply(b *testing.B) {
	for _, c := range []Channel{many(10, 2), many(14, 2), many(20, 2), many(10, 4), many(4, 32), many(24, 2)} {
		b.Run(fmt.Sprintf("%dx%d", len(c.Domains), c.Domains[0]), func(b *testing.B) {
			x := make([]float64, c.Cells())
			x[0] = 1
			axes := c.axes()
			for b.Loop() {
				apply(x, axes)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)*len(axes)), "ns/cell/axis")
		})
	}
}

// BenchmarkInverse is the estimate, from counts to cells.
func BenchmarkInverse(b *testing.B) {
	n := random(many(10, 4), 100_000)
	for b.Loop() {
		if _, err := Inverse(n); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIBU is one evaluation of the update.
func BenchmarkIBU(b *testing.B) {
	for _, c := range []Channel{many(10, 4), many(20, 2)} {
		b.Run(fmt.Sprintf("%dx%d", len(c.Domains), c.Domains[0]), func(b *testing.B) {
			n := random(c, 100_000)
			up := begun(n)
			for b.Loop() {
				up.move()
				up.evaluate()
			}
		})
	}
}

// BenchmarkValidated is the default estimate of 2^20 cells.
func BenchmarkValidated(b *testing.B) {
	n := random(many(10, 4), 100_000)
	for b.Loop() {
		e, err := IBU(context.Background(), n, IBUOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(e.Iterations), "iterations")
	}
}

// BenchmarkDense compares the inverse with a solve of the full system, at 2^10 cells.
func BenchmarkDense(b *testing.B) {
	c := many(10, 2)
	n := random(c, 100_000)
	var dense, axes time.Duration
	for b.Loop() {
		m, shares := matrix(c.axes()), n.shares()
		start := time.Now()
		solve(m, shares)
		dense += time.Since(start)
		start = time.Now()
		const often = 100
		for range often {
			if _, err := unbiased(n); err != nil {
				b.Fatal(err)
			}
		}
		axes += time.Since(start) / often
	}
	b.ReportMetric(dense.Seconds()/axes.Seconds(), "times-faster")
}
