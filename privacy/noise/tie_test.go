package noise

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// words returns the first n 64-bit digits of num/2^b, a number in [0,1).
func words(num *big.Int, b uint, n int) []uint64 {
	out := make([]uint64, n)
	rest := new(big.Int).Set(num)
	mask := new(big.Int).Sub(new(big.Int).Lsh(one, b), one)
	for i := range out {
		rest.Lsh(rest, 64)
		out[i] = new(big.Int).Rsh(rest, b).Uint64()
		rest.And(rest, mask)
	}
	return out
}

// nudge moves the last word by up to ±2^40 and says which way. The digits left
// out are a fraction of a unit of the last word, so moving down by one or up by
// one is enough to change sides for certain.
func nudge(t *rapid.T, w []uint64) (up bool) {
	by := rapid.Uint64Range(1, 1<<40).Draw(t, "by")
	last := &w[len(w)-1]
	if up = rapid.Bool().Draw(t, "up"); up {
		if *last > math.MaxUint64-by {
			t.Skip("would carry")
		}
		*last += by
		return up
	}
	if *last < by {
		t.Skip("would borrow")
	}
	*last -= by
	return up
}

const tieBits = 512

// Uniform digits that agree with exp(-x) for 128 bits and differ in the third
// word: the decision must follow that word.
func TestSettleExpAtTie(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := big.NewRat(rapid.Int64Range(1, 1<<50).Draw(t, "num"), rapid.Int64Range(1<<46, 1<<50).Draw(t, "den"))
		p, _ := expNegBig(x, tieBits)
		w := words(p, tieBits, 3)
		up := nudge(t, w)
		s := KeyFromSeed(1).Stream("tie")
		scripted(s, w[1:]...)
		if got := s.settleExp(w[0], x); got != !up {
			t.Fatalf("U %v exp(-%v): settled as below = %v", map[bool]string{true: ">", false: "<"}[up], x, got)
		}
	})
}

// The two coins that come from tables, at a tie with the table's entry.
func TestTableCoinsAtTie(t *testing.T) {
	for name, c := range map[string]struct {
		x    *big.Rat
		flip func(*Stream) bool
	}{
		"exp(-1)":   {big.NewRat(1, 1), (*Stream).inverseE},
		"exp(-1/2)": {big.NewRat(1, 2), (*Stream).inverseSqrtE},
	} {
		rapid.Check(t, func(t *rapid.T) {
			p, _ := expNegBig(c.x, tieBits)
			w := words(p, tieBits, rapid.IntRange(2, 3).Draw(t, "words"))
			up := nudge(t, w)
			s := KeyFromSeed(1).Stream("tie")
			scripted(s, w...)
			if got := c.flip(s); got != !up {
				t.Fatalf("%s: below = %v, U is above: %v", name, got, up)
			}
		})
	}
}

// settleExp with an argument whose digits are being drawn: x follows a fixed
// real z, U follows exp(-z) for 128 bits and then leaves it far enough that the
// unknown digits of x cannot matter.
func TestSettleExpOfAtTie(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := make([]uint64, 4)
		num := new(big.Int)
		for i := range z {
			z[i] = rapid.Uint64().Draw(t, "z")
			num.Or(num.Lsh(num, 64), new(big.Int).SetUint64(z[i]))
		}
		p, _ := expNegBig(new(big.Rat).SetFrac(num, new(big.Int).Lsh(one, 256)), tieBits)
		if p.BitLen() > tieBits {
			t.Skip("exp(-0)")
		}
		w := words(p, tieBits, 3)
		up := nudge(t, w)
		s := KeyFromSeed(1).Stream("tie")
		scripted(s, w[1], z[1], w[2], z[2], 0, z[3], 0)
		x := digits{head: z[0]}
		if got := s.settleExpOf(w[0], &x, identity); got != !up {
			t.Fatalf("settled as below = %v, U is above: %v", got, up)
		}
	})
}

func scoresNear(t *rapid.T) []int64 {
	return rapid.SliceOfN(rapid.Int64Range(-8<<10, 0), 2, 9).Draw(t, "scores")
}

// boundary returns the fraction of the total weight that the candidates up to i
// have, rounded down at tieBits.
func boundary(c *Selector, scores []int64, top int64, i int) *big.Int {
	sum, total := new(big.Int), new(big.Int)
	for j, n := range scores {
		lo, _ := expNegBig(c.exactGap(top, n), 2*tieBits)
		total.Add(total, lo)
		if j <= i {
			sum.Add(sum, lo)
		}
	}
	return sum.Lsh(sum, tieBits).Quo(sum, total)
}

func tenBits(t *rapid.T) *Selector {
	sel, err := NewSelector(SelectorOptions{Grid: Grid{10}, Rate: 0.7})
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

// U at the boundary between two candidates for 128 bits: the third word says
// which of the two it is.
func TestSoftmaxAtTie(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sel, scores := tenBits(t), scoresNear(t)
		top, err := best(scores)
		if err != nil {
			t.Fatal(err)
		}
		i := rapid.IntRange(0, len(scores)-2).Draw(t, "boundary after")
		w := words(boundary(sel, scores, top, i), tieBits, 3)
		want := i
		if nudge(t, w) {
			want++
		}
		s := KeyFromSeed(1).Stream("tie")
		scripted(s, w...)
		got, err := sel.Softmax(s, scores)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Fatalf("picked %d, want %d", got, want)
		}
	})
}

// Near a boundary the 64-bit path must not answer unless every continuation of
// the digits gives the same candidate.
func TestSoftmaxDecidesOnlyWhenCertain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sel, scores := tenBits(t), scoresNear(t)
		top, err := best(scores)
		if err != nil {
			t.Fatal(err)
		}
		i := rapid.IntRange(0, len(scores)-2).Draw(t, "boundary after")
		edge := words(boundary(sel, scores, top, i), tieBits, 1)[0]
		u := edge + uint64(rapid.IntRange(-20, 20).Draw(t, "offset"))
		s := KeyFromSeed(1).Stream("certain")
		scripted(s, u)
		if _, err := sel.Softmax(s, scores); err != nil { // fills s.weights
			t.Fatal(err)
		}
		var hi, lo uint64
		for _, w := range s.weights {
			old := lo
			if lo += w; lo < old {
				hi++
			}
		}
		got, ok := s.pick(u, hi, lo)
		if u == edge && ok {
			t.Fatal("decided although the digits tie with the boundary")
		}
		lowest := new(big.Int).SetUint64(u)
		within := func(j int) bool { // [u, u+1)·2^-64 lies between boundaries j-1 and j
			from := j == 0 || new(big.Int).Lsh(lowest, tieBits-64).Cmp(boundary(sel, scores, top, j-1)) > 0
			next := new(big.Int).Add(lowest, one)
			return from && next.Lsh(next, tieBits-64).Cmp(boundary(sel, scores, top, j)) <= 0
		}
		if ok && !within(got) {
			t.Fatalf("decided for %d, which is not certain", got)
		}
	})
}
