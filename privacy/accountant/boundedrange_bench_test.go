package accountant

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// brReference returns the algorithm of the specification's reference program: each cell of
// t is covered by the wider two-point pair. Losses within ±span.
func brReference(c float64, steps, m int, span float64) (eps, delta []float64) {
	h := c / float64(m)
	n := int(min(float64(steps)*(c+h), span)/h) + m + 2
	size := 2*n + 1
	w, next := make([]float64, size+2*m), make([]float64, size+2*m)
	for i := range size {
		w[m+i] = max(0, -math.Expm1(-float64(i-n)*h))
	}
	mass := make([]float64, m)
	for j := range mass {
		a, b := float64(j+1)*h, float64(m-j)*h
		mass[j] = math.Expm1(-b) / math.Expm1(-a-b)
	}
	for range steps {
		for i := range m {
			w[i], w[m+size+i] = w[m], 1
		}
		out := next[m : m+size]
		clear(out)
		for j, p := range mass {
			up, down := w[m+j+1:][:size], w[j:][:size]
			for i := range out {
				if v := p*up[i] + (1-p)*down[i]; v > out[i] {
					out[i] = v
				}
			}
		}
		w, next = next, w
	}
	for i := range size {
		eps = append(eps, float64(i-n)*h)
		delta = append(delta, min(1, w[m+size-1-i]))
	}
	return eps, delta
}

// The ratio is against the reference algorithm at m = 100, whose ε is about 1 %
// too large; ours is known to 5e-4.
func BenchmarkBoundedRangeProfile(b *testing.B) {
	for _, k := range []struct {
		c     float64
		steps int64
	}{{0.38, 60}, {0.2, 200}, {0.1, 1000}} {
		b.Run(fmt.Sprintf("T=%d", k.steps), func(b *testing.B) {
			var p *brProfile
			for b.Loop() {
				p, _ = newBRProfile(k.c, k.steps, 0)
			}
			ours := b.Elapsed().Seconds() / float64(b.N)
			b.StopTimer()
			start := time.Now()
			eps, delta := brReference(k.c, int(k.steps), 100, 40)
			b.ReportMetric(time.Since(start).Seconds()/ours, "x-faster-than-reference")
			lo, hi := p.epsilon(1e-6)
			b.ReportMetric((hi-lo)/hi, "relative-width")
			for i := range eps {
				if delta[i] <= 1e-6 {
					b.ReportMetric(eps[i]/hi-1, "reference-excess")
					break
				}
			}
		})
	}
}
