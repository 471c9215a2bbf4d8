package noise

import "math/big"

// digits is a uniform real number in [0,1) whose binary digits are drawn only
// as a decision needs them. The first 64 decide all but about one draw in
// 2^50; drawing more on demand makes every decision the one that the infinite
// expansion would give. That is what "exact" means in this package.
type digits struct {
	head uint64
	tail []uint64
}

// reveal draws 64 more digits.
func (d *digits) reveal(s *Stream) { d.tail = append(d.tail, s.Uint64()) }

// floor returns n and b such that the number lies in [n, n+1)·2^-b.
func (d *digits) floor() (n *big.Int, b uint) {
	n = new(big.Int).SetUint64(d.head)
	for _, w := range d.tail {
		n.Lsh(n, 64)
		n.Or(n, new(big.Int).SetUint64(w))
	}
	return n, uint(64 * (1 + len(d.tail)))
}

// bounds returns rationals lo ≤ number < hi that differ by 2^-b.
func (d *digits) bounds() (lo, hi *big.Rat) {
	n, b := d.floor()
	unit := new(big.Int).Lsh(one, b)
	lo = new(big.Rat).SetFrac(n, unit)
	hi = new(big.Rat).SetFrac(new(big.Int).Add(n, one), unit)
	return lo, hi
}

var one = big.NewInt(1)

// conclusion is the outcome of comparing reals of which only enclosures are known.
type conclusion int

const (
	undecided conclusion = iota
	below
	notBelow
)
