package llama

import (
	"github.com/sotto-dp/sotto/internal/engine/kernel"
)

// unit is a set of rows of a pass that read together: tokens of one span, or of
// several whose sequences share their first pages. A page that all of them hold is
// read once for all, and multiplied by all their queries in one product.
type unit struct {
	pieces []piece
	tokens int
	shared int // leading pages that all pieces hold
}

// piece is a run of tokens of a span.
type piece struct {
	*span
	first, n int
}

// end returns the number of positions that the last token of the piece reads.
func (c piece) end() int { return c.start + c.first + c.n }

// skip returns the number of leading pages that no token of the piece reads, if each reads
// reach positions back.
func (c piece) skip(reach int) int { return max(0, c.start+c.first+1-reach) / pageLen }

// last returns the number of pages up to the last that the piece reads.
func (c piece) last() int { return (c.end() + pageLen - 1) / pageLen }

// unitRows is the number of queries (tokens times the heads that share a key head) that
// read together: enough to pay for fetching a page. unitScores bounds their weights.
const (
	unitRows   = 96
	unitScores = 1 << 19
)

// cut cuts the spans of a pass into sets of tokens that read together: enough sets to
// keep all workers busy to the end.
func (p *pass) cut() {
	total, longest := 0, 1
	for _, s := range p.spans {
		total, longest = total+s.n, max(longest, s.start+s.n)
	}
	c := p.config
	tokens := min(unitRows, unitScores/(longest+pageLen)) / c.group()
	tokens = max(1, min(tokens, total*c.kvHeads/(4*p.pool.workers)))
	units, pieces := p.units[:0], p.pieces[:0]
	for i := range p.spans {
		s := &p.spans[i]
		for first := 0; first < s.n; {
			last := len(units) - 1
			if last < 0 || units[last].tokens == tokens || units[last].pieces[0].pages[0] != s.pages[0] {
				units = append(units, unit{})
				last++
			}
			u := &units[last]
			next := piece{s, first, min(tokens-u.tokens, s.n-first)}
			pieces = append(pieces, next) // never more than rows: they stay where they are
			u.pieces = pieces[len(pieces)-1-len(u.pieces):]
			u.add(next)
			first += next.n
		}
	}
	p.units, p.pieces = units, pieces
}

// add counts the last piece of the unit.
func (u *unit) add(c piece) {
	if len(u.pieces) == 1 {
		u.shared = c.last()
	}
	u.tokens += c.n
	u.shared = min(u.shared, c.last())
	for i, page := range u.pieces[0].pages[:u.shared] {
		if c.pages[i] != page {
			u.shared = i
			break
		}
	}
}

// attend computes what every row reads from its own position and those before it, as far
// back as its layer reaches. Pages before that are not read.
//
// A row's weights are computed over all its positions at once, and what it reads is one
// chain over them, page after page in order. So neither depends on the pages' owners nor
// on what else is in the pass. Positions that it does not read get the weight zero.
func (p *pass) attend() {
	p.cut()
	p.pool.each(len(p.units)*p.config.kvHeads, 1, p.tasks.attend)
}

func (p *pass) attendUnits(worker, from, to int) {
	kv := p.config.kvHeads
	for u := from; u < to; u++ {
		p.attendUnit(worker, u%kv, &p.units[u/kv])
	}
}

