package llama

import (
	"context"
	"math"

	"github.com/sotto-dp/sotto/lm/internal/kernel"
)

// span describes the new tokens of one sequence in a pass: the rows of the pass from from
// on stand for the positions from start on.
type span struct {
	pages  []*page
	from   int       // first row
	n      int       // rows
	start  int       // position of the first
	read   int       // how many of the last rows the head may read
	states []float32 // where the states of these go
}

// pass holds the memory of one pass through the model, for at most maxRows rows.
type pass struct {
	rows      int
	x         []float32 // residual stream
	h         inputs    // the same, normed
	q, k, v   []float32
	att, gate inputs
	out, up   []float32
	head      inputs            // states that the whole head reads
	scratch   []*kernel.Scratch // per worker
	attention []attentionRoom   // per worker
	units     []unit
	pieces    []piece
	normed    []inputs  // per worker: rows that each norms for itself
	isNormed  []bool    // per worker: done in this region
	logits    []float32 // of the whole vocabulary
}

// inputs are rows that matrices are multiplied by: as they are, and as integers for
// the matrices of quantised weights.
type inputs struct {
	floats   []float32
	stride   int
	integers *kernel.Quantized // nil if a row is no whole number of blocks
}

// newInputs returns room for rows of width numbers.
func newInputs(rows, width int) inputs {
	in := inputs{floats: kernel.Floats(rows * padded(width)), stride: padded(width)}
	if width%kernel.Block == 0 {
		in.integers = kernel.NewQuantized(rows, width)
	}
	return in
}

// row returns n numbers of a row.
func (in *inputs) row(r, n int) []float32 { return in.floats[r*in.stride:][:n] }

// quantize updates the integers of a row from a column on.
func (in *inputs) quantize(k *kernel.Kernels, row, from int, x []float32) {
	if in.integers != nil {
		k.Quantize(in.integers, row, from, x)
	}
}

// mul multiplies panels of a matrix by n rows: in integers where the weights are
// quantised.
func (m *Model) mul(p *pass, worker int, matrix *kernel.Matrix, from, to int, x inputs, n int, dst []float32, stride int) {
	if matrix.Integer() && !m.floats {
		m.kernels.MulQuantized(matrix, from, to, x.integers, n, dst, stride, p.scratch[worker])
		return
	}
	m.kernels.Mul(matrix, from, to, x.floats, x.stride, n, dst, stride, p.scratch[worker])
}

// maxRows is the number of tokens that go through the model at once: enough to pay for
// unpacking the weights, few enough for the activations to stay in the cache.
const maxRows = 256

func padded(n int) int { return (n + kernel.Panel - 1) / kernel.Panel * kernel.Panel }

// strides returns the lengths of the rows in the buffers of a pass.
func (m *Model) strides() (width, queries, keys, hidden int) {
	c := m.config
	return padded(c.width), padded(c.heads * c.head), padded(c.kvHeads * c.head), padded(c.hidden)
}

func (m *Model) newPass() *pass {
	width, queries, keys, hidden := m.strides()
	c := m.config
	p := &pass{rows: maxRows, pieces: make([]piece, 0, maxRows)}
	take := func(stride int) []float32 { return kernel.Floats(maxRows * stride) }
	p.x, p.out, p.q, p.k, p.v, p.up = take(width), take(width), take(queries), take(keys), take(keys), take(hidden)
	p.h, p.att, p.gate = newInputs(maxRows, c.width), newInputs(maxRows, c.heads*c.head), newInputs(maxRows, c.hidden)
	p.head = newInputs(wholeRows, c.width)
	for range m.pool.workers {
		p.scratch = append(p.scratch, &kernel.Scratch{})
		p.attention = append(p.attention, m.newAttentionRoom())
		p.normed = append(p.normed, newInputs(aloneRows, c.width))
		p.isNormed = append(p.isNormed, false)
	}
	return p
}

// aloneRows is the number of rows up to which every worker norms all rows for
// itself, which is cheaper than waiting for each other.
const aloneRows = 2

