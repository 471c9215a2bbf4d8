package kernel

import (
	"fmt"
	"slices"
	"unsafe"
)

// Scratch is the memory that a thread needs for Mul. Its zero value is ready
// to use; it grows once and serves any number of products, one at a time.
type Scratch struct {
	weights  []float32
	integers []uint32
}

// ScratchFloats is the number of words that a [Scratch] grows to.
const ScratchFloats = deepChunk*Panel + 2*unpackedGroups*(Block/2+2)*Panel

// Blocking, in columns and tokens. It does not change the bits: a chain that
// is left in dst and taken up again is the same chain.
const (
	// chunk is the number of columns of a panel that are unpacked at a time:
	// they stay in the cache nearest to the core, with the inputs of a tile.
	chunk = 128
	// deepChunk is the same for so many tokens that reading and writing dst
	// counts.
	deepChunk = 256
	// manyTokens is the number from which chunks are deep.
	manyTokens = 48
	// tokenBlock tokens and panelBlock panels are worked off together, so that
	// a deep chunk of the inputs and all the outputs stay in the second cache.
	tokenBlock = 144
	// tileRows is the number of tokens of the largest tile.
	tileRows   = 12
	panelBlock = 8
	// fewInputs is the number of inputs that stay there without chunks.
	fewInputs = 1 << 17
)

// Mul multiplies panels p0 to p1-1 of a matrix of float weights by the inputs of n tokens: for
// every token t < n, panel p and row j < 32 of it,
//
//	dst[t*dstStride + 32*p + j] = Σ w[32*p+j][k] * x[t*xStride+k]
//
// where the sum is one chain of fused multiply-adds over k in rising order,
// from +0. The result for a token and a row therefore has the same bits
// whatever n, the panels, the level and the split over threads are. Rows of
// dst need room for all 32 rows of the last panel, and dst must not overlap x.
func (k *Kernels) Mul(m *Matrix, p0, p1 int, x []float32, xStride, n int, dst []float32, dstStride int, s *Scratch) {
	if p0 < 0 || p1 > m.Panels() {
		panic(fmt.Sprintf("kernel: panels %d to %d of a matrix of %d", p0, p1, m.Panels()))
	}
	if n <= 0 || p0 >= p1 {
		return
	}
	if m.Integer() {
		panic("kernel: Mul takes float weights, and MulQuantized quantised ones")
	}
	check("x", x, n, xStride, m.Cols)
	check("dst", dst, n, dstStride, p1*Panel)
	if n == 1 {
		xStride, dstStride = 0, 0
	}
	if s.weights == nil {
		s.weights = make([]float32, deepChunk*Panel)
	}
	block := even(n, tokenBlock, tileRows)
	for t := 0; t < n; t += block {
		j := job{
			x: x[t*xStride:], xStride: xStride,
			dst: dst[t*dstStride:], dstStride: dstStride,
			n: min(block, n-t), scratch: s.weights,
		}
		for p := p0; p < p1; p += panelBlock {
			k.mulBlock(m, p, min(p+panelBlock, p1), &j)
		}
	}
}

// even returns the size of parts, a multiple of unit, that n is cut into: as few as parts
// of at most the size allow, and about as large as each other, because a small rest costs
// nearly as much as a whole part.
func even(n, size, unit int) int {
	parts := (n + size - 1) / size
	return min(size, ((n+parts-1)/parts+unit-1)/unit*unit)
}

// job is the part of a product that its inner loops share.
type job struct {
	x, dst, scratch    []float32
	xStride, dstStride int
	n                  int
}

// mulBlock multiplies a block of panels by a block of tokens.
func (k *Kernels) mulBlock(m *Matrix, p0, p1 int, j *job) {
	depth := even(m.Cols, deepChunk, Panel)
	if m.Cols*j.n <= fewInputs {
		depth = m.Cols
	}
	for c := 0; c < m.Cols; c += depth {
		for p := p0; p < p1; p++ {
			k.mulPanel(m, p, c, min(c+depth, m.Cols), j)
		}
	}
}

// mulPanel multiplies the columns from first to end of one panel.
func (k *Kernels) mulPanel(m *Matrix, p, first, end int, j *job) {
	f, panel := m.format, m.data[p*m.stride:(p+1)*m.stride]
	dst := j.dst[p*Panel:]
	if f == packF32 && k.direct {
		weights := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(panel))), len(panel)/4)
		k.tiles(j.n, end-first, j.x[first:], j.xStride, weights[first*Panel:], dst, j.dstStride, first > 0)
		return
	}
	step := even(end-first, chunk, Panel)
	if j.n >= manyTokens {
		step = even(end-first, deepChunk, Panel)
	}
	for c := first; c < end; c += step {
		depth := min(step, end-c)
		k.unpack[f](j.scratch[:depth*Panel], panel[c*layouts[f].bytes():])
		k.tiles(j.n, depth, j.x[c:], j.xStride, j.scratch, dst, j.dstStride, c > 0)
	}
}

// Gemm multiplies m rows of a by the 32 columns of b: for i < m and j < 32,
//
//	c[i*cStride+j] = Σ a[i*aStride+k] * b[k*32+j], k < depth
//
// as one chain of fused multiply-adds over k in rising order, which begins at
// c's present value if add is set and at +0 if not.
func (k *Kernels) Gemm(m, depth int, a []float32, aStride int, b, c []float32, cStride int, add bool) {
	if m <= 0 {
		return
	}
	check("a", a, m, aStride, depth)
	check("b", b, depth, Panel, Panel)
	check("c", c, m, cStride, Panel)
	k.tiles(m, depth, a, aStride, b, c, cStride, add)
}

// check panics unless s holds n rows of the width at the stride. The SIMD code
// relies on it.
func check(name string, s []float32, n, stride, width int) {
	if n == 0 || width == 0 {
		return
	}
	if n < 0 || stride < 0 || width < 0 || width > len(s) || n > 1 && n-1 > (len(s)-width)/max(stride, 1) {
		panic(fmt.Sprintf("kernel: %s has %d values, too few for %d rows of %d at stride %d", name, len(s), n, width, stride))
	}
}

// tiles splits the rows of a product over the level's tiles. The caller has checked the
// lengths.
func (k *Kernels) tiles(m, depth int, a []float32, aStride int, b, c []float32, cStride int, add bool) {
	for {
		rows := tileSize(m, k.tileRows)
		k.tile(rows, depth, a, aStride, b, c, cStride, add)
		if m -= rows; m == 0 {
			return
		}
		a, c = a[rows*aStride:], c[rows*cStride:]
	}
}

// tileSize returns the size of the next tile for n rows or tokens: those that are left are about as
// large.
func tileSize(n int, sizes []int) int {
	tiles := (n + sizes[len(sizes)-1] - 1) / sizes[len(sizes)-1]
	size := (n + tiles - 1) / tiles
	for !slices.Contains(sizes, size) {
		size = (size + 1) / 2
	}
	return size
}

// tilePortable is tileFunc in plain Go.
func tilePortable(rows, depth int, a []float32, aStride int, b, c []float32, cStride int, add bool) {
	for i := range rows {
		out := (*[Panel]float32)(c[i*cStride:])
		chains := [Panel]float32{}
		if add {
			chains = *out
		}
		for d, x := range a[i*aStride:][:depth] {
			row := (*[Panel]float32)(b[d*Panel:])
			for j := range chains {
				chains[j] = fma32(x, row[j], chains[j])
			}
		}
		*out = chains
	}
}
