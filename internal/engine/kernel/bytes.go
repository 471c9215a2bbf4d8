package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Products in bytes.
//
// A ByteMatrix holds weights in eight bits and ByteRows activations in seven, both after
// a rotation. The rotation HD of 128 columns is a Hadamard matrix H, whose entries are 1 and
// -1, after a change of signs D. HH is 128 times the identity, so
//
//	Σ w[k]*x[k] = Σ (HDw/128)[k]*(HDx)[k]
//
// The rotation spreads the few values far larger than the others that the inputs of a layer
// have, and D their mean; they would leave the others few of the 127 steps. The error is a
// tenth of that without. 64 columns share a scale, of a row of weights and of a row of
// activations, so a product is
//
//	y = fma(float32(Σ w*q)*s, scale, y)
//
// over the blocks in rising order, from the bias. The sums are exact: they are below
// 64·127·127 < 2^31, and levels that add up 16 bits first rely on bounded, below.

const (
	// ByteBlock is the number of columns that are rotated together, of which halves share a
	// scale.
	ByteBlock = 128
	byteBlock = ByteBlock / 2
	// byteWords is the size of a block of activations: the scale and the bytes.
	byteWords = 1 + byteBlock/4
	// maxByte is the largest magnitude that an activation becomes, and zeroByte the byte of
	// 0: instructions multiply unsigned bytes by signed ones.
	maxByte, zeroByte = 63, 64

	// A block of a panel:
	//
	//	offsets  [32]int32         -64 times the sum of the weights, where the sum begins
	//	scales   [32]float32
	//	weights  [16][32][4]int8   four columns of every row
	byteScales  = 4 * Panel
	byteWeights = 8 * Panel
	byteBytes   = byteWeights + byteBlock*Panel
)

// ByteMatrix is a matrix of weights in bytes, with a bias. It is safe for concurrent use.
type ByteMatrix struct {
	// Rows is the number of outputs, Cols the number of inputs.
	Rows, Cols int

	bias []float32
	data []byte
}

// PackBytes rounds rows of weights, whose length is a multiple of ByteBlock, to bytes.
func PackBytes(cols int, rows [][]float32, bias []float32) (*ByteMatrix, error) {
	if cols <= 0 || cols%ByteBlock != 0 || len(rows) == 0 || len(rows) != len(bias) {
		return nil, fmt.Errorf("a matrix in bytes needs a row, as many biases and columns in blocks of %d: there are %d rows of %d and %d biases", ByteBlock, len(rows), cols, len(bias))
	}
	m := &ByteMatrix{Rows: len(rows), Cols: cols}
	m.bias = Floats(m.Panels() * Panel)
	copy(m.bias, bias)
	m.data = aligned(m.Panels() * m.stride())
	for r, row := range rows {
		if len(row) != cols {
			return nil, fmt.Errorf("row %d has %d values, not %d", r, len(row), cols)
		}
		for c := 0; c < cols; c += ByteBlock {
			w := rotated(row[c : c+ByteBlock])
			for half := range 2 {
				block := m.data[r/Panel*m.stride()+(c/byteBlock+half)*byteBytes:]
				packByteBlock(block, r%Panel, (*[byteBlock]float64)(w[half*byteBlock:]))
			}
		}
	}
	return m, nil
}

// Panels returns the number of panels; the last one may be padded with rows of zero.
func (m *ByteMatrix) Panels() int { return (m.Rows + Panel - 1) / Panel }

func (m *ByteMatrix) stride() int { return m.Cols / byteBlock * byteBytes }

// flipped reports whether D changes the sign of a column. The signs are those of a function
// that is as far as can be from every row of the Hadamard matrix.
func flipped(column int) bool {
	return (column&(column>>1)^column>>2&(column>>3)^column>>4&(column>>5))&1 != 0
}

// rotated returns HDw/128. Sums of so few float32 are nearly exact in float64.
func rotated(row []float32) (w [ByteBlock]float64) {
	for i := range w {
		w[i] = float64(row[i]) / ByteBlock
		if flipped(i) {
			w[i] = -w[i]
		}
	}
	for half := ByteBlock / 2; half > 0; half /= 2 {
		for from := 0; from < ByteBlock; from += 2 * half {
			for i := from; i < from+half; i++ {
				w[i], w[i+half] = w[i]+w[i+half], w[i]-w[i+half]
			}
		}
	}
	return w
}

