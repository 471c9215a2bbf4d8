package sketch

import (
	"maps"
	"math"
	"slices"
)

// Builder collects the k smallest hashes of a stream in any order. Its memory depends on k
// alone. It is not safe for concurrent use: give each goroutine its own and merge them.
type Builder struct {
	k int
	// heap is a max-heap of the smallest hashes.
	heap []uint64
	// seen counts all occurrences of each hash in heap. A hash that is among the smallest
	// in the end has been there since its first occurrence, so no count is missed.
	seen map[uint64]uint32
}

// NewBuilder returns a Builder of lists of size k, at least 2.
func NewBuilder(k int) *Builder {
	return &Builder{k: max(k, 2), seen: make(map[uint64]uint32)}
}

// Add adds one hash.
func (b *Builder) Add(h uint64) {
	if len(b.heap) == b.k && h > b.heap[0] {
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
	case len(b.heap) < b.k:
		b.heap = append(b.heap, h)
		b.up()
	case h < b.heap[0]:
		delete(b.seen, b.heap[0])
		b.heap[0] = h
		b.down()
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
	b.shrink()
}

// shrink drops the largest hashes until k are left.
func (b *Builder) shrink() {
	if len(b.heap) <= b.k {
		return
	}
	all := slices.Sorted(maps.Keys(b.seen))
	for _, h := range all[b.k:] {
		delete(b.seen, h)
	}
	all = all[:b.k]
	slices.Reverse(all) // a descending slice is a max-heap
	b.heap = all
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
		Hashes:     slices.Sorted(slices.Values(b.heap)),
	}
}

// Distinct estimates how many distinct hashes there were.
func (b *Builder) Distinct() float64 { return b.List().distinct() }

func (b *Builder) up() {
	for i := len(b.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if b.heap[parent] >= b.heap[i] {
			return
		}
		b.heap[parent], b.heap[i] = b.heap[i], b.heap[parent]
		i = parent
	}
}

func (b *Builder) down() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(b.heap) {
			return
		}
		if right := child + 1; right < len(b.heap) && b.heap[right] > b.heap[child] {
			child = right
		}
		if b.heap[i] >= b.heap[child] {
			return
		}
		b.heap[i], b.heap[child] = b.heap[child], b.heap[i]
		i = child
	}
}
