package sketch

import (
	"errors"
	"fmt"
	"math"
	"sort"
)

// Relation is the relation between two sources.
type Relation string

// The relations.
const (
	// Unrelated sources share no more rows than chance explains, or too few to detect.
	Unrelated Relation = "unrelated"
	// Overlapping sources share some rows beyond chance.
	Overlapping Relation = "partly"
	// Same sources are versions of one another: at least half of the rows of one are in the
	// other.
	Same Relation = "same"
)

const (
	// sameShare is the smallest estimate at which sources count as the same: one half, less
	// three standard errors of an estimate from 1024 hashes. So a source that shares half
	// of its rows counts as the same, except with probability 0.0008.
	sameShare = 0.5 - 3*0.5/32
	// partShare is the smallest estimate at which sources count as sharing rows or long
	// values. Common phrases and true duplicates within a population stay below it.
	partShare = 1.0 / 200
	// loosePart replaces partShare for rows compared in some of their columns: people who
	// differ in one column alone are not rare.
	loosePart = 1.0 / 10
	// fewest is the number of hashes that must be compared to claim more than an overlap,
	// unless both lists are complete.
	fewest = 8
	// alike is the share of rows with a duplicate by chance above which nothing is
	// estimated.
	alike = 0.8
	// deviations is the half-width of intervals in standard errors: 99.9 %.
	deviations = 3.29
)

// Share is an estimated share of rows with a 99.9 % interval.
type Share struct{ Estimate, Low, High float64 }

// Overlap is the result of comparing two sketches.
type Overlap struct {
	Relation Relation
	// KnownInSeen is the share of the known source's distinct rows that are also in the
	// source seen now; SeenInKnown is the reverse.
	KnownInSeen, SeenInKnown Share
	// New estimates how many distinct rows of the source seen now are not in the known one.
	New float64
	// By names the kind of hash that matched.
	By Basis
	// Equal reports that both sources have the same rows, in any order.
	Equal bool
	// Ambiguous reports that most rows have a duplicate by nature, so that nobody can tell
	// whether the rows belong to the same people.
	Ambiguous bool
}

// Basis names the kind of hash by which two sources match.
type Basis string

// The kinds of hash.
const (
	ByRows        Basis = "rows"
	ByLeaveOneOut Basis = "rows, without a column"
	ByReadColumns Basis = "rows, in the columns that are read"
	ByValues      Basis = "long values"
)

// ErrKey reports that two sketches were made with different keys and cannot be compared.
var ErrKey = errors.New("sketch: the rows were hashed with different keys")

// ErrVersion reports that two sketches were made by different versions of the program.
var ErrVersion = errors.New("sketch: the rows were hashed by different versions of the program: make the sketch of the known source again")

// Compare estimates how much of a known source is in one that is seen now.
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
		p.match(known.Rows, seen.LeaveOneOut, ByLeaveOneOut),
		p.match(known.LeaveOneOut, seen.Rows, ByLeaveOneOut),
		p.matchLess(),
		p.match(known.ReadColumns, seen.ReadColumns, ByReadColumns),
		p.match(known.Rows, seen.ReadColumns, ByReadColumns),
		p.match(known.ReadColumns, seen.Rows, ByReadColumns),
	} {
		if o.beats(&best) {
			best = o
		}
	}
	if SameRows(known, seen) && known.Limit == 0 && seen.Limit == 0 {
		best.Relation, best.Equal = Same, true
	}
	best.New = seen.Distinct() * (1 - best.SeenInKnown.Estimate)
	return best, nil
}

// Contained reports whether at least half of the rows that are seen are known.
func (o *Overlap) Contained() bool { return o.SeenInKnown.Estimate >= sameShare }

// beats reports whether an overlap is stronger evidence than another.
func (o *Overlap) beats(than *Overlap) bool {
	rank := map[Relation]int{Unrelated: 0, Overlapping: 1, Same: 2}
	if a, b := rank[o.Relation], rank[than.Relation]; a != b {
		return a > b
	}
	return o.larger() > than.larger()+0.01 // prefer whole rows as evidence
}

