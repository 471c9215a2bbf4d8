package sketch

import (
	"container/heap"
	"math"
	"slices"
)

// Builder collects the k smallest hashes of a stream in any order. Its memory depends on k
// alone. It is not safe for concurrent use: give each goroutine its own and merge them.
type Builder struct {
	k int
	// smallest are the smallest hashes.
	smallest largest
	// seen counts all occurrences of each of them. A hash that is among the smallest
	// in the end has been there since its first occurrence, so no count is missed.
	seen map[uint64]uint32
}

// NewBuilder returns a Builder of lists of size k, at least 2.
func NewBuilder(k int) *Builder {
	return &Builder{k: max(k, 2), seen: make(map[uint64]uint32)}
}

// Add adds one hash.
func (b *Builder) Add(h uint64) {
	if len(b.smallest) == b.k && h > b.smallest[0] {
		return
	}
	b.add(h, 1)
}

func (b *Builder) add(h uint64, times uint32) {
	if before, ok := b.seen[h]; ok {
		if times > math.MaxUint32-before {
			times = math.MaxUint32 - before
		}
		b.seen[h] = before + times
		return
	}
	switch {
	case len(b.smallest) < b.k:
		heap.Push(&b.smallest, h)
	case h < b.smallest[0]:
		delete(b.seen, b.smallest[0])
		b.smallest[0] = h
		heap.Fix(&b.smallest, 0)
	default:
		return
	}
	b.seen[h] = times
}

// Merge adds everything that another Builder has seen. The list then has the smaller of the
// two sizes.
func (b *Builder) Merge(o *Builder) {
	b.k = min(b.k, o.k)
	for h, times := range o.seen {
		b.add(h, times)
	}
	for len(b.smallest) > b.k {
		delete(b.seen, heap.Pop(&b.smallest).(uint64))
	}
}

// Duplicates estimates the share of distinct hashes that occurred more than once, from the
// smallest ones.
func (b *Builder) Duplicates() float64 {
	twins := 0
	for _, times := range b.seen {
		if times > 1 {
			twins++
		}
	}
	return float64(twins) / float64(max(1, len(b.seen)))
}

// List returns the list.
func (b *Builder) List() List {
	return List{
		K:          b.k,
		Duplicates: math.Round(b.Duplicates()*1000) / 1000,
		Hashes:     slices.Sorted(slices.Values(b.smallest)),
	}
}

// Distinct estimates how many distinct hashes there were.
func (b *Builder) Distinct() float64 { return b.List().distinct() }

// largest is a heap with the largest hash on top.
type largest []uint64

func (l largest) Len() int           { return len(l) }
func (l largest) Less(i, j int) bool { return l[i] > l[j] }
func (l largest) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *largest) Push(h any)        { *l = append(*l, h.(uint64)) }

func (l *largest) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}
