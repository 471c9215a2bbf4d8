package llama

import (
	"context"
	"math"

	"github.com/sotto-dp/sotto/internal/engine/kernel"
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

// pass is one pass through the model: its memory, for at most maxRows rows, and where it
// is. The parts of a layer that the workers share are its methods, and read from it what
// they are about.
type pass struct {
	*Model
	tasks tasks

	x          []float32 // residual stream
	h          inputs    // the same, normed
	q, k, v    []float32
	att, gate  inputs
	out, up    []float32
	head       inputs            // states that the whole head reads
	scratch    []*kernel.Scratch // per worker
	attention  []attentionRoom   // per worker
	units      []unit
	pieces     []piece
	read       []span    // those that the head may read
	normed     []inputs  // per worker: rows that each norms for itself
	isNormed   []bool    // per worker: done in this region
	logits     []float32 // of the whole vocabulary
	candidates candidateRows

	at       int // which layer
	layer    *layer
	n        int    // rows
	spans    []span // they cover the rows
	weight   []float32
	parts    []product // what the normed rows are multiplied by
	gated    bool      // parts are gate and up: they have one shape, and are joined
	operand  inputs    // of the product that goes to the residual stream
	addend   *kernel.Matrix
	postNorm []float32
}

// tasks are what workers share, made once: see [pool.each].
type tasks struct {
	norm, products, store, attend, quantize, add, addNormed, candidates func(worker, from, to int)
}

// inputs are rows that matrices are multiplied by: as they are, and as integers for
// the matrices of quantised weights.
type inputs struct {
	floats   []float32
	stride   int
	integers *kernel.QuantizedMatrix // nil if a row is no whole number of blocks
}

// newInputs returns room for rows of width numbers.
func (m *Model) newInputs(rows, width int) inputs {
	in := inputs{floats: kernel.Floats(rows * padded(width)), stride: padded(width)}
	if width%kernel.Block == 0 {
		in.integers = m.kernels.NewQuantized(m.bits, rows, width)
	}
	return in
}

func (in *inputs) row(r, n int) []float32 { return in.floats[r*in.stride:][:n] }

// quantize updates the integers of a row from a column on.
func (in *inputs) quantize(k *kernel.Kernels, row, from int, x []float32) {
	if in.integers != nil {
		k.Quantize(in.integers, row, from, x)
	}
}

// mul multiplies panels of a matrix by n rows: in integers where the weights are
// quantised.
func (p *pass) mul(worker int, matrix *kernel.Matrix, from, to int, x inputs, n int, dst []float32, stride int) {
	if matrix.Integer() {
		p.kernels.MulQuantized(matrix, from, to, x.integers, n, dst, stride, p.scratch[worker])
		return
	}
	p.kernels.Mul(matrix, from, to, x.floats, x.stride, n, dst, stride, p.scratch[worker])
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
	p := &pass{Model: m, pieces: make([]piece, 0, maxRows), parts: make([]product, 0, 3)}
	p.tasks = tasks{p.normShare, p.productsShare, p.storeShare, p.attendUnits, p.quantizeRows, p.addShare, p.addNormedShare, p.candidateShare}
	take := func(stride int) []float32 { return kernel.Floats(maxRows * stride) }
	p.x, p.out, p.q, p.k, p.v, p.up = take(width), take(width), take(queries), take(keys), take(keys), take(hidden)
	p.h, p.att, p.gate = m.newInputs(maxRows, c.width), m.newInputs(maxRows, c.heads*c.head), m.newInputs(maxRows, c.hidden)
	p.head = m.newInputs(wholeRows, c.width)
	for range m.pool.workers {
		p.scratch = append(p.scratch, &kernel.Scratch{})
		p.attention = append(p.attention, m.newAttentionRoom())
		p.normed = append(p.normed, m.newInputs(aloneRows, c.width))
		p.isNormed = append(p.isNormed, false)
		p.candidates.matrix, p.candidates.errs = append(p.candidates.matrix, kernel.Matrix{}), append(p.candidates.errs, nil)
	}
	return p
}

// aloneRows is the number of rows up to which every worker norms all rows for
// itself, which is cheaper than waiting for each other.
const aloneRows = 2

// forward sends rows through all layers. tokens[i] is the token of row i; the spans
// cover the rows. The states of rows that the head may read are written to their span's.
func (p *pass) forward(ctx context.Context, tokens []int32, spans []span) error {
	width, _, _, _ := p.strides()
	if err := p.embed(tokens); err != nil {
		return err
	}
	p.n, p.spans = len(tokens), spans
	for i := range p.weights.layers {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.at, p.layer = i, &p.weights.layers[i]
		p.project()
		p.store()
		if i == len(p.weights.layers)-1 {
			// Past the last keys and values only the rows that are read count.
			if p.readRows(); p.n == 0 {
				return nil
			}
		}
		p.attend()
		p.quantizeAttention()
		p.add(p.layer.output, p.layer.outputNorm, p.att)
		p.feed()
		p.add(p.layer.down, p.layer.downNorm, p.gate)
	}
	d := p.config.width
	for _, s := range p.spans {
		for r := range s.n {
			p.kernels.RMSNorm(s.states[r*d:(r+1)*d], p.x[(s.from+r)*width:][:d], p.weights.norm[:d], p.config.epsilon)
		}
	}
	return nil
}

func (p *pass) embed(tokens []int32) error {
	m := p.Model
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
func (p *pass) readRows() {
	width, queries, _, _ := p.strides()
	read, to := p.read[:0], 0
	for _, s := range p.spans {
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
	p.read, p.spans, p.n = read, read, to
}

// norm norms the residual stream of all rows, unless they are so few that every worker
// does that for itself when it needs them.
func (p *pass) norm(weight []float32) {
	p.weight = weight
	clear(p.isNormed)
	if p.n > aloneRows {
		p.pool.each(p.n, 8, p.tasks.norm)
	}
}

func (p *pass) normShare(_, from, to int) { p.normRows(p.h, from, to) }

func (p *pass) normRows(dst inputs, from, to int) {
	d := p.config.width
	for r := from; r < to; r++ {
		row := dst.row(r, d)
		p.kernels.RMSNorm(row, p.x[r*dst.stride:][:d], p.weight[:d], p.config.epsilon)
		dst.quantize(p.kernels, r, 0, row)
	}
}

// normedFor gives a worker the normed rows.
func (p *pass) normedFor(worker int) inputs {
	if p.n > aloneRows {
		return p.h
	}
	if !p.isNormed[worker] {
		p.normRows(p.normed[worker], 0, p.n)
		p.isNormed[worker] = true
	}
	return p.normed[worker]
}

// product names a matrix and where its results go.
type product struct {
	matrix *kernel.Matrix
	to     []float32
	stride int
}

func (p *pass) project() {
	l := p.layer
	_, queries, keys, _ := p.strides()
	p.norm(l.attentionNorm)
	p.gated, p.parts = false, append(p.parts[:0], product{l.query, p.q, queries}, product{l.key, p.k, keys}, product{l.value, p.v, keys})
	p.products()
}

// feed computes what a layer's feed-forward part feeds down.
func (p *pass) feed() {
	l := p.layer
	_, _, _, hidden := p.strides()
	p.norm(l.feedNorm)
	p.gated, p.parts = true, append(p.parts[:0], product{l.gate, p.gate.floats, hidden}, product{l.up, p.up, hidden})
	p.products()
}

// products multiplies the normed residual stream by all parts in one region.
func (p *pass) products() {
	total := 0
	for _, part := range p.parts {
		total += part.matrix.Panels()
	}
	if p.gated {
		total = p.parts[0].matrix.Panels()
	}
	p.pool.each(total, 1, p.tasks.products)
}

func (p *pass) productsShare(worker, from, to int) {
	h := p.normedFor(worker)
	if p.gated {
		for _, part := range p.parts {
			p.mul(worker, part.matrix, from, to, h, p.n, part.to, part.stride)
		}
		p.join(from, to)
		return
	}
	first := 0
	for _, part := range p.parts {
		panels := part.matrix.Panels()
		a, b := max(from-first, 0), min(to-first, panels)
		if a < b {
			p.mul(worker, part.matrix, a, b, h, p.n, part.to, part.stride)
		}
		first += panels
	}
}

// join multiplies the gate's activation by up, in some panels.
func (p *pass) join(from, to int) {
	a, b, stride := from*kernel.Panel, to*kernel.Panel, p.gate.stride
	gate := p.kernels.SiLUMul
	if p.config.gelu {
		gate = p.kernels.GELUMul
	}
	for r := range p.n {
		g := p.gate.floats[r*stride+a : r*stride+b]
		gate(g, g, p.up[r*stride+a:r*stride+b])
		p.gate.quantize(p.kernels, r, a, g)
	}
}

// store turns queries and keys by their positions and puts keys and values into
// the pages.
func (p *pass) store() {
	chunk := 4
	if p.n <= 4 {
		chunk = p.n
	}
	p.pool.each(p.n, chunk, p.tasks.store)
}

func (p *pass) storeShare(_, from, to int) {
	for _, s := range p.spans {
		for r := max(from, s.from); r < min(to, s.from+s.n); r++ {
			p.storeRow(s.pages, r, s.start+r-s.from)
		}
	}
}

func (p *pass) storeRow(pages []*page, row, position int) {
	m, c, l := p.Model, p.config, p.layer
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
		m.pages.put(target, p.at, h, position, key, v[h*c.head:(h+1)*c.head])
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

// add adds a product to the residual stream, after its norm where the model has one.
func (p *pass) add(matrix *kernel.Matrix, norm []float32, x inputs) {
	p.addend, p.postNorm, p.operand = matrix, norm, x
	p.pool.each(matrix.Panels(), 1, p.tasks.add)
	if norm != nil {
		p.pool.each(p.n, 8, p.tasks.addNormed)
	}
}

func (p *pass) addShare(worker, from, to int) {
	width := p.h.stride
	p.mul(worker, p.addend, from, to, p.operand, p.n, p.out, width)
	if p.postNorm != nil {
		return
	}
	a, b := from*kernel.Panel, to*kernel.Panel
	for r := range p.n {
		p.kernels.Add(p.x[r*width+a:r*width+b], p.out[r*width+a:r*width+b])
	}
}

func (p *pass) addNormedShare(_, from, to int) {
	d, width := p.config.width, p.h.stride
	for r := from; r < to; r++ {
		row := p.out[r*width:][:d]
		p.kernels.RMSNorm(row, row, p.postNorm[:d], p.config.epsilon)
		p.kernels.Add(p.x[r*width:][:d], row)
	}
}
