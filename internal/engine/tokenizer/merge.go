package tokenizer

import "sync"

// part is a part of a piece that is being merged: a symbol and where it lies.
type part struct {
	symbol     int32
	start, end int32
}

// mergeRules knows which neighbours may be merged.
type mergeRules interface {
	// join returns the symbol that two neighbouring parts of text make, and how early they
	// are merged: the lowest order first, the leftmost first among equals. The order is
	// never for parts that stay apart.
	join(text string, left, right part) (symbol int32, order uint32)
}

const never = ^uint32(0)

// candidate describes the merge of a part with its neighbour to the right.
type candidate struct {
	symbol int32
	order  uint32
}

// work holds the memory of one merge, kept for the next.
type work struct {
	parts      []part
	candidates []candidate
	next, prev []int32
	heap       []entry
}

var workPool = sync.Pool{New: func() any { return new(work) }}

// scanLimit is the number of parts up to which looking through all candidates is
// faster than a heap.
const scanLimit = 48

// merge merges neighbours in w.parts until no pair is left.
func (w *work) merge(text string, pairs mergeRules) {
	if len(w.parts) <= scanLimit {
		w.mergeByScan(text, pairs)
	} else {
		w.mergeByHeap(text, pairs)
	}
}

func (w *work) candidate(text string, pairs mergeRules, left, right int) candidate {
	symbol, order := pairs.join(text, w.parts[left], w.parts[right])
	return candidate{symbol, order}
}

// mergeByScan takes n² steps for n parts, with little overhead.
func (w *work) mergeByScan(text string, pairs mergeRules) {
	w.candidates = w.candidates[:0]
	for i := range len(w.parts) - 1 {
		w.candidates = append(w.candidates, w.candidate(text, pairs, i, i+1))
	}
	for {
		best, at := never, -1
		for i, c := range w.candidates {
			if c.order < best {
				best, at = c.order, i
			}
		}
		if at < 0 {
			return
		}
		w.parts[at] = part{w.candidates[at].symbol, w.parts[at].start, w.parts[at+1].end}
		w.parts = append(w.parts[:at+1], w.parts[at+2:]...)
		w.candidates = append(w.candidates[:at], w.candidates[at+1:]...)
		if at > 0 {
			w.candidates[at-1] = w.candidate(text, pairs, at-1, at)
		}
		if at < len(w.candidates) {
			w.candidates[at] = w.candidate(text, pairs, at, at+1)
		}
	}
}

// entry is an entry of the heap: parts left and right (by index) as they were when it was
// made.
type entry struct {
	candidate
	left, right int32
	start, end  int32
}

func (a entry) before(b entry) bool {
	return a.order < b.order || a.order == b.order && a.left < b.left
}

// mergeByHeap takes n log n steps for n parts.
func (w *work) mergeByHeap(text string, pairs mergeRules) {
	n := len(w.parts)
	w.next, w.prev, w.heap = w.next[:0], w.prev[:0], w.heap[:0]
	for i := range n {
		w.next = append(w.next, int32(i+1))
		w.prev = append(w.prev, int32(i-1))
	}
	for i := range n - 1 {
		w.offer(text, pairs, int32(i), int32(i+1))
	}
	for len(w.heap) > 0 {
		e := w.pop()
		left, right := &w.parts[e.left], &w.parts[e.right]
		// Merged away, or grown since.
		if left.start != e.start || right.end != e.end || w.next[e.left] != e.right {
			continue
		}
		left.symbol, left.end = e.symbol, e.end
		right.start, right.end = -1, -1
		after := w.next[e.right]
		w.next[e.left] = after
		if int(after) < n {
			w.prev[after] = e.left
			w.offer(text, pairs, e.left, after)
		}
		if before := w.prev[e.left]; before >= 0 {
			w.offer(text, pairs, before, e.left)
		}
	}
	kept := w.parts[:0]
	for _, p := range w.parts {
		if p.start >= 0 {
			kept = append(kept, p)
		}
	}
	w.parts = kept
}

func (w *work) offer(text string, pairs mergeRules, left, right int32) {
	c := w.candidate(text, pairs, int(left), int(right))
	if c.order == never {
		return
	}
	w.heap = append(w.heap, entry{c, left, right, w.parts[left].start, w.parts[right].end})
	at := len(w.heap) - 1
	for at > 0 {
		parent := (at - 1) / 2
		if !w.heap[at].before(w.heap[parent]) {
			break
		}
		w.heap[at], w.heap[parent] = w.heap[parent], w.heap[at]
		at = parent
	}
}

func (w *work) pop() entry {
	top := w.heap[0]
	last := len(w.heap) - 1
	w.heap[0] = w.heap[last]
	w.heap = w.heap[:last]
	at := 0
	for {
		child := 2*at + 1
		if child >= last {
			return top
		}
		if child+1 < last && w.heap[child+1].before(w.heap[child]) {
			child++
		}
		if !w.heap[child].before(w.heap[at]) {
			return top
		}
		w.heap[at], w.heap[child] = w.heap[child], w.heap[at]
		at = child
	}
}

// maxCached bounds the memory that a finished merge keeps for the next.
const maxCached = 1 << 14

func (w *work) release() {
	if cap(w.parts) <= maxCached && cap(w.heap) <= 2*maxCached {
		workPool.Put(w)
	}
}
