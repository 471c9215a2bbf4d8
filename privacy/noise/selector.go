package noise

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
)

// Selector draws an index from integer scores: score n stands for the real
// number n·Rate·step, with all three exact. It holds no state and may be shared.
type Selector struct {
	unit  *big.Rat
	coeff coefficient
}

// SelectorOptions describe what one unit of score means.
type SelectorOptions struct {
	// Grid is the grid of the scores. The zero value is the integers.
	Grid Grid
	// Rate multiplies the scores, for example ε/(2Δ). 0 means 1.
	Rate float64
}

// NewSelector validates the options.
func NewSelector(o SelectorOptions) (*Selector, error) {
	o.Rate = cmp.Or(o.Rate, 1)
	rate, err := floatRat("Rate", o.Rate)
	if err != nil {
		return nil, fmt.Errorf("selector: %w", err)
	}
	unit := rate.Mul(rate, o.Grid.step())
	return &Selector{unit, newCoefficient(unit)}, nil
}

var errNoScores = errors.New("scores: need at least one candidate")

// maxCandidates keeps sums of weights and of their error bounds far from
// overflow.
const maxCandidates = 1 << 32

func best(scores []int64) (int64, error) {
	if len(scores) == 0 {
		return 0, errNoScores
	}
	if uint64(len(scores)) > maxCandidates {
		return 0, fmt.Errorf("scores: %d candidates: at most 2^32", len(scores))
	}
	top := scores[0]
	for _, n := range scores[1:] {
		top = max(top, n)
	}
	return top, nil
}

// gap encloses (top-n)·unit. The subtraction wraps to the right unsigned value.
func (c *Selector) gap(top, n int64) fixedPoint {
	return c.coeff.times(uint64(top) - uint64(n))
}

func (c *Selector) exactGap(top, n int64) *big.Rat {
	d := new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(top) - uint64(n)))
	return d.Mul(d, c.unit)
}

// PermuteAndFlip draws an index as the permute-and-flip mechanism does
// (McKenna and Sheldon 2020): visit the candidates in random order and take
// each with probability exp(-(best-score)).
//
// Precondition: real scores Rate·q_i in which one record moves every q_i by at
// most Δ. Postcondition: (2·Rate·Δ)-DP; (Rate·Δ)-DP if in addition one record
// never moves two of the q_i in opposite directions.
// Theorem: the law equals that of report-noisy-max with continuous exponential
// noise Z of mean 1 on the scores (Ding et al. 2021). For fixed noise of the
// others, i wins iff Z_i exceeds a threshold, which one record moves by at most
// 2·Rate·Δ, or Rate·Δ; and P(Z > c+d) ≥ exp(-d)·P(Z > c). It is not
// bounded-range with that constant: charge it as pure DP.
//
// Proof of the implementation: flipping all coins first and then taking the
// first head in random order is the same as a uniform choice among the heads,
// since the order is independent of the coins. The best candidate always shows
// a head. Time depends on the number of candidates and of heads only.
func (c *Selector) PermuteAndFlip(s *Stream, scores []int64) (int, error) {
	top, err := best(scores)
	if err != nil {
		return 0, err
	}
	pick, heads := 0, uint64(0)
	for i, n := range scores {
		if !c.flip(s, top, n) {
			continue
		}
		heads++
		if heads == 1 || s.Uint64n(heads) == 0 {
			pick = i
		}
	}
	return pick, nil
}

func (c *Selector) flip(s *Stream, top, n int64) bool {
	if n == top {
		return true
	}
	u := s.Uint64()
	v := s.belowExp(u, c.gap(top, n))
	return v == below || v == undecided && s.settleExp(u, c.exactGap(top, n))
}

// weightErr bounds the enclosure of one weight: expErr plus the widest argument
// below expCutoff.
const weightErr = expErr + 2*expCutoff + 1

// Softmax draws index i with probability exactly ∝ exp(score_i), for example
// the exponential mechanism.
//
// Precondition: one record moves the vector of scores by a vector whose entries
// differ by at most c. Postcondition: the draw is c-bounded-range, hence c-DP
// (Durfee and Rogers 2019) and (c²/8)-zCDP (Cesar and Rogers 2021).
//
// Proof of the implementation: inverse transform with weights exp(score-best).
// A uniform real U picks the first i whose cumulative weight exceeds U times
// the total. Both sides are enclosed by integers; the index is returned only
// if no point of the enclosures would give another one, and otherwise all of
// them are narrowed. Compared with rejection from the uniform law it evaluates
// every weight once, so that its time depends on the scores only through
// the index it returns (except for about n²·2^-55 of the draws that
// are narrowed).
func (c *Selector) Softmax(s *Stream, scores []int64) (int, error) {
	top, err := best(scores)
	if err != nil {
		return 0, err
	}
	s.weights = s.weights[:0]
	var hi, lo, carry uint64
	for _, n := range scores {
		w, _ := expNeg(c.gap(top, n))
		s.weights = append(s.weights, w)
		lo, carry = bits.Add64(lo, w, 0)
		hi += carry
	}
	u := s.Uint64()
	if i, ok := s.pick(u, hi, lo); ok {
		return i, nil
	}
	return c.settle(s, u, scores, top), nil
}

// pick looks for the index among s.weights, whose sum is hi·2^64+lo. Each true
// weight exceeds its entry by at most weightErr ulps.
func (s *Stream) pick(u, hi, lo uint64) (int, bool) {
	// The target U·total is in [from, to]: from rounds u·total down; u+1
	// instead of u adds at most hi+1 ulps, the weights' errors at most their
	// sum, rounding 2.
	doubt := uint64(len(s.weights))*weightErr + s.widen
	fh, fl := bits.Mul64(u, hi)
	th, _ := bits.Mul64(u, lo)
	fl, carry := bits.Add64(fl, th, 0)
	fh += carry
	tl, carry := bits.Add64(fl, hi+3+doubt, 0)
	th = fh + carry

	var ch, cl uint64
	for i, w := range s.weights {
		ph, pl := ch, cl
		cl, carry = bits.Add64(cl, w, 0)
		ch += carry
		if !less(th, tl, ch, cl) {
			continue
		}
		// Every point of the target is below the sum up to i; it must also be
		// at or above every point of the sum before i.
		pl, carry = bits.Add64(pl, doubt, 0)
		return i, i == 0 || !less(fh, fl, ph+carry, pl)
	}
	return 0, false
}

// less compares 128-bit integers.
func less(ah, al, bh, bl uint64) bool { return ah < bh || ah == bh && al < bl }

// settle repeats the inverse transform on more digits of U and of the weights
// until the index is certain. It ends with probability 1: U times the total
// equals none of the cumulative sums.
func (c *Selector) settle(s *Stream, u uint64, scores []int64, top int64) int {
	d := digits{head: u}
	for {
		d.reveal(s)
		n, b := d.floor()
		lows, highs := make([]*big.Int, len(scores)), make([]*big.Int, len(scores))
		low, high := new(big.Int), new(big.Int)
		for i, score := range scores {
			l, h := expNegBig(c.exactGap(top, score), b)
			lows[i] = new(big.Int).Set(low.Add(low, l))
			highs[i] = new(big.Int).Set(high.Add(high, h))
		}
		from := new(big.Int).Mul(n, low)
		from.Rsh(from, b)
		to := ceilShift(new(big.Int).Mul(n.Add(n, one), high), b)
		for i := range scores {
			if to.Cmp(lows[i]) <= 0 && (i == 0 || highs[i-1].Cmp(from) <= 0) {
				return i
			}
		}
	}
}