// packByteBlock writes a block of a row to its lane of a panel.
func packByteBlock(dst []byte, lane int, w *[byteBlock]float64) {
	largest := 0.0
	for _, v := range w {
		largest = max(largest, math.Abs(v)) // NaN stays
	}
	scale := float32(largest / 127)
	var q [byteBlock]int8
	if scale > 0 && !math.IsInf(float64(scale), 0) {
		for q = roundWeights(w, scale); !bounded(&q); q = roundWeights(w, scale) {
			scale *= 1 + 1.0/64
		}
	}
	sum := int32(0)
	for i, v := range q {
		dst[byteWeights+i/4*4*Panel+4*lane+i%4] = byte(v)
		sum += int32(v)
	}
	binary.LittleEndian.PutUint32(dst[4*lane:], uint32(-zeroByte*sum))
	binary.LittleEndian.PutUint32(dst[byteScales+4*lane:], math.Float32bits(scale))
}

// roundWeights rounds w/scale to the nearest integers, ties to even. After adding 1.5·2^52, next to which float64 has no
// fractions, the low bits are the integer; the quotients of a block are near 127 at most.
func roundWeights(w *[byteBlock]float64, scale float32) (q [byteBlock]int8) {
	const whole = 3 << 51
	for i, v := range w {
		n := int32(math.Float64bits(v/float64(scale) + whole))
		q[i] = int8(min(max(n, -127), 127))
	}
	return q
}

// bounded reports whether 16 bits hold what a lane of them adds up: the products of
// activations up to 127 with two neighbours of four columns and two of the next four. Nearly
// all rows of nearly all models are; PackBytes makes the scale of others coarser.
func bounded(q *[byteBlock]int8) bool {
	for first := 0; first < byteBlock; first += 8 {
		for pair := first; pair < first+4; pair += 2 {
			above, below := 0, 0
			for _, v := range [4]int8{q[pair], q[pair+1], q[pair+4], q[pair+5]} {
				above, below = above+max(int(v), 0), below+max(-int(v), 0)
			}
			if 127*max(above, below) > math.MaxInt16 {
				return false
			}
		}
	}
	return true
}

// ByteRows holds rows of activations in bytes, for MulBytes. 128 columns are rotated; the
// scale of each half is then the largest magnitude over 63, and each value the nearest multiple, halves
// to even. A block that holds infinities or NaN becomes NaN as a whole, and one whose
// largest magnitude is below 2^-100 zero. It is not safe for concurrent use.
type ByteRows struct {
	words   []uint32
	stride  int // words of a row
	rotated []float32
}

// Reset makes room for rows of cols activations, a multiple of ByteBlock.
func (q *ByteRows) Reset(rows, cols int) {
	if rows < 0 || cols < 0 || cols%ByteBlock != 0 {
		panic(fmt.Sprintf("kernel: %d rows of %d activations, which is no multiple of %d", rows, cols, ByteBlock))
	}
	q.stride = cols / byteBlock * byteWords
	if need := rows * q.stride; cap(q.words) < need {
		q.words = words(need)
	} else {
		q.words = q.words[:need]
	}
	if len(q.rotated) < cols {
		q.rotated = Floats(cols)
	}
}

// RoundBytes writes a row.
func (k *Kernels) RoundBytes(q *ByteRows, row int, x []float32) {
	if len(x)/byteBlock*byteWords != q.stride || len(x)%ByteBlock != 0 || row < 0 {
		panic(fmt.Sprintf("kernel: row %d of %d activations does not fit", row, len(x)))
	}
	k.rotate(q.rotated[:len(x)], x)
	k.roundBytes(q.words[row*q.stride:(row+1)*q.stride], q.rotated[:len(x)])
}

// MulBytes multiplies panels p0 to p1-1 of a matrix by the first n rows of activations: for
// every row t < n, panel p and row j < 32 of it,
//
//	dst[t*dstStride + 32*p + j] = bias[32*p+j] + Σ w[32*p+j][k] * x[t][k]
//
// The bits do not depend on n, the panels, the level or the threads. Rows of dst need room
// for all 32 rows of the last panel.
func (k *Kernels) MulBytes(m *ByteMatrix, p0, p1 int, x *ByteRows, n int, dst []float32, dstStride int) {
	if p0 < 0 || p1 > m.Panels() {
		panic(fmt.Sprintf("kernel: panels %d to %d of a matrix of %d", p0, p1, m.Panels()))
	}
	if m.Cols/byteBlock*byteWords != x.stride {
		panic(fmt.Sprintf("kernel: activations of %d columns for a matrix of %d", x.stride/byteWords*byteBlock, m.Cols))
	}
	if n <= 0 || p0 >= p1 {
		return
	}
	if n*x.stride > len(x.words) {
		panic(fmt.Sprintf("kernel: %d rows of activations, and there are %d", n, len(x.words)/x.stride))
	}
	check("dst", dst, n, dstStride, p1*Panel)
	blocks := m.Cols / byteBlock
	depth := even(blocks, deepBlocks, 1)
	for b := 0; b < blocks; b += depth {
		for from := p0; from < p1; from += nearPanels {
			to := min(from+nearPanels, p1)
			for t := 0; t < n; t += nearTokens {
				for p := from; p < to; p++ {
					w := m.data[p*m.stride()+b*byteBytes : (p+1)*m.stride()]
					k.byteTiles(min(nearTokens, n-t), min(depth, blocks-b), x.words[t*x.stride+b*byteWords:], x.stride,
						w, m.bias[p*Panel:(p+1)*Panel], dst[t*dstStride+p*Panel:], dstStride, b > 0)
				}
			}
		}
	}
}