// attendUnit lets the tokens of a unit read one key head.
func (p *pass) attendUnit(worker, head int, u *unit) {
	m, layer := p.Model, p.at
	d, heads := m.config.head, m.config.group()
	room := &p.attention[worker]
	queries, rows := room.queries, u.tokens*heads
	reach := p.layer.reach
	low, high, at := u.pieces[0].skip(reach), 0, 0 // pages that the unit reads
	for _, c := range u.pieces {
		low, high = min(low, c.skip(reach)), max(high, c.last())
		for i := range c.n {
			from := (c.from+c.first+i)*p.att.stride + head*heads*d
			at += copy(queries[at:], p.q[from:from+heads*d])
		}
	}
	stride := (high - low) * pageLen
	scores := room.scoresOf(rows * stride)
	u.eachPage(heads, low, reach, func(first, n, i, _ int, page, next *page, _ bool) {
		if next != nil {
			kernel.Prefetch(m.pages.keysOf(next, layer, head))
		}
		m.kernels.Gemm(n, d, queries[first*d:], d, m.pages.keysOf(page, layer, head), scores[first*stride+(i-low)*pageLen:], stride, false)
	})
	row := scores
	for _, c := range u.pieces {
		for i := range c.n * heads {
			seen := c.start + c.first + i/heads + 1
			from := max(0, seen-reach) - low*pageLen
			seen -= low * pageLen
			m.kernels.Softmax(row[from:seen], float32(m.config.scale))
			clear(row[:from])
			clear(row[seen:stride])
			row = row[stride:]
		}
	}
	mixed, wide := room.mixed, m.pages.slabs*kernel.Panel
	u.eachPage(heads, low, reach, func(first, n, i, depth int, page, next *page, add bool) {
		if next != nil {
			kernel.Prefetch(m.pages.valuesOf(next, layer, head))
		}
		for slab := range m.pages.slabs {
			m.kernels.Gemm(n, depth, scores[first*stride+(i-low)*pageLen:], stride, m.pages.valuesOf(page, layer, head)[slab*pageLen*kernel.Panel:], mixed[first*wide+slab*kernel.Panel:], wide, add)
		}
	})
	for _, c := range u.pieces {
		for i := range c.n * heads {
			row, from := c.from+c.first+i/heads, (head*heads+i%heads)*d
			result := p.att.row(row, p.att.stride)[from : from+d]
			copy(result, mixed[:d])
			mixed = mixed[wide:]
			if d%kernel.Block == 0 {
				p.att.quantize(m.kernels, row, from, result)
			}
		}
	}
}

// eachPage visits the pages that the rows of a unit read, in order for every row: first
// those of all rows, then the others of each piece. It gives the rows, from first on, the
// number of the page, how many of its positions are read, the page after it, and whether
// these rows have read one before.
func (u *unit) eachPage(heads, low, reach int, visit func(first, n, i, depth int, page, next *page, add bool)) {
	end := 0
	for _, c := range u.pieces {
		end = max(end, c.end())
	}
	for i := low; i < u.shared; i++ {
		visit(0, u.tokens*heads, i, min(pageLen, end-i*pageLen), u.pieces[0].pages[i], u.pageAfter(0, i), i > low)
	}
	first := 0
	for p, c := range u.pieces {
		from := max(u.shared, c.skip(reach))
		for i := from; i < c.last(); i++ {
			visit(first, c.n*heads, i, min(pageLen, c.end()-i*pageLen), c.pages[i], u.pageAfter(p, i), i > from || u.shared > low)
		}
		first += c.n * heads
	}
}

// pageAfter returns the page that is visited after the i-th of a piece, or nil.
func (u *unit) pageAfter(piece, i int) *page {
	if i++; i < u.pieces[piece].last() {
		return u.pieces[piece].pages[i]
	}
	if piece++; piece < len(u.pieces) && u.shared < u.pieces[piece].last() {
		return u.pieces[piece].pages[u.shared]
	}
	return nil
}

// attentionRoom is a worker's memory for attention.
type attentionRoom struct {
	queries, mixed []float32 // of a unit
	scores         []float32 // its attention weights
}

func (m *Model) newAttentionRoom() attentionRoom {
	rows := max(unitRows, m.config.group())
	return attentionRoom{
		queries: kernel.Floats(rows * m.config.head),
		mixed:   kernel.Floats(rows * m.pages.slabs * kernel.Panel),
	}
}

// scoresOf returns room for n attention weights.
func (r *attentionRoom) scoresOf(n int) []float32 {
	if len(r.scores) < n {
		r.scores = make([]float32, n+n/2)
	}
	return r.scores[:n]
}

// quantizeAttention does what attendUnit leaves where blocks of integers span heads.
func (p *pass) quantizeAttention() {
	if p.config.head%kernel.Block != 0 {
		p.pool.each(p.n, 4, p.tasks.quantize)
	}
}

func (p *pass) quantizeRows(_, from, to int) {
	for r := from; r < to; r++ {
		p.att.quantize(p.kernels, r, 0, p.att.row(r, p.config.heads*p.config.head))
	}
}
