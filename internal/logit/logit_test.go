package logit

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// made is a random problem: a constant, two discrete columns, one of steps and one of
// numbers.
func made(seed uint64, rows, classes int, weighted bool) *Problem {
	r := rand.New(rand.NewPCG(seed, 1))
	p := &Problem{Rows: rows, Width: 1 + 3 + 2 + 1 + 1, Outcomes: classes, Workers: 1, Pin: 1}
	if classes == 2 {
		p.Outcomes = 1
	}
	a, b := make([]uint16, rows), make([]uint16, rows)
	steps, numbers := make([]int32, rows), make([]float64, rows)
	for i := range rows {
		a[i], b[i] = uint16(r.IntN(3)), uint16(r.IntN(2))
		steps[i], numbers[i] = int32(r.IntN(2<<30)-1<<30), r.Float64()*2-1
		p.Classes = append(p.Classes, uint16(r.IntN(classes)))
		if weighted {
			p.Weights = append(p.Weights, r.Float64()*3)
		}
	}
	p.Columns = []Column{
		{Scale: 1},
		{Offset: 1, Codes: a, Scale: 0.5},
		{Offset: 4, Codes: b, Scale: 1},
		{Offset: 6, Steps: steps, Scale: 0x1p-30},
		{Offset: 7, Numbers: numbers, Scale: 0.25},
	}
	for range p.Width {
		p.Ridge = append(p.Ridge, 0.5+r.Float64())
	}
	return p
}

// plainly is the value by the definition, row by row.
func plainly(p *Problem, theta []float64) float64 {
	var value, shift float64
	for i := range p.Rows {
		x := make([]float64, p.Width)
		x[0] = p.Columns[0].Scale
		x[1+p.Columns[1].Codes[i]] = p.Columns[1].Scale
		x[4+p.Columns[2].Codes[i]] = p.Columns[2].Scale
		x[6] = p.Columns[3].Scale * float64(p.Columns[3].Steps[i])
		x[7] = p.Columns[4].Scale * p.Columns[4].Numbers[i]
		scores := []float64{0, 0}
		if p.Outcomes == 1 {
			scores[1] = dot(x, theta)
		} else {
			scores = nil
			for k := range p.Outcomes {
				scores = append(scores, dot(x, theta[k*p.Width:(k+1)*p.Width]))
			}
		}
		var sum float64
		for _, s := range scores {
			sum += math.Exp(s)
		}
		w := 1.0
		if p.Weights != nil {
			w = p.Weights[i]
		}
		value += w * (math.Log(sum) - scores[p.Classes[i]])
	}
	for i, t := range theta {
		value += p.Ridge[i%p.Width] * t * t / 2
		if i%p.Width == 0 {
			shift += t
		}
	}
	if p.Outcomes > 1 {
		value += p.Pin * shift * shift / 2
	}
	return value
}

// TestDerivatives compares the value with the definition, the gradient with differences of
// values, and second derivatives with differences of gradients.
func TestDerivatives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := made(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 60).Draw(t, "rows"),
			rapid.IntRange(2, 4).Draw(t, "classes"), rapid.Bool().Draw(t, "weighted"))
		n := p.Size()
		theta := make([]float64, n)
		for i := range theta {
			theta[i] = rapid.Float64Range(-2, 2).Draw(t, "θ")
		}
		gradient, second := make([]float64, n), make([]float64, n*n)
		value := p.evaluate(theta, gradient, second)
		if want := plainly(p, theta); math.Abs(value-want) > 1e-9*(1+want) {
			t.Fatalf("value %v, by the definition %v", value, want)
		}
		const h = 1e-5
		for j := range theta {
			up, down := slices.Clone(theta), slices.Clone(theta)
			up[j] += h
			down[j] -= h
			gu, gd := make([]float64, n), make([]float64, n)
			vu, vd := p.evaluate(up, gu, nil), p.evaluate(down, gd, nil)
			if d := (vu - vd) / (2 * h); math.Abs(d-gradient[j]) > 1e-4 {
				t.Fatalf("gradient %d is %v, by differences %v", j, gradient[j], d)
			}
			for i := j; i < n; i++ {
				if d := (gu[i] - gd[i]) / (2 * h); math.Abs(d-second[i*n+j]) > 1e-4 {
					t.Fatalf("second derivative %d,%d is %v, by differences %v", i, j, second[i*n+j], d)
				}
			}
		}
	})
}

// TestNewtonAndDescentAgree: two ways to the same minimum.
func TestNewtonAndDescentAgree(t *testing.T) {
	for _, classes := range []int{2, 3} {
		p := made(7, 100, classes, false)
		newton, err := p.Newton(context.Background(), 1e-9, 50)
		if err != nil || newton.Gradient > 1e-9 {
			t.Fatalf("Newton's method stopped at a gradient of %v: %v", newton.Gradient, err)
		}
		// Entries have norms of at most √(1+¼+1+1+1/16).
		smooth := 100.0/2*(1+0.25+1+1+0.0625) + 1.5 + 3
		descent, err := p.Descend(context.Background(), Result{Theta: make([]float64, p.Size())}, smooth, 1e-6)
		if err != nil || descent.Gradient > 1e-6 {
			t.Fatalf("descent stopped at a gradient of %v: %v", descent.Gradient, err)
		}
		for i := range newton.Theta {
			if math.Abs(newton.Theta[i]-descent.Theta[i]) > 1e-5 {
				t.Errorf("parameter %d: %v by Newton's method, %v by descent", i, newton.Theta[i], descent.Theta[i])
			}
		}
	}
}

