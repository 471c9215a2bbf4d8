package llama

import (
	"math"

	"github.com/sotto-dp/sotto/lm/internal/kernel"
)

// tileRows is the number of queries (tokens times the heads that share a key head) that
// attend at once: what the micro-kernel takes.
const tileRows = 12

// attend computes what every row reads from its own position and those before it.
//
// A row's weights are computed over all its positions at once, page after page in
// order, so they do not depend on the pages' owners nor on what else is in the
// pass. Positions beyond a row's own get the weight zero.
func (m *Model) attend(p *pass, layer int, spans []span) {
	tokens := max(1, tileRows/m.config.group())
	type unit struct{ span, first int }
	var units []unit
	for i, s := range spans {
		for first := 0; first < s.n; first += tokens {
			units = append(units, unit{i, first})
		}
	}
	kv := m.config.kvHeads
	m.pool.each(len(units)*kv, 1, func(worker, from, to int) {
		for u := from; u < to; u++ {
			s := spans[units[u/kv].span]
			first := units[u/kv].first
			m.attendTile(p, worker, layer, u%kv, &s, first, min(tokens, s.n-first))
		}
	})
}

// attendTile lets n tokens of a span, from its first-th on, read one key head.
func (m *Model) attendTile(p *pass, worker, layer, head int, s *span, first, n int) {
	group := m.config.group()
	// A group larger than a tile goes in parts.
	for g := 0; g < group; g += tileRows {
		m.attendHeads(p, worker, layer, head, s, first, n, head*group+g, min(group-g, tileRows))
	}
}

// attendHeads lets n tokens read with heads of their queries: one tile.
func (m *Model) attendHeads(p *pass, worker, layer, kvHead int, s *span, first, n, head, heads int) {
	d := m.config.head
	_, queries, _, _ := m.strides()
	rows := n * heads
	tile := p.queries[worker]
	for i := range n {
		from := (s.from+first+i)*queries + head*d
		copy(tile[i*heads*d:(i+1)*heads*d], p.q[from:from+heads*d])
	}
	end := s.start + first + n // positions that the last token reads
	pages := (end + pageLen - 1) / pageLen
	stride := pages * pageLen
	scores := p.scoresOf(worker, rows*stride)
	for i := range pages {
		m.kernels.Gemm(rows, d, tile, d, m.pages.keysOf(s.pages[i], layer, kvHead), scores[i*pageLen:], stride, false)
	}
	scale := float32(1 / math.Sqrt(float64(d)))
	for r := range rows {
		row := scores[r*stride : (r+1)*stride]
		seen := s.start + first + r/heads + 1
		m.kernels.Softmax(row[:seen], scale)
		clear(row[seen:])
	}
	mixed := p.mixed[worker]
	wide := m.pages.slabs * kernel.Panel
	for i := range pages {
		depth := min(pageLen, end-i*pageLen)
		for slab := range m.pages.slabs {
			m.kernels.Gemm(rows, depth, scores[i*pageLen:], stride, m.pages.valuesOf(s.pages[i], layer, kvHead, slab), mixed[slab*kernel.Panel:], wide, i > 0)
		}
	}
	for r := range rows {
		row, from := s.from+first+r/heads, (head+r%heads)*d
		result := p.att.row(row, queries)[from : from+d]
		copy(result, mixed[r*wide:r*wide+d])
		if d%kernel.Block == 0 {
			p.att.quantize(m.kernels, row, from, result)
		}
	}
}

// quantizeAttention does what attendHeads leaves where blocks of integers span heads.
func (m *Model) quantizeAttention(p *pass, n int) {
	c := m.config
	if c.head%kernel.Block == 0 {
		return
	}
	m.pool.each(n, 4, func(_, from, to int) {
		for r := from; r < to; r++ {
			p.att.quantize(m.kernels, r, 0, p.att.row(r, c.heads*c.head))
		}
	})
}

// scoresOf returns room for a worker's attention weights.
func (p *pass) scoresOf(worker, n int) []float32 {
	if len(p.scores[worker]) < n {
		p.scores[worker] = make([]float32, n+n/2)
	}
	return p.scores[worker][:n]
}