const (
	// deepBlocks is the number of blocks of a panel that stay in the cache nearest to the core,
	// with the inputs of some tiles: those of nearTokens tokens.
	deepBlocks, nearTokens = 8, 24
	// nearPanels is the number of panels that stay in the cache after it until all tokens had them.
	nearPanels = 8
)

// byteTiles splits the tokens over tiles.
func (k *Kernels) byteTiles(n, blocks int, x []uint32, xStride int, w []byte, bias, dst []float32, dstStride int, add bool) {
	for {
		tokens := tileSize(n, k.tileBytesTokens)
		k.tileBytes(tokens, blocks, x, xStride, w, bias, dst, dstStride, add)
		if n -= tokens; n == 0 {
			return
		}
		x, dst = x[tokens*xStride:], dst[tokens*dstStride:]
	}
}

// tileBytesFunc multiplies blocks of a panel by the inputs of some tokens. The chains begin
// at dst's present value if add is set and at the bias if not.
type tileBytesFunc func(tokens, blocks int, x []uint32, xStride int, w []byte, bias, dst []float32, dstStride int, add bool)

// tileBytesPortable is tileBytesFunc in plain Go.
func tileBytesPortable(tokens, blocks int, x []uint32, xStride int, w []byte, bias, dst []float32, dstStride int, add bool) {
	for t := range tokens {
		out := (*[Panel]float32)(dst[t*dstStride:])
		if !add {
			copy(out[:], bias[:Panel])
		}
		for b := range blocks {
			in, block := x[t*xStride+b*byteWords:][:byteWords], w[b*byteBytes:][:byteBytes]
			var sums [Panel]int32
			for j := range sums {
				sums[j] = int32(binary.LittleEndian.Uint32(block[4*j:]))
			}
			for i, four := range in[1:] {
				a, b, c, d := int32(four&0xff), int32(four>>8&0xff), int32(four>>16&0xff), int32(four>>24)
				weights := (*[4 * Panel]byte)(block[byteWeights+4*Panel*i:])
				for j := range sums {
					sums[j] += a*int32(int8(weights[4*j])) + b*int32(int8(weights[4*j+1])) + c*int32(int8(weights[4*j+2])) + d*int32(int8(weights[4*j+3]))
				}
			}
			s := math.Float32frombits(in[0])
			for j, sum := range sums {
				scale := math.Float32frombits(binary.LittleEndian.Uint32(block[byteScales+4*j:]))
				out[j] = fma32(float32(sum)*s, scale, out[j])
			}
		}
	}
}

// rotatePortable sets blocks of dst to the rotated ones of x: sums and differences of values
// 64 apart, of these those 32 apart, and so on.
func rotatePortable(dst, x []float32) {
	for i, v := range x {
		if flipped(i) {
			v = -v
		}
		dst[i] = v
	}
	for ; len(dst) > 0; dst = dst[ByteBlock:] {
		block := dst[:ByteBlock]
		for half := ByteBlock / 2; half > 0; half /= 2 {
			for i, v := range block {
				if i&half == 0 {
					block[i], block[i+half] = v+block[i+half], v-block[i+half]
				}
			}
		}
	}
}

// roundBytesPortable writes rotated blocks as ByteRows describes.
func roundBytesPortable(dst []uint32, x []float32) {
	for ; len(x) > 0; x, dst = x[byteBlock:], dst[byteWords:] {
		largest := uint32(0)
		for _, v := range x[:byteBlock] {
			largest = max(largest, math.Float32bits(v)&^(1<<31))
		}
		amax := math.Float32frombits(largest)
		inverse, scale := float32(0), float32(0)
		switch {
		case largest >= 0xff<<23:
			scale = math.Float32frombits(quietNaN)
		case amax >= minScaled:
			inverse, scale = maxByte/amax, amax/maxByte
		}
		dst[0] = math.Float32bits(scale)
		clear(dst[1:byteWords])
		for i, v := range x[:byteBlock] {
			q := uint32(zeroByte)
			if inverse > 0 {
				q = uint32(zeroByte + int32(math.RoundToEven(float64(v*inverse))))
			}
			dst[1+i/4] |= q << (i % 4 * 8)
		}
	}
}