// TestConstantAlone: without other features the probability is a solution of one equation,
// n·σ(θ) + λθ = (rows of class 1).
func TestConstantAlone(t *testing.T) {
	p := &Problem{Rows: 10, Width: 1, Outcomes: 1, Columns: []Column{{Scale: 1}}, Ridge: []float64{0.25}}
	p.Classes = []uint16{1, 1, 1, 0, 0, 0, 0, 0, 0, 0}
	got, err := p.Newton(context.Background(), 1e-12, 50)
	if err != nil {
		t.Fatal(err)
	}
	if left := 10*Sigmoid(got.Theta[0]) + 0.25*got.Theta[0] - 3; math.Abs(left) > 1e-12 {
		t.Errorf("the equation is off by %v at %v", left, got.Theta)
	}
}

// TestThreadsDoNotMatter: blocks are summed in order.
func TestThreadsDoNotMatter(t *testing.T) {
	p := made(3, 2*block+17, 2, true)
	n := p.Size()
	theta := make([]float64, n)
	for i := range theta {
		theta[i] = float64(i)/10 - 1
	}
	one, many := make([]float64, n), make([]float64, n)
	a := p.evaluate(theta, one, nil)
	p.Workers = 3
	b := p.evaluate(theta, many, nil)
	if a != b || !slices.Equal(one, many) {
		t.Errorf("on one thread %v, on three %v", a, b)
	}
}

// TestRounding: the gradient is within the bound of one that is summed with compensation
// from probabilities of extended precision; and the bound is not so wide as to be useless.
func TestRounding(t *testing.T) {
	const rows = 20_000
	p := made(11, rows, 2, false)
	p.Columns[0].Scale, p.Columns[2].Scale, p.Columns[3].Scale = 0.5, 0.5, 0x1p-31
	for j := range p.Ridge {
		p.Ridge[j] = 1
	}
	limits := Limits{Rows: rows, Columns: len(p.Columns), Outcomes: 1, Ridge: 1}
	theta := make([]float64, p.Width)
	r := rand.New(rand.NewPCG(5, 5))
	for range 3 {
		for j := range theta {
			theta[j] = r.NormFloat64()
		}
		for j, length := 0, norm(theta); j < len(theta); j++ {
			theta[j] *= limits.Radius() / length
		}
		got := make([]float64, p.Width)
		p.evaluate(theta, got, nil)
		want := careful(p, theta)
		var off float64
		for j := range got {
			off += (got[j] - want[j]) * (got[j] - want[j])
		}
		if off = math.Sqrt(off); off > limits.Rounding() {
			t.Errorf("off by %v, more than %v", off, limits.Rounding())
		}
	}
	if limits.Rounding() > 1e-6 {
		t.Errorf("the bound is %v", limits.Rounding())
	}
	if small := (Limits{Rows: 1000, Columns: 5, Outcomes: 1, Ridge: 1}); !(small.Rounding() < limits.Rounding()/20) {
		t.Errorf("the bound does not grow with rows: %v, %v", small.Rounding(), limits.Rounding())
	}
}

// pair is an unevaluated sum of two numbers.
type pair struct{ high, low float64 }

func (s *pair) add(x float64) {
	sum := s.high + x
	v := sum - s.high
	s.low += (s.high - (sum - v)) + (x - v)
	s.high = sum
}

func (s *pair) addProduct(a, b float64) {
	product := a * b
	s.add(product)
	s.low += math.FMA(a, b, -product)
}

// careful is the gradient with sums of twice the precision.
func careful(p *Problem, theta []float64) []float64 {
	sums := make([]pair, p.Width)
	for i := range p.Rows {
		index := []int{0, 1 + int(p.Columns[1].Codes[i]), 4 + int(p.Columns[2].Codes[i]), 6, 7}
		entry := []float64{
			p.Columns[0].Scale, p.Columns[1].Scale, p.Columns[2].Scale,
			p.Columns[3].Scale * float64(p.Columns[3].Steps[i]), p.Columns[4].Scale * p.Columns[4].Numbers[i],
		}
		var z pair
		for c, j := range index {
			z.addProduct(theta[j], entry[c])
		}
		// σ(high+low) = σ(high) + σ'(high)·low, up to low².
		s := Sigmoid(z.high)
		for c, j := range index {
			sums[j].addProduct(s-float64(p.Classes[i]), entry[c])
			sums[j].low += s * (1 - s) * z.low * entry[c]
		}
	}
	out := make([]float64, p.Width)
	for j := range out {
		sums[j].addProduct(p.Ridge[j], theta[j])
		out[j] = sums[j].high + sums[j].low
	}
	return out
}

// TestStops: a context that is done ends both methods.
func TestStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := made(1, 10, 2, false)
	if _, err := p.Newton(ctx, 0, 10); err == nil {
		t.Error("Newton's method went on")
	}
	if _, err := p.Descend(ctx, Result{Theta: make([]float64, p.Size())}, 100, 0); err == nil {
		t.Error("descent went on")
	}
}