func (o *Overlap) larger() float64 { return max(o.KnownInSeen.Estimate, o.SeenInKnown.Estimate) }

// pair holds two sketches to compare.
type pair struct{ known, seen *Sketch }

// match compares two lists of the same kind of hash.
func (p pair) match(a, b List, by Basis) Overlap {
	limit := min(a.limit(), b.limit())
	return p.judge(a, b, by, limit, float64(shared(a.Hashes, b.Hashes, limit)))
}

// matchLess compares rows without one column with other such rows. A row that both sources
// have in full matches once for each of its columns. matchLess subtracts these matches; the
// rest must exceed the errors of both counts.
func (p pair) matchLess() Overlap {
	a, b := p.known.LeaveOneOut, p.seen.LeaveOneOut
	limit := min(a.limit(), b.limit())
	common := float64(shared(a.Hashes, b.Hashes, limit))
	ofKnown, ofSeen := p.known.sampled(a, ByLeaveOneOut, limit), p.seen.sampled(b, ByLeaveOneOut, limit)
	if common == 0 || ofKnown == 0 || ofSeen == 0 {
		return Overlap{Relation: Unrelated, By: ByLeaveOneOut}
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
	return p.judge(a, b, ByLeaveOneOut, limit, min(full+rest, ofKnown, ofSeen))
}

// judge decides how two lists are related that share this many hashes up to a limit.
func (p pair) judge(a, b List, by Basis, limit uint64, common float64) Overlap {
	o := Overlap{Relation: Unrelated, By: by}
	if len(a.Hashes) == 0 || len(b.Hashes) == 0 {
		return o
	}
	ofKnown, ofSeen := p.known.sampled(a, by, limit), p.seen.sampled(b, by, limit)
	// Of rows that occur at a small rate λ in each source, a share of 2·λ/2 occurs in an
	// independent second source, and λ/2 occur twice within one.
	chance := min(1, 2*max(a.Duplicates, b.Duplicates))
	loose := by == ByLeaveOneOut || by == ByReadColumns
	if chance > alike && loose {
		return o
	}
	o.KnownInSeen, o.SeenInKnown = beyond(common, ofKnown, chance), beyond(common, ofSeen, chance)
	if chance > alike {
		o.Ambiguous = true
		o.KnownInSeen, o.SeenInKnown = beyond(common, ofKnown, 0), beyond(common, ofSeen, 0)
		if o.larger() >= sameShare {
			o.Relation = Overlapping
		}
		return o
	}
	smaller, part := min(ofKnown, ofSeen), partShare
	if loose {
		part = loosePart
	}
	exact := limit == math.MaxUint64
	switch {
	case o.larger() >= sameShare && (exact || smaller >= fewest):
		o.Relation = Same
	case o.larger() >= part && (chance == 0 || wilson(common, smaller).Low > chance):
		o.Relation = Overlapping
	}
	return o
}

// sampled estimates how many rows a comparison up to a limit covers.
func (s *Sketch) sampled(l List, by Basis, limit uint64) float64 {
	if by == ByLeaveOneOut || by == ByReadColumns {
		// Such a list has each row several times, or several rows as one.
		return s.Rows.distinct() * share(limit)
	}
	return float64(below(l.Hashes, limit))
}

// below counts the hashes up to a limit.
func below(hashes []uint64, limit uint64) int {
	return sort.Search(len(hashes), func(i int) bool { return hashes[i] > limit })
}

// shared counts the hashes that two ascending lists have in common up to a limit.
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

// beyond returns the share of n that chance does not explain: with a true share s the
// expected one is s + (1−s)·chance.
func beyond(common, n, chance float64) Share {
	w := wilson(common, n)
	fix := func(c float64) float64 { return min(1, max(0, (c-chance)/(1-chance))) }
	return Share{fix(w.Estimate), fix(w.Low), fix(w.High)}
}

// wilson returns Wilson's score interval for c out of n.
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
