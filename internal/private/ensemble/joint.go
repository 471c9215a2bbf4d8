package ensemble

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"

	"github.com/sotto-dp/sotto/privacy/noise"
)

// joint draws a sequence s of k different items with probability ∝ b^loss(s),
//
//	loss(s) = max_i (c_(i) − c_{s_i})
//
// where c_(i) is the i-th largest count: the joint exponential mechanism for top-k
// (Gillenwater, Joseph, Munoz Medina and Ribero 2022, "A joint exponential mechanism for
// differentially private top-k"). The loss is a whole number and never negative.
//
// Precondition: one unit adds a vector of zeros and ones to the counts, or takes one away,
// or both. Postcondition: boundedrange(c) where the losses move by a vector whose entries
// differ by at most [spread] and −ln b ≤ c/spread: the log-probabilities of sequences
// are loss·ln b and a constant, so that their differences span at most c.
type joint struct {
	// order are the items by falling counts, counts those in that order.
	order  []int
	counts []int64
	k      int
	// base is b·2^bits.
	base *big.Int
}

// bits of b.
const bits = 32

// joint is about the counts of a public list of words. Where it has fewer words than
// there are to be keywords, all of them are.
func (k *Keyword) joint(counts []int64) *joint {
	j := &joint{order: make([]int, len(counts)), k: min(k.Keywords, len(counts))}
	for i := range j.order {
		j.order[i] = i
	}
	slices.SortStableFunc(j.order, func(a, b int) int { return int(counts[b] - counts[a]) })
	for _, at := range j.order {
		j.counts = append(j.counts, counts[at])
	}
	j.base = base(k.Range / spread(k.Keywords, k.Draw.Exchanges()))
	return j
}

// spread is how far apart the entries of a change of losses are at most.
//
// A sentence more raises counts by zero or one. So every c_(i) rises by zero or one, and
// every c_{s_i}, and loss(s) moves by one at most, up or down: entries are at most 2 apart.
// For one keyword, loss(s) = c_(1) − c_{s_1}, where the first rises by the same for all s:
// they are at most 1 apart. To exchange a sentence is to take one away and to add one: twice
// as much. (Tests find pairs that reach each of these.)
func spread(keywords int, exchanged bool) float64 {
	w := 2.0
	if keywords == 1 {
		w = 1
	}
	if exchanged {
		w *= 2
	}
	return w
}

// base is a whole number of at least e^−rate·2^bits, hence b ≥ e^−rate. Exp is right to
// within 2^-50 of its value, which times 2^bits is far less than one.
func base(rate float64) *big.Int {
	x := math.Floor(math.Ldexp(math.Exp(-rate), bits)) + 2
	return big.NewInt(int64(min(x, 1<<bits)))
}

// reach is the number of items whose count is at least that of the i-th, counted from 0,
// less r: those that may be i-th in a sequence with a loss of at most r.
func (j *joint) reach(i int, r int64) int {
	return sort.Search(len(j.counts), func(at int) bool { return j.counts[at] < j.counts[i]-r })
}

// sequences is the number of sequences with a loss of exactly r whose first item with that
// loss is the first-th. Items before it have a loss below r, those after it at most r.
//
// Items with a loss below r at place i are within reach of every later place, so i of them
// are taken when place i is filled: the factors are reaches less what was taken. Items with
// a loss of exactly r at a place are not within the reach of earlier ones for r−1.
func (j *joint) sequences(first int, r int64) *big.Int {
	n := big.NewInt(1)
	for i := range j.k {
		ways := j.reach(i, r) - i
		switch {
		case i < first:
			ways = j.reach(i, r-1) - i
		case i == first:
			ways = j.reach(i, r) - j.reach(i, r-1)
		}
		n.Mul(n, big.NewInt(int64(max(0, ways))))
	}
	return n
}

// draw makes the choice, exactly: first the loss and the first place that has it, by
// whole-number weights, then uniformly among the sequences that are left.
func (j *joint) draw(s *noise.Stream) ([]int, error) {
	type cell struct {
		first  int
		loss   int64
		weight *big.Int
	}
	var cells []cell
	total := new(big.Int)
	worst := j.counts[0] - j.counts[len(j.counts)-1]
	power := big.NewInt(1) // base^r
	for r := range worst + 1 {
		// All weights are times 2^(bits·worst).
		scale := new(big.Int).Lsh(power, bits*uint(worst-r))
		for first := range j.k {
			w := j.sequences(first, r)
			if w.Sign() == 0 {
				continue
			}
			cells = append(cells, cell{first, r, w.Mul(w, scale)})
			total.Add(total, w)
		}
		power = new(big.Int).Mul(power, j.base)
	}
	u, err := s.BigBelow(total)
	if err != nil {
		return nil, err
	}
	for _, c := range cells {
		if u.Cmp(c.weight) < 0 {
			return j.uniform(c.first, c.loss, s), nil
		}
		u.Sub(u, c.weight)
	}
	return nil, fmt.Errorf("a number below the sum of weights is within none of them: please report this")
}

// uniform draws one of the sequences that [reconstruct.sequences] counts.
func (j *joint) uniform(first int, r int64, s *noise.Stream) []int {
	taken := make([]bool, len(j.order))
	out := make([]int, j.k)
	for i := range j.k {
		from, to := 0, j.reach(i, r)
		switch {
		case i < first:
			to = j.reach(i, r-1)
		case i == first:
			from = j.reach(i, r-1)
		}
		var free []int
		for place := from; place < to; place++ {
			if !taken[place] {
				free = append(free, place)
			}
		}
		place := free[s.Uint64n(uint64(len(free)))]
		taken[place] = true
		out[i] = j.order[place]
	}
	return out
}
