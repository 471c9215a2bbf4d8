package sketch

import (
	"errors"
	"fmt"
	"math"
	"sort"
)

// Relation is what two sources are to each other.
type Relation string

// The relations.
const (
	// Unrelated sources share no more rows than chance gives, or too few to see.
	Unrelated Relation = "unrelated"
	// Partly the same: some rows of one are in the other, beyond chance.
	Partly Relation = "partly"
	// Same: at least half of the rows of one are in the other, which is a version of it.
	Same Relation = "same"
)

const (
	// sameShare is the least estimate at which sources are the same: one half, less
	// three standard errors of an estimate from 1024 hashes. So a source that shares half
	// of its rows is taken for the same, except with probability 0.0008.
	sameShare = 0.5 - 3*0.5/32
	// partShare is the least estimate at which sources share rows or long values. Below it
	// are common phrases and true duplicates within a population.
	partShare = 1.0 / 200
	// loosePart is that for rows compared in some of their columns: people who differ in
	// one column alone are not rare.
	loosePart = 1.0 / 10
	// fewest is how many hashes must be compared to say more than that some rows are
	// shared, unless both lists have all rows.
	fewest = 8
	// alike is the share of rows with a chance equal above which nothing is estimated.
	alike = 0.8
	// deviations is the half-width of intervals in standard errors: 99.9 %.
	deviations = 3.29
)

// Share is an estimate of a share of rows, with an interval of 99.9 % for it.
type Share struct{ Estimate, Low, High float64 }

// Overlap is what two sketches say about their sources.
type Overlap struct {
	Relation Relation
	// KnownInSeen is the share of the distinct rows of the known source that the one seen
	// now has too; SeenInKnown the other way round.
	KnownInSeen, SeenInKnown Share
	// New estimates how many distinct rows of the source seen now the known one does
	// not have.
	New float64
	// By names what the sources share.
	By Basis
	// Equal reports that the sources are equal row by row, in any order.
	Equal bool
	// Alike reports that most rows have an equal by nature, so that nobody can tell
	// whether the rows are of the same people.
	Alike bool
}

// Basis is what sources share.
type Basis string

// The bases.
const (
	ByRows   Basis = "rows"
	ByLess   Basis = "rows, without a column"
	ByRead   Basis = "rows, in the columns that are read"
	ByValues Basis = "long values"
)

// ErrKey says that two sketches were made with different keys, so that nothing can be
// said about their sources.
var ErrKey = errors.New("sketch: the rows were hashed with different keys")

// ErrVersion says that two sketches were made by different versions of the program.
var ErrVersion = errors.New("sketch: the rows were hashed by different versions of the program: make the sketch of the known source again")

// Compare says how much of a source that is known is in one that is seen now.
func Compare(known, seen Sketch) (Overlap, error) {
	for _, s := range []Sketch{known, seen} {
		if s.IsZero() {
			return Overlap{}, errors.New("sketch: there is nothing to compare")
		}
		if err := s.Validate(); err != nil {
			return Overlap{}, err
		}
	}
	switch {
	case known.KeyID != seen.KeyID:
		return Overlap{}, fmt.Errorf("%w: %s and %s", ErrKey, known.KeyID, seen.KeyID)
	case known.Version != seen.Version:
		return Overlap{}, fmt.Errorf("%w (%d and %d)", ErrVersion, known.Version, seen.Version)
	}
	p := pair{&known, &seen}
	best := p.match(known.Rows, seen.Rows, ByRows)
	for _, o := range []Overlap{
		p.match(known.Values, seen.Values, ByValues),
		p.match(known.Rows, seen.Less, ByLess),
		p.match(known.Less, seen.Rows, ByLess),
		p.matchLess(),
		p.match(known.Read, seen.Read, ByRead),
		p.match(known.Rows, seen.Read, ByRead),
		p.match(known.Read, seen.Rows, ByRead),
	} {
		if o.beats(&best) {
			best = o
		}
	}
	if known.Sum == seen.Sum && known.Limit == 0 && seen.Limit == 0 {
		best.Relation, best.Equal = Same, true
	}
	best.New = seen.Distinct() * (1 - best.SeenInKnown.Estimate)
	return best, nil
}

// beats reports whether an overlap says more than another.
func (o *Overlap) beats(than *Overlap) bool {
	rank := map[Relation]int{Unrelated: 0, Partly: 1, Same: 2}
	if a, b := rank[o.Relation], rank[than.Relation]; a != b {
		return a > b
	}
	return o.most() > than.most()+0.01 // rows are the plainest evidence
}

func (o *Overlap) most() float64 { return max(o.KnownInSeen.Estimate, o.SeenInKnown.Estimate) }

// pair is two sketches that are compared.
type pair struct{ known, seen *Sketch }