// forward sends rows through all layers. tokens[i] is the token of row i; the spans
// cover the rows. The states of rows that the head may read are written to their span's.
func (m *Model) forward(ctx context.Context, p *pass, tokens []int32, spans []span) error {
	n := len(tokens)
	width, _, _, _ := m.strides()
	if err := m.embed(p, tokens); err != nil {
		return err
	}
	for i := range m.weights.layers {
		if err := ctx.Err(); err != nil {
			return err
		}
		l := &m.weights.layers[i]
		m.project(p, l, n)
		m.store(p, l, i, spans, n)
		if i == len(m.weights.layers)-1 {
			// Past the last keys and values only the rows that are read count.
			spans, n = m.readRows(p, spans)
			if n == 0 {
				return nil
			}
		}
		m.attend(p, i, spans)
		m.quantizeAttention(p, n)
		m.mulAdd(p, l.output, l.outputNorm, p.att, n)
		m.feed(p, l, n)
	}
	d := m.config.width
	for _, s := range spans {
		for r := range s.n {
			m.kernels.RMSNorm(s.states[r*d:(r+1)*d], p.x[(s.from+r)*width:][:d], m.weights.norm[:d], m.config.epsilon)
		}
	}
	return nil
}

// embed looks up the rows of tokens.
func (m *Model) embed(p *pass, tokens []int32) error {
	width, _, _, _ := m.strides()
	e := m.weights.embedding
	row, err := kernel.RowBytes(e.Type, m.config.width)
	if err != nil {
		return err
	}
	for i, t := range tokens {
		if err := kernel.DequantizeRow(e.Type, e.Data[int(t)*row:(int(t)+1)*row], p.x[i*width:][:m.config.width]); err != nil {
			return err
		}
		if m.config.rootWidth {
			x := p.x[i*width:][:m.config.width]
			m.kernels.Scale(x, x, float32(math.Sqrt(float64(m.config.width))))
		}
	}
	return nil
}

// readRows moves the rows that the head may read to the front and narrows the spans to
// them.
func (m *Model) readRows(p *pass, spans []span) ([]span, int) {
	width, queries, _, _ := m.strides()
	var read []span
	to := 0
	for _, s := range spans {
		if s.read == 0 {
			continue
		}
		skip := s.n - s.read
		from := s.from + skip
		copy(p.x[to*width:], p.x[from*width:(from+s.read)*width])
		copy(p.q[to*queries:], p.q[from*queries:(from+s.read)*queries])
		s.start, s.from, s.n = s.start+skip, to, s.read
		read = append(read, s)
		to += s.read
	}
	return read, to
}

// norm gives a worker the normed residual stream of all rows: its own copy when there are
// few, a shared one that was computed before otherwise.
func (m *Model) norm(p *pass, worker int, weight []float32, n int) inputs {
	if n > aloneRows {
		return p.h
	}
	if !p.isNormed[worker] {
		m.normRows(p.normed[worker], p.x, weight, 0, n)
		p.isNormed[worker] = true
	}
	return p.normed[worker]
}

func (m *Model) normRows(dst inputs, x, weight []float32, from, to int) {
	d := m.config.width
	for r := from; r < to; r++ {
		row := dst.row(r, d)
		m.kernels.RMSNorm(row, x[r*dst.stride:][:d], weight[:d], m.config.epsilon)
		dst.quantize(m.kernels, r, 0, row)
	}
}

func (m *Model) normShared(p *pass, weight []float32, n int) {
	if n > aloneRows {
		m.pool.each(n, 8, func(_, from, to int) { m.normRows(p.h, p.x, weight, from, to) })
	}
}

// project computes queries, keys and values.
func (m *Model) project(p *pass, l *layer, n int) {
	_, queries, keys, _ := m.strides()
	m.normShared(p, l.attentionNorm, n)
	parts := []product{{l.query, p.q, queries}, {l.key, p.k, keys}, {l.value, p.v, keys}}
	m.products(p, l.attentionNorm, n, parts, nil)
}

// product names a matrix and where its results go.
type product struct {
	matrix *kernel.Matrix
	to     []float32
	stride int
}

// products multiplies the normed residual stream by several matrices in one
// region. after, if any, is called by a worker for panels it has done of all parts,
// which must then have the same shape.
func (m *Model) products(p *pass, norm []float32, n int, parts []product, after func(from, to int)) {
	total := 0
	for _, part := range parts {
		total += part.matrix.Panels()
	}
	if after != nil {
		total = parts[0].matrix.Panels()
	}
	clear(p.isNormed)
	m.pool.each(total, 1, func(worker, from, to int) {
		h := m.norm(p, worker, norm, n)
		if after != nil {
			for _, part := range parts {
				m.mul(p, worker, part.matrix, from, to, h, n, part.to, part.stride)
			}
			after(from, to)
			return
		}
		first := 0
		for _, part := range parts {
			panels := part.matrix.Panels()
			a, b := max(from-first, 0), min(to-first, panels)
			if a < b {
				m.mul(p, worker, part.matrix, a, b, h, n, part.to, part.stride)
			}
			first += panels
		}
	})
}

