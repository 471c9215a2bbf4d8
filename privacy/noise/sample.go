package noise

import (
	"fmt"
	"math/big"
	"math/bits"
	"slices"
)

// skipLimit: below this rate, skipping from one included index to the next is
// faster than deciding 64 indices at a time.
var skipLimit = big.NewRat(1, 64)

// Inclusion includes each of n indices independently with an exact probability
// q: Poisson sampling. It holds no state and may be shared.
type Inclusion struct {
	q    Probability
	skip *skipper
}

// NewInclusion returns Poisson sampling at rate q.
func NewInclusion(q Probability) *Inclusion {
	in := &Inclusion{q: q}
	if r := q.Rat(); r.Sign() > 0 && r.Cmp(skipLimit) < 0 {
		in.skip = newSkipper(r)
	}
	return in
}

// Draw appends the included indices of 0..n-1 to dst in increasing order and
// returns it. The expected time grows with n·q for small q and with n/64
// otherwise.
func (in *Inclusion) Draw(s *Stream, n int, dst []int) ([]int, error) {
	if n < 0 {
		return dst, fmt.Errorf("population n = %d: must not be negative", n)
	}
	switch {
	case in.q.sure:
		for i := range n {
			dst = append(dst, i)
		}
	case in.q.head == 0 && in.q.rest == nil:
	case in.skip != nil:
		for i, ok := in.skip.next(s, 0, uint64(n)); ok; i, ok = in.skip.next(s, i+1, uint64(n)) {
			dst = append(dst, int(i))
		}
	default:
		for i := 0; i < n; i += 64 {
			mask := s.bernoulli64(in.q)
			if left := n - i; left < 64 {
				mask &= 1<<uint(left) - 1
			}
			for ; mask != 0; mask &= mask - 1 {
				dst = append(dst, i+bits.TrailingZeros64(mask))
			}
		}
	}
	return dst, nil
}

// bernoulli64 draws 64 independent Bernoulli(p) bits, p < 1.
//
// Proof: as Bernoulli, in 64 lanes at once: each word gives every lane one more
// digit of its own uniform real; a lane is decided at the first digit that
// differs from p's. On average 8 words decide all lanes.
func (s *Stream) bernoulli64(p Probability) uint64 {
	var result uint64
	open := ^uint64(0)
	for {
		for bit := 63; bit >= 0 && open != 0; bit-- {
			w := s.Uint64()
			if p.head>>uint(bit)&1 == 1 {
				result |= open &^ w
				open &= w
			} else {
				open &^= w
			}
		}
		if open == 0 || p.rest == nil {
			return result
		}
		next, err := probabilityRat(p.rest)
		if err != nil {
			return result
		}
		p = next
	}
}

// skipper finds the next included index without visiting those between.
//
// Proof: take λ ≥ q/(1-q). Then λ ≥ ln(1+q/(1-q)) = -ln(1-q), so that
// 1-exp(-λ) ≥ q. Candidates are the indices that a Bernoulli(1-exp(-λ)) would
// mark; the distance to the next one is floor(E/λ) for an exponential E, since
// P(floor(E/λ) ≥ g) = exp(-λ)^g. Keeping a candidate with probability
// q/(1-exp(-λ)) marks each index independently with probability q.
type skipper struct {
	q, lambda *big.Rat
	gap       multiplier
	keep, err uint64 // encloses q/(1-exp(-λ)) in ulps
}

// minLambda bounds the mean gap, so that it fits the exponential sampler.
var minLambda = big.NewRat(1, 1<<40)

func newSkipper(q *big.Rat) *skipper {
	lambda := new(big.Rat).Sub(big.NewRat(1, 1), q)
	lambda.Quo(q, lambda)
	if lambda.Cmp(minLambda) < 0 {
		lambda.Set(minLambda)
	}
	sk := &skipper{q: q, lambda: lambda, gap: newMultiplier(new(big.Rat).Inv(lambda))}
	lo, hi := sk.bounds(192)
	n := lo.Rsh(lo, 128)
	sk.keep = n.Uint64()
	hi = ceilShift(hi, 128)
	sk.err = hi.Sub(hi, n).Uint64()
	return sk
}