// match compares two lists of the same kind of hash.
func (p pair) match(a, b List, by Basis) Overlap {
	limit := min(a.limit(), b.limit())
	return p.judge(a, b, by, limit, float64(shared(a.Hashes, b.Hashes, limit)))
}

// matchLess compares rows without one column with others without one. A row that both
// sources have in full is in common once for each of its columns: what these account for is
// subtracted, and what remains must be beyond the errors of both.
func (p pair) matchLess() Overlap {
	a, b := p.known.Less, p.seen.Less
	limit := min(a.limit(), b.limit())
	common := float64(shared(a.Hashes, b.Hashes, limit))
	ofKnown, ofSeen := p.known.sampled(a, ByLess, limit), p.seen.sampled(b, ByLess, limit)
	if common == 0 || ofKnown == 0 || ofSeen == 0 {
		return Overlap{Relation: Unrelated, By: ByLess}
	}
	columns := min(float64(below(a.Hashes, limit))/ofKnown, float64(below(b.Hashes, limit))/ofSeen)
	whole := min(p.known.Rows.limit(), p.seen.Rows.limit())
	both := float64(shared(p.known.Rows.Hashes, p.seen.Rows.Hashes, whole))
	scale := 1.0
	if of := float64(below(p.known.Rows.Hashes, whole)); of > 0 {
		scale = ofKnown / of
	}
	full := both * scale
	rest := common - columns*full
	if noise := math.Sqrt(common + columns*columns*scale*full); full > 0 && rest < 4*noise {
		rest = 0
	}
	return p.judge(a, b, ByLess, limit, min(full+rest, ofKnown, ofSeen))
}

// judge says what it means that two lists have so much in common up to a limit.
func (p pair) judge(a, b List, by Basis, limit uint64, common float64) Overlap {
	o := Overlap{Relation: Unrelated, By: by}
	if len(a.Hashes) == 0 || len(b.Hashes) == 0 {
		return o
	}
	ofKnown, ofSeen := p.known.sampled(a, by, limit), p.seen.sampled(b, by, limit)
	// Of rows that occur at a small rate λ in each source, the share 2·λ/2 of those in one
	// is in an independent other one, and λ/2 occur twice within one.
	chance := min(1, 2*max(a.Twins, b.Twins))
	loose := by == ByLess || by == ByRead
	if chance > alike && loose {
		return o
	}
	o.KnownInSeen, o.SeenInKnown = beyond(common, ofKnown, chance), beyond(common, ofSeen, chance)
	if chance > alike {
		o.Alike = true
		o.KnownInSeen, o.SeenInKnown = beyond(common, ofKnown, 0), beyond(common, ofSeen, 0)
		if o.most() >= sameShare {
			o.Relation = Partly
		}
		return o
	}
	smaller, part := min(ofKnown, ofSeen), partShare
	if loose {
		part = loosePart
	}
	exact := limit == math.MaxUint64
	switch {
	case o.most() >= sameShare && (exact || smaller >= fewest):
		o.Relation = Same
	case o.most() >= part && (chance == 0 || wilson(common, smaller).Low > chance):
		o.Relation = Partly
	}
	return o
}

// sampled is how many rows the comparison up to a limit is about.
func (s *Sketch) sampled(l List, by Basis, limit uint64) float64 {
	if by == ByLess || by == ByRead {
		// Each row is in such a list several times, or with others as one.
		return s.Rows.distinct() * share(limit)
	}
	return float64(below(l.Hashes, limit))
}

// below counts the hashes up to a limit.
func below(hashes []uint64, limit uint64) int {
	return sort.Search(len(hashes), func(i int) bool { return hashes[i] > limit })
}

// shared counts what two ascending lists have in common up to a limit.
func shared(a, b []uint64, limit uint64) (n int) {
	for len(a) > 0 && len(b) > 0 && a[0] <= limit && b[0] <= limit {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			n++
			a, b = a[1:], b[1:]
		}
	}
	return n
}

// beyond is the share of n that are common for another reason than chance: with a true
// share s the expected one is s + (1−s)·chance.
func beyond(common, n, chance float64) Share {
	w := wilson(common, n)
	fix := func(c float64) float64 { return min(1, max(0, (c-chance)/(1-chance))) }
	return Share{fix(w.Estimate), fix(w.Low), fix(w.High)}
}

// wilson is the score interval of a share, c of n.
func wilson(c, n float64) Share {
	if n <= 0 {
		return Share{High: 1}
	}
	const z2 = deviations * deviations
	p := min(1, c/n)
	middle := (p + z2/(2*n)) / (1 + z2/n)
	half := deviations / (1 + z2/n) * math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	return Share{p, min(p, max(0, middle-half)), max(p, min(1, middle+half))}
}
