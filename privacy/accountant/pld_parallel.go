package accountant

import (
	"cmp"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/privacy"
)

// parallel returns a partition: a record is in one of its parts. Under replace-one it may
// be in one part before and in another after, and is charged for both.
//
// Above, both parts are charged as if two records were exchanged in each of them, which is
// more than can happen where they have partitions of their own. Below, one pair of
// neighbours counts, see [builder.lowest].
func (b builder) parallel(e privacy.Parallel, tail float64) (source, error) {
	alternatives := make([]privacy.Event, 0, len(e.Events))
	var pairs [][2]privacy.Event
	if b.adj == privacy.ReplaceOne {
		for i, x := range e.Events {
			for _, y := range e.Events[:i] {
				alternatives = append(alternatives, privacy.Compose{Events: []privacy.Event{x, y}})
				pairs = append(pairs, [2]privacy.Event{x, y})
			}
		}
	} else {
		alternatives = e.Events
	}
	list := make([]fixedSource, len(alternatives))
	width := 0.0 // of the part with the largest losses
	same := true
	for i, a := range alternatives {
		var err error
		if list[i], err = b.event(a, tail); err != nil {
			return nil, err
		}
		same = same && list[i].same
		if d := list[i].up[remove]; len(d.m) > 1 {
			width = math.Max(width, d.h)
		}
	}
	width = cmp.Or(width, 1)
	out := fixedSource{q: 1, same: same}
	g := grid{h: width}
	at := -1 // of the pair that lowest is about
	var lowest []fixedSource
	for _, dir := range []direction{remove, add} {
		ups := make([]pld, len(list))
		for i, f := range list {
			ups[i] = f.up[dir].regrid(g, true)
		}
		out.up[dir] = highest(ups...)
		top := strongest(list, tail, func(f *fixedSource) pld { return f.up[dir] })
		if b.adj != privacy.ReplaceOne {
			out.low[dir] = list[top].low[dir]
			continue
		}
		if top != at {
			var err error
			if lowest, err = b.lowest(e, pairs[top], list[top], tail); err != nil {
				return nil, err
			}
			at = top
		}
		out.low[dir] = lowest[strongest(lowest, tail, func(f *fixedSource) pld { return f.low[dir] })].low[dir]
	}
	return out, nil
}

// event composes an event into plds that hold at every loss.
func (b builder) event(e privacy.Event, tail float64) (fixedSource, error) {
	terms, err := privacy.Terms(e)
	if err != nil {
		return fixedSource{}, err
	}
	return b.whole(terms, tail)
}

// strongest is the place of the one that costs the most at about δ, of which tail is a small
// part.
func strongest(list []fixedSource, tail float64, of func(*fixedSource) pld) (at int) {
	strongest := -1.0
	for i := range list {
		d := of(&list[i])
		e := d.epsilon(math.Min(0.1, tail*1e8))
		if e > strongest || e == strongest && d.inf > of(&list[at]).inf {
			at, strongest = i, e
		}
	}
	return at
}

// lowest returns plds of pairs of neighbours under replace-one, each of which there is, for
// lower ends:
//
//   - Two records in the same part. If that has a partition of its own, they may be in two parts
//     of it. Where nothing is sampled or else nested, two parts cost at least as much.
//   - A record in one part, and another in a second one: the first loses a record, and the second
//     gets one. Each record is in one part only of a partition within its own, and where records
//     are sampled the two directions differ.
//
// Of pairs of parts the one that costs most above is taken; sum is of that.
func (b builder) lowest(e privacy.Parallel, pair [2]privacy.Event, sum fixedSource, tail float64) ([]fixedSource, error) {
	var list []fixedSource
	for _, part := range e.Events {
		if !b.alone && !hasPartition(part) {
			continue
		}
		f, err := b.event(part, tail)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	switch {
	case b.alone:
		return list, nil
	case sum.same && !hasPartition(pair[0]) && !hasPartition(pair[1]):
		return append(list, sum), nil // both directions are alike
	}
	for _, way := range [][2]privacy.Event{pair, {pair[1], pair[0]}} {
		f, err := b.moved(way[0], way[1], tail)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// moved returns the lower end for a record that goes from one event to another.
func (b builder) moved(from, to privacy.Event, tail float64) (f fixedSource, err error) {
	b.alone = true
	q := everywhere(tail)
	r := &pldRun{gap: b.gap}
	for i, e := range []privacy.Event{from, to} {
		terms, err := privacy.Terms(e)
		if err != nil {
			return f, err
		}
		part, err := b.composition(terms, q)
		if err != nil {
			return f, err
		}
		for _, s := range part.sources {
			if i == 1 {
				s = oppositeSource{s}
			}
			r.sources = append(r.sources, s)
		}
		r.counts = append(r.counts, part.counts...)
	}
	f = nothingSource.(fixedSource)
	if len(r.sources) == 0 {
		return f, nil
	}
	for _, dir := range []direction{remove, add} {
		if _, low, ok := r.whole(dir, q, b.tolerance, tail); ok {
			f.low[dir] = low
		}
	}
	return f, nil
}

// oppositeSource is a source with the two data sets exchanged.
type oppositeSource struct{ source }

func (t oppositeSource) outline(dir direction, tail float64) outline {
	return t.source.outline(opposite(dir), tail)
}

func (t oppositeSource) build(dir direction, g grid, tail float64) (up, low pld) {
	return t.source.build(opposite(dir), g, tail)
}

func opposite(dir direction) direction {
	switch dir {
	case remove:
		return add
	case add:
		return remove
	}
	return dir
}

// hasPartition reports whether there is a partition in an event.
func hasPartition(e privacy.Event) bool {
	if _, ok := e.(privacy.Parallel); ok {
		return true
	}
	return slices.ContainsFunc(privacy.Children(e), hasPartition)
}
