package logit

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// made returns a random problem: a constant, two discrete columns, one of steps and one of
// numbers.
func made(seed uint64, rows, classes int, weighted bool) *Problem {
	r := rand.New(rand.NewPCG(seed, 1))
	p := &Problem{Rows: rows, Width: 1 + 3 + 2 + 1 + 1, Outcomes: classes, Workers: 1}
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

// plainly returns the value by the definition, row by row.
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
	if p.Linear != nil {
		value += dot(p.Linear, theta)
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
		if rapid.Bool().Draw(t, "pinned") {
			p.Pin = 1.5
		}
		theta := make([]float64, n)
		for i := range theta {
			theta[i] = rapid.Float64Range(-2, 2).Draw(t, "θ")
			if p.Weights != nil {
				p.Linear = append(p.Linear, rapid.Float64Range(-2, 2).Draw(t, "linear"))
			}
		}
		gradient, second := make([]float64, n), make([]float64, n*n)
		value := p.evaluate(theta, gradient, second)
		if want := plainly(p, theta); math.Abs(value-want) > 1e-9*(1+math.Abs(want)) {
			t.Fatalf("value %v, by the definition %v", value, want)
		}
		careful := make([]float64, n)
		if p.Careful(theta, careful); p.Pin == 0 {
			for j := range careful {
				if math.Abs(careful[j]-gradient[j]) > 1e-10 {
					t.Fatalf("gradient %d is %v, with care %v", j, gradient[j], careful[j])
				}
			}
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
		p.Linear = make([]float64, p.Size())
		for i := range p.Linear {
			p.Linear[i] = float64(i%5) - 2
		}
		newton, err := p.Newton(context.Background(), 1e-9, 50)
		if err != nil || newton.Gradient > 1e-9 {
			t.Fatalf("Newton's method stopped at a gradient of %v: %v", newton.Gradient, err)
		}
		// Entries have squared norms of at most 1+¼+1+1+1/16.
		smooth := 100.0/2*(1+0.25+1+1+0.0625) + 1.5
		descent, err := p.Descend(context.Background(), Result{Theta: make([]float64, p.Size())}, smooth, 1e-4)
		if err != nil || descent.Gradient > 1e-4 {
			t.Fatalf("descent stopped at a gradient of %v: %v", descent.Gradient, err)
		}
		for i := range newton.Theta {
			if math.Abs(newton.Theta[i]-descent.Theta[i]) > 1e-3 {
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
	p.Careful(theta, many)
	p.Workers = 1
	if p.Careful(theta, one); !slices.Equal(one, many) {
		t.Error("with care, threads matter")
	}
}

// TestRounding: the gradient is within the bound of one that is computed with 200 bits, and
// the bound is not so wide as to be useless. A plain sum is not within it.
func TestRounding(t *testing.T) {
	const rows = 300
	plainly := 0
	for _, classes := range []int{2, 3} {
		p := made(11, rows, classes, false)
		p.Columns[0].Scale, p.Columns[2].Scale, p.Columns[3].Scale = 0.5, 0.5, 0x1p-31
		for j := range p.Ridge {
			p.Ridge[j] = 1
		}
		limits := Limits{Rows: rows, Columns: len(p.Columns), Outcomes: p.Outcomes, Ridge: 1}
		r := rand.New(rand.NewPCG(5, 5))
		theta, got, plain := make([]float64, p.Size()), make([]float64, p.Size()), make([]float64, p.Size())
		for range 3 {
			for j := range theta {
				theta[j] = r.NormFloat64()
			}
			for j, length := 0, norm(theta); j < len(theta); j++ {
				theta[j] *= limits.Radius() / length
			}
			p.Careful(theta, got)
			p.evaluate(theta, plain, nil)
			want := exactly(p, theta)
			off, bound := away(got, want), limits.Rounding()
			if off > bound {
				t.Errorf("%d classes: off by %v, more than %v", classes, off, bound)
			}
			if away(plain, want) > off {
				plainly++
			}
		}
		if limits.Rounding() > 1e-9 {
			t.Errorf("the bound is %v", limits.Rounding())
		}
	}
	if plainly < 4 {
		t.Errorf("care helped in %d of 6 cases", plainly)
	}
}

func away(a []float64, b []*big.Float) float64 {
	var sum float64
	for j := range a {
		d, _ := new(big.Float).Sub(b[j], big.NewFloat(a[j])).Float64()
		sum += d * d
	}
	return math.Sqrt(sum)
}

func wide(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }

// bigExp is e^x with 200 bits, by halving and squaring.
func bigExp(x *big.Float) *big.Float {
	y := new(big.Float).SetMantExp(x, -40)
	sum, term := wide(1), wide(1)
	for i := 1; i < 20; i++ {
		term.Mul(term, y).Quo(term, wide(float64(i)))
		sum.Add(sum, term)
	}
	for range 40 {
		sum.Mul(sum, sum)
	}
	return sum
}

// exactly returns the gradient with 200 bits.
func exactly(p *Problem, theta []float64) []*big.Float {
	out := make([]*big.Float, p.Size())
	for j := range out {
		out[j] = wide(p.Ridge[j%p.Width])
		out[j].Mul(out[j], wide(theta[j]))
	}
	for i := range p.Rows {
		index := []int{0, 1 + int(p.Columns[1].Codes[i]), 4 + int(p.Columns[2].Codes[i]), 6, 7}
		entry := []float64{
			p.Columns[0].Scale, p.Columns[1].Scale, p.Columns[2].Scale,
			p.Columns[3].Scale * float64(p.Columns[3].Steps[i]), p.Columns[4].Scale * p.Columns[4].Numbers[i],
		}
		sum, odds := wide(0), make([]*big.Float, p.Outcomes)
		if p.Outcomes == 1 {
			sum = wide(1)
		}
		for k := range odds {
			z := wide(0)
			for c, j := range index {
				z.Add(z, new(big.Float).Mul(wide(theta[k*p.Width+j]), wide(entry[c])))
			}
			odds[k] = bigExp(z)
			sum.Add(sum, odds[k])
		}
		for k := range odds {
			r := new(big.Float).Quo(odds[k], sum)
			r.Sub(r, wide(p.truth(i, k)))
			for c, j := range index {
				out[k*p.Width+j].Add(out[k*p.Width+j], new(big.Float).Mul(r, wide(entry[c])))
			}
		}
	}
	return out
}

// TestStops: a context that is done ends both methods.
func TestStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := made(1, 10, 2, false)
	if _, err := p.Newton(ctx, 0, 10); err == nil {
		t.Error("Newton's method continued")
	}
	if _, err := p.Descend(ctx, Result{Theta: make([]float64, p.Size())}, 100, 0); err == nil {
		t.Error("descent continued")
	}
}
