package llama

import (
	"sync"
	"sync/atomic"

	"github.com/sotto-dp/sotto/internal/engine/kernel"
)

// page holds the keys and values of 32 consecutive positions in every layer.
// Sequences that share a beginning share its pages; one that extends a page which
// others hold too takes a copy first.
//
// For each layer and key head there is a block of keys, [number][position], and
// one of values, [slab][position][32 numbers]. So both are panels of the
// matrix kernels, and attention is two products.
type page struct {
	data []float32
	refs atomic.Int32
}

const pageLen = kernel.Panel

// pageShape describes the layout of a page.
type pageShape struct {
	head, slabs       int // slabs of 32 numbers that a head's values take
	keys, values      int // floats of a block
	perHead, perLayer int
	size              int
}

func newPageShape(c *config) pageShape {
	s := pageShape{head: c.head, slabs: (c.head + kernel.Panel - 1) / kernel.Panel}
	s.keys = c.head * pageLen
	s.values = s.slabs * pageLen * kernel.Panel
	s.perHead = s.keys + s.values
	s.perLayer = c.kvHeads * s.perHead
	s.size = c.layers * s.perLayer
	return s
}

// keysOf returns the keys of a head as a panel: depth head, 32 positions.
func (s *pageShape) keysOf(p *page, layer, head int) []float32 {
	at := layer*s.perLayer + head*s.perHead
	return p.data[at : at+s.keys]
}

// valuesOf returns the values of a head as panels, a slab after the other: depth 32
// positions, 32 numbers.
func (s *pageShape) valuesOf(p *page, layer, head int) []float32 {
	at := layer*s.perLayer + head*s.perHead + s.keys
	return p.data[at : at+s.values]
}

// put stores the key and value of a position.
func (s *pageShape) put(p *page, layer, head, position int, key, value []float32) {
	slot := position % pageLen
	keys := s.keysOf(p, layer, head)
	for i, x := range key {
		keys[i*pageLen+slot] = x
	}
	for slab := range s.slabs {
		from := slab * kernel.Panel
		to := min(from+kernel.Panel, len(value))
		copy(s.valuesOf(p, layer, head)[(slab*pageLen+slot)*kernel.Panel:], value[from:to])
	}
}

// cache hands out pages and takes them back.
type cache struct {
	shape pageShape

	mu   sync.Mutex
	free []*page
	used int
}

// take returns a page that is all zeros: attention multiplies what lies beyond a
// sequence's end by zero, which only a finite number survives.
func (c *cache) take() *page {
	c.mu.Lock()
	c.used++
	var p *page
	if n := len(c.free); n > 0 {
		p, c.free = c.free[n-1], c.free[:n-1]
	}
	c.mu.Unlock()
	if p == nil {
		p = &page{data: kernel.Floats(c.shape.size)}
	} else {
		clear(p.data)
	}
	p.refs.Store(1)
	return p
}

// copyOf returns a page of one's own with the same content.
func (c *cache) copyOf(p *page) *page {
	q := c.take()
	copy(q.data, p.data)
	return q
}

// drop releases one reference to a page.
func (c *cache) drop(p *page) {
	if p.refs.Add(-1) > 0 {
		return
	}
	c.mu.Lock()
	c.used--
	c.free = append(c.free, p)
	c.mu.Unlock()
}

func (c *cache) dropAll(pages []*page) {
	for _, p := range pages {
		c.drop(p)
	}
}
