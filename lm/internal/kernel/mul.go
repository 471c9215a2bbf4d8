package kernel

import (
	"fmt"
	"unsafe"
)

// Scratch is the memory that a thread needs for Mul. Its zero value is ready
// to use; it grows once and serves any number of products, one at a time.
type Scratch struct {
	weights []float32
}

// chunk is the number of columns of a panel that are unpacked at a time: few
// enough to stay in the cache nearest to the core, a multiple of every block.
const chunk = 256

// Mul multiplies panels p0 to p1-1 of the matrix with n columns of inputs: for
// every token t < n, panel p and row j < 32 of it,
//
//	dst[t*dstStride + 32*p + j] = Σ w[32*p+j][k] * x[t*xStride+k]
//
// where the sum is one chain of fused multiply-adds over k in rising order,
// from +0. The result for a token and a row therefore has the same bits
// whatever n, the panels, the level and the split over threads are. Rows of
// dst need room for all 32 rows of the last panel.
func (k *Kernels) Mul(m *Matrix, p0, p1 int, x []float32, xStride, n int, dst []float32, dstStride int, s *Scratch) {
	if p0 < 0 || p1 > m.Panels() {
		panic(fmt.Sprintf("kernel: panels %d to %d of a matrix of %d", p0, p1, m.Panels()))
	}
	if n <= 0 || p0 >= p1 {
		return
	}
	check("x", x, n, xStride, m.Cols)
	check("dst", dst, n, dstStride, p1*Panel)
	first := 0
	for i := range m.segments {
		g := &m.segments[i]
		for p := max(p0, first); p < min(p1, first+g.panels); p++ {
			panel := g.data[(p-first)*g.stride:][:g.stride]
			k.mulPanel(g.format, panel, m.Cols, x, xStride, n, dst[p*Panel:], dstStride, s)
		}
		first += g.panels
	}
}

// mulPanel is Mul for one panel; dst begins at its column.
func (k *Kernels) mulPanel(f format, panel []byte, cols int, x []float32, xStride, n int, dst []float32, dstStride int, s *Scratch) {
	l := &layouts[f]
	if n == 1 && k.vector[f] != nil {
		k.vector[f](dst[:Panel], panel, x[:cols], cols/l.values)
		return
	}
	if f == packF32 && k.direct {
		weights := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(panel))), len(panel)/4)
		k.tiles(n, cols, x, xStride, weights, dst, dstStride, false)
		return
	}
	if s.weights == nil {
		s.weights = make([]float32, chunk*Panel)
	}
	for c := 0; c < cols; c += chunk {
		depth := min(chunk, cols-c)
		k.unpack[f](s.weights[:depth*Panel], panel[c/l.values*l.bytes():], depth/l.values)
		k.tiles(n, depth, x[c:], xStride, s.weights, dst, dstStride, c > 0)
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
	if stride < 0 || width > len(s) || n > 1 && n-1 > (len(s)-width)/max(stride, 1) {
		panic(fmt.Sprintf("kernel: %s has %d values, too few for %d rows of %d at stride %d", name, len(s), n, width, stride))
	}
}

// tiles splits the rows of a product evenly over the level's tiles. The caller
// has checked the lengths.
func (k *Kernels) tiles(m, depth int, a []float32, aStride int, b, c []float32, cStride int, add bool) {
	largest := len(k.tile) - 1
	for count := (m + largest - 1) / largest; count > 0; count-- {
		rows := (m + count - 1) / count
		k.tile[rows](depth, a, aStride, b, c, cStride, add)
		m -= rows
		if m > 0 {
			a, c = a[rows*aStride:], c[rows*cStride:]
		}
	}
}

// tilePortable is the tile of m rows in plain Go.
func tilePortable(m int) tileFunc {
	return func(depth int, a []float32, aStride int, b, c []float32, cStride int, add bool) {
		for i := range m {
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
}
