package sums

import (
	"errors"
	"math"
	"runtime"

	"github.com/sotto-dp/sotto/lm"
)

// fine is the number of binary places of vectors and of coefficients; products have twice as many.
const fine = 15

// one is the length of a vector of norm one, in steps, and its square.
const (
	one    = 1 << fine
	square = one * one
)

// unit is what the records of a unit say.
type unit []recordVector

// recordVector is a record: its label, negative for one that is not of the task's, and its vector in steps.
type recordVector struct {
	label  int
	vector []int16
}

// onGrid puts a vector on the grid, each number rounded towards zero, so that it does not get longer.
func onGrid(v []float32, width int) ([]int16, error) {
	var exact float64
	for _, x := range v {
		exact += float64(x) * float64(x) // the product is exact
	}
	if len(v) != width || !(math.Abs(exact-1) < 1e-3) {
		return nil, errors.New("the encoder's vectors are not of length one, or of its dimension: this is a fault of the encoder, and nothing was released")
	}
	// An encoder's rounding may make it a little longer than one.
	scale := one / math.Max(1, math.Sqrt(exact)*(1+1e-9))
	out := make([]int16, len(v))
	for i, x := range v {
		out[i] = int16(max(min(float64(x)*scale, one-1), -one))
	}
	if norm(out) > square {
		return nil, errors.New("a vector of the encoder is longer than one on the grid: this is an internal error, and nothing was released")
	}
	return out, nil
}

// norm is the square of the length, in steps. Numbers beyond one, whose squares could overflow, are longer
// than anything.
func norm[T int16 | int32](v []T) int64 {
	var n int64
	for _, x := range v {
		if int64(x) > one || int64(x) < -one {
			return math.MaxInt64
		}
		n += int64(x) * int64(x)
	}
	return n
}

// add adds up what units say about vectors of labels. The order does not matter: whole numbers are added.
func (s *Summer) add(units *pages, vectors [][]float64) ([]int64, error) {
	workers := min(runtime.GOMAXPROCS(0), units.number())
	adders := make([]*adder, workers)
	for w := range adders {
		adders[w] = s.adder(vectors, units.width)
	}
	err := units.all(workers, func(w int, of page) {
		var u unit
		for at := range len(of.labels) / units.each {
			u = of.unit(at, units.each, units.width, u)
			adders[w].unit(u)
		}
	})
	for _, more := range adders[1:] {
		for i, x := range more.sum {
			adders[0].sum[i] += x
		}
	}
	return adders[0].sum, err
}

// adder adds up units, in one goroutine.
type adder struct {
	sum     []int64
	own     []int64 // room for what a unit adds
	vectors [][]float64
	single  bool // there is one sum
	exact   []float64
	logs    []float64
	steps   []int32
}

func (s *Summer) adder(vectors [][]float64, width int) *adder {
	return &adder{
		sum: make([]int64, len(vectors)*width), own: make([]int64, len(vectors)*width), vectors: vectors, single: s.Sums.Sums == 1,
		exact: make([]float64, width), logs: make([]float64, len(vectors)), steps: make([]int32, len(vectors)),
	}
}

// unit adds the mean of what a unit's records say.
func (a *adder) unit(u unit) {
	if len(u) == 1 {
		addRecord(a.sum, a.coefficients(u[0]), u[0].vector)
		return
	}
	clear(a.own)
	for _, r := range u {
		addRecord(a.own, a.coefficients(r), r.vector)
	}
	for i, x := range a.own {
		a.sum[i] += x / int64(len(u)) // towards zero
	}
}

// addRecord adds the product of coefficients and a vector, in whole numbers: its norm is the product of
// theirs.
func addRecord(sum []int64, coefficients []int32, vector []int16) {
	for l, c := range coefficients {
		if c == 0 {
			continue
		}
		row := sum[l*len(vector) : (l+1)*len(vector)]
		for i, x := range vector {
			row[i] += int64(c) * int64(x)
		}
	}
}

// coefficients of a record for the rows of labels, in steps, of a norm of at most one: one for its label in
// a single sum, else what moves the classifier towards its label, cut. They are there until the next call.
func (a *adder) coefficients(r recordVector) []int32 {
	out := a.steps
	clear(out)
	if r.label < 0 {
		return out
	}
	if a.single {
		out[r.label] = one
		return out
	}
	a.products(r.vector)
	errs, length := lm.LogSoftmax(a.logs), 0.
	for l := range errs {
		errs[l] = -math.Exp(errs[l])
		if l == r.label {
			errs[l]++
		}
		length += float64(errs[l] * errs[l])
	}
	scale := one * (1 - 1e-9) / math.Max(cut, math.Sqrt(length))
	for l, x := range errs {
		out[l] = int32(x * scale)
	}
	if norm(out) > square { // it is not: numbers were rounded towards zero
		clear(out)
	}
	return out
}

// products are those of a record's vector with the vectors of labels. Four labels are added up beside each other, each
// in the order of its numbers: processors wait for one addition before the next.
func (a *adder) products(vector []int16) {
	exact := a.exact[:len(vector)]
	for i, x := range vector {
		exact[i] = float64(x)
	}
	at := 0
	for ; at+4 <= len(a.vectors); at += 4 {
		v, w := a.vectors[at][:len(exact)], a.vectors[at+1][:len(exact)]
		x, y := a.vectors[at+2][:len(exact)], a.vectors[at+3][:len(exact)]
		var p, q, r, s float64
		for i, e := range exact {
			p += float64(v[i] * e)
			q += float64(w[i] * e)
			r += float64(x[i] * e)
			s += float64(y[i] * e)
		}
		a.logs[at], a.logs[at+1], a.logs[at+2], a.logs[at+3] = p/one, q/one, r/one, s/one
	}
	for ; at < len(a.vectors); at++ {
		var sum float64
		for i, x := range a.vectors[at][:len(exact)] {
			sum += float64(x * exact[i])
		}
		a.logs[at] = sum / one
	}
}