// store turns queries and keys by their positions and puts keys and values into
// the pages.
func (m *Model) store(p *pass, l *layer, layer int, spans []span, n int) {
	chunk := 4
	if n <= 4 {
		chunk = n
	}
	m.pool.each(n, chunk, func(_, from, to int) {
		for _, s := range spans {
			for r := max(from, s.from); r < min(to, s.from+s.n); r++ {
				m.storeRow(p, l, layer, s.pages, r, s.start+r-s.from)
			}
		}
	})
}

func (m *Model) storeRow(p *pass, l *layer, layer int, pages []*page, row, position int) {
	c := m.config
	_, queries, keys, _ := m.strides()
	q, k, v := p.q[row*queries:(row+1)*queries], p.k[row*keys:(row+1)*keys], p.v[row*keys:(row+1)*keys]
	for _, b := range []struct{ to, bias []float32 }{{q, l.queryBias}, {k, l.keyBias}, {v, l.valueBias}} {
		if b.bias != nil {
			m.kernels.Add(b.to, b.bias)
		}
	}
	cos, sin := l.rotation.at(position)
	for h := range c.heads {
		m.turn(q[h*c.head:(h+1)*c.head], l.queryNorm, cos, sin)
	}
	if t := c.temperature(position); t != 1 {
		m.kernels.Scale(q, q, t)
	}
	target := pages[position/pageLen]
	for h := range c.kvHeads {
		key := k[h*c.head : (h+1)*c.head]
		m.turn(key, l.keyNorm, cos, sin)
		m.pages.put(target, layer, h, position, key, v[h*c.head:(h+1)*c.head])
	}
}

// turn rotates a head by its position, after its norm where the model has one.
func (m *Model) turn(x, norm, cos, sin []float32) {
	if norm != nil {
		m.kernels.RMSNorm(x, x, norm[:len(x)], m.config.epsilon)
	}
	if m.config.halves {
		m.kernels.RopeHalves(x[:m.config.rotated], cos, sin)
	} else {
		m.kernels.RopeInterleaved(x[:m.config.rotated], cos, sin)
	}
}

// mulAdd adds a product to the residual stream, after its norm where the model has one.
func (m *Model) mulAdd(p *pass, matrix *kernel.Matrix, norm []float32, x inputs, n int) {
	width, _, _, _ := m.strides()
	panels := matrix.Panels()
	m.pool.each(panels, 1, func(worker, from, to int) {
		m.mul(p, worker, matrix, from, to, x, n, p.out, width)
		if norm != nil {
			return
		}
		a, b := from*kernel.Panel, to*kernel.Panel
		for r := range n {
			m.kernels.Add(p.x[r*width+a:r*width+b], p.out[r*width+a:r*width+b])
		}
	})
	if norm != nil {
		m.pool.each(n, 8, func(_, from, to int) {
			d := m.config.width
			for r := from; r < to; r++ {
				row := p.out[r*width:][:d]
				m.kernels.RMSNorm(row, row, norm[:d], m.config.epsilon)
				m.kernels.Add(p.x[r*width:][:d], row)
			}
		})
	}
}

// feed computes the feed-forward part of a layer.
func (m *Model) feed(p *pass, l *layer, n int) {
	_, _, _, hidden := m.strides()
	m.normShared(p, l.feedNorm, n)
	parts := []product{{l.gate, p.gate.floats, hidden}, {l.up, p.up, hidden}}
	m.products(p, l.feedNorm, n, parts, func(from, to int) {
		a, b := from*kernel.Panel, to*kernel.Panel
		for r := range n {
			g := p.gate.floats[r*hidden+a : r*hidden+b]
			gate := m.kernels.SiLUMul
			if m.config.gelu {
				gate = m.kernels.GELUMul
			}
			gate(g, g, p.up[r*hidden+a:r*hidden+b])
			p.gate.quantize(m.kernels, r, a, g)
		}
	})
	m.mulAdd(p, l.down, l.downNorm, p.gate, n)
}
