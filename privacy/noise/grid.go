package noise

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

const (
	maxGridBits = 62
	// maxSteps bounds the values that noise is added to. Noise stays below
	// 2^62 steps too, so the sum cannot overflow an int64.
	maxSteps = 1<<62 - 1
)

// Grid is the set of multiples of 2^-k: the granularity of everything that is
// released. Values on it are int64 numbers of steps. The zero Grid is the
// integers.
//
// Values must be put on the grid before noise is added. A float64 sum of value
// and noise rounds by an amount that depends on the value, and so reveals it
// (Mironov 2012, "On significance of the least significant bits for
// differential privacy").
type Grid struct{ k int }

// NewGrid returns the multiples of 2^-k; k may be negative and lies in [-62, 62].
func NewGrid(k int) (Grid, error) {
	if k < -maxGridBits || k > maxGridBits {
		return Grid{}, fmt.Errorf("grid exponent k = %d: must lie in [-%d, %d]", k, maxGridBits, maxGridBits)
	}
	return Grid{k}, nil
}

// Granularity returns the step 2^-k, exactly.
func (g Grid) Granularity() float64 { return math.Ldexp(1, -g.k) }

// String writes the step as a power of two.
func (g Grid) String() string { return fmt.Sprintf("2^%d", -g.k) }

// Float returns n steps as a float64, to the nearest one when n needs more
// than 53 bits. Use it on released numbers only.
func (g Grid) Float(n int64) float64 { return math.Ldexp(float64(n), -g.k) }

// Round returns floor(x/step + 1/2), exactly, in steps. Unlike rounding ties to
// even, it commutes with shifts by whole steps, so that values at most m steps
// apart stay at most m steps apart for every integer m.
func (g Grid) Round(x float64) (int64, error) { return g.onGrid(x, roundHalfUp) }

// up returns the least number of steps that is at least x/step, for bounds and
// sensitivities.
func (g Grid) up(x float64) (int64, error) { return g.onGrid(x, up) }

type direction int

const (
	roundHalfUp direction = iota
	up
)

// onGrid reports errors without the value, which may be private.
func (g Grid) onGrid(x float64, dir direction) (int64, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("value is not a finite number: clip it before it is put on the grid")
	}
	frac, exp := math.Frexp(x)
	mant := int64(math.Ldexp(frac, 53))
	shift := exp - 53 + g.k
	if mant == 0 {
		return 0, nil
	}
	if shift >= 0 {
		if bits.Len64(uint64(max(mant, -mant)))+shift > maxGridBits {
			return 0, fmt.Errorf("value exceeds 2^62 steps of %v: clip it, or choose a coarser grid", g)
		}
		return mant << uint(shift), nil
	}
	return dir.shiftRight(mant, uint(-shift)), nil
}

// shiftRight divides a 54-bit mantissa by 2^by; by ≥ 1.
func (d direction) shiftRight(mant int64, by uint) int64 {
	by = min(by, 62)
	if d == up {
		return -(-mant >> by)
	}
	return (mant + 1<<(by-1)) >> by
}

// RoundedL2 bounds the ℓ2-sensitivity, after each coordinate went through
// [Grid.Round], of a vector of d real coordinates with ℓ2-sensitivity l2. Where
// each record's contribution is rounded by itself and summed in integers, the
// sum's sensitivity is the largest norm of a rounded contribution instead.
//
// Proof: rounding moves each of the two vectors by at most half a step per
// coordinate, so the distance grows by at most √d steps. For d = 1 it is at
// most l2 rounded up to whole steps, see Round. Every operation rounds up.
func (g Grid) RoundedL2(l2 float64, d int) (float64, error) {
	return g.rounded("l2", l2, d, math.Sqrt(float64(d)))
}

// RoundedL1 is [Grid.RoundedL2] for ℓ1-sensitivity, which grows by at most d
// steps.
func (g Grid) RoundedL1(l1 float64, d int) (float64, error) {
	return g.rounded("l1", l1, d, float64(d))
}

func (g Grid) rounded(name string, bound float64, d int, steps float64) (float64, error) {
	if _, err := floatRat("sensitivity "+name, bound); err != nil {
		return 0, err
	}
	if d < 1 {
		return 0, fmt.Errorf("dimension d = %d: must be at least 1", d)
	}
	if d > 1 {
		grow := nextUp(steps) * g.Granularity()
		return nextUp(bound + grow), nil
	}
	n, err := g.up(bound)
	if err != nil {
		return 0, fmt.Errorf("sensitivity %s: %w", name, err)
	}
	out := g.Float(n)
	if new(big.Rat).SetFloat64(out).Cmp(g.rat(n)) < 0 {
		out = nextUp(out)
	}
	return out, nil
}

func nextUp(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

// rat returns n steps exactly.
func (g Grid) rat(n int64) *big.Rat {
	r := new(big.Rat).SetInt64(n)
	return r.Mul(r, g.step())
}

func (g Grid) step() *big.Rat {
	p := new(big.Rat).SetInt(new(big.Int).Lsh(one, uint(max(g.k, -g.k))))
	if g.k > 0 {
		return p.Inv(p)
	}
	return p
}