// bounds encloses q/(1-exp(-λ))·2^b, a number below 2^b.
func (sk *skipper) bounds(b uint) (lo, hi *big.Int) {
	const guard = 64
	unit := new(big.Int).Lsh(one, b+guard)
	elo, ehi := expNegBig(sk.lambda, b+guard)
	// q·unit/(unit-e) with e at its lower end is the least.
	lo = new(big.Int).Mul(sk.q.Num(), new(big.Int).Lsh(unit, b))
	hi = new(big.Int).Set(lo)
	lo.Quo(lo, elo.Sub(unit, elo).Mul(elo, sk.q.Denom()))
	hi.Quo(hi, ehi.Sub(unit, ehi).Mul(ehi, sk.q.Denom()))
	return lo, hi.Add(hi, one)
}

// next returns the first included index ≥ i and below n.
func (sk *skipper) next(s *Stream, i, n uint64) (uint64, bool) {
	for {
		i += sk.gap.geometric(s)
		if i >= n {
			return 0, false
		}
		if sk.kept(s) {
			return i, true
		}
		i++
	}
}

func (sk *skipper) kept(s *Stream) bool {
	u := s.Uint64()
	if cut := min(sk.keep, s.widen); u < sk.keep-cut {
		return true
	}
	if top, carry := bits.Add64(sk.keep, sk.err+s.widen, 0); carry == 0 && u >= top {
		return false
	}
	for d := (digits{head: u}); ; {
		d.reveal(s)
		n, b := d.floor()
		lo, hi := sk.bounds(b)
		if n.Cmp(hi) >= 0 {
			return false
		}
		if n.Add(n, one).Cmp(lo) <= 0 {
			return true
		}
	}
}

// Shuffle puts n items into uniformly random order through swap (Fisher and
// Yates): each of the n! orders has the same probability.
func (s *Stream) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, int(s.Uint64n(uint64(i)+1)))
	}
}

// Permutation returns the numbers 0..n-1 in uniformly random order.
func (s *Stream) Permutation(n int) ([]int, error) {
	if n < 0 {
		return nil, fmt.Errorf("permutation of n = %d items: must not be negative", n)
	}
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	s.Shuffle(n, func(i, j int) { p[i], p[j] = p[j], p[i] })
	return p, nil
}

// Assign appends to dst, for each of n items, a bin drawn uniformly and
// independently from 0..bins-1. The law of one item's bin does not depend on
// the other items, as it would if a list were cut into consecutive chunks.
func (s *Stream) Assign(n, bins int, dst []int) ([]int, error) {
	if n < 0 {
		return dst, fmt.Errorf("assignment of n = %d items: must not be negative", n)
	}
	if bins < 1 {
		return dst, fmt.Errorf("assignment to %d bins: needs at least 1", bins)
	}
	for range n {
		dst = append(dst, int(s.Uint64n(uint64(bins))))
	}
	return dst, nil
}

// Subset returns m of the numbers 0..n-1 in increasing order; each set of m has
// the same probability.
//
// Proof (Floyd's algorithm, Bentley and Floyd 1987): by induction on j, after
// the step for j the set is uniform among the subsets of 0..j of its size.
func (s *Stream) Subset(m, n int) ([]int, error) {
	if n < 0 || m < 0 || m > n {
		return nil, fmt.Errorf("subset of m = %d out of n = %d: needs 0 ≤ m ≤ n", m, n)
	}
	chosen := make(map[int]struct{}, m)
	out := make([]int, 0, m)
	for j := n - m; j < n; j++ {
		i := int(s.Uint64n(uint64(j) + 1))
		if _, taken := chosen[i]; taken {
			i = j
		}
		chosen[i] = struct{}{}
		out = append(out, i)
	}
	slices.Sort(out)
	return out, nil
}
