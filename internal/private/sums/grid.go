package sums

import (
	"errors"
	"math"
	"runtime"
	"sync"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/sys/fault"
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
func (s *Summer) add(units []unit, vectors [][]float64) []int64 {
	width := s.Encoder.Dimension()
	workers := min(runtime.GOMAXPROCS(0), len(units)/256+1)
	sums := make([][]int64, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			defer fault.Watch()
			sum, own := make([]int64, len(vectors)*width), make([]int64, len(vectors)*width)
			for at := w; at < len(units); at += workers {
				s.addUnit(sum, own, units[at], vectors)
			}
			sums[w] = sum
		})
	}
	wait.Wait()
	for _, more := range sums[1:] {
		for i, x := range more {
			sums[0][i] += x
		}
	}
	return sums[0]
}

// addUnit adds the mean of what a unit's records say; own is room for it.
func (s *Summer) addUnit(sum, own []int64, u unit, vectors [][]float64) {
	if len(u) == 1 {
		addRecord(sum, s.coefficients(u[0], vectors), u[0].vector)
		return
	}
	clear(own)
	for _, r := range u {
		addRecord(own, s.coefficients(r, vectors), r.vector)
	}
	for i, x := range own {
		sum[i] += x / int64(len(u)) // towards zero
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
// a single sum, else what moves the classifier towards its label, cut.
func (s *Summer) coefficients(r recordVector, vectors [][]float64) []int32 {
	out := make([]int32, len(vectors))
	if r.label < 0 {
		return out
	}
	if s.Sums.Sums == 1 {
		out[r.label] = one
		return out
	}
	logs := make([]float64, len(vectors))
	for l, v := range vectors {
		var sum float64
		for i, x := range r.vector {
			sum += float64(v[i] * float64(x))
		}
		logs[l] = sum / one
	}
	errs, length := lm.LogSoftmax(logs), 0.
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
