package kernel

import (
	"fmt"
	"math"
)

// Precision is how finely activations are rounded for products in integers.
type Precision uint8

const (
	// Bits16 rounds to 1/32512 of the largest magnitude of a block. 32512 is 127·256, so that
	// an integer is also 256·high + low with both in eight bits, for instructions that
	// multiply bytes.
	Bits16 Precision = iota
	// Bits8 rounds to 1/127 of it: half of the work, or less.
	Bits8
	precisions
)

// largest returns the largest integer that an activation becomes.
func (p Precision) largest() int32 {
	if p == Bits8 {
		return 127
	}
	return 127 * 256
}

// QuantizedMatrix holds rows of activations as integers, for MulQuantized. Every
// block of 32 columns has a scale of its own: the largest magnitude of the
// block over the largest integer, and each value is the nearest multiple of it, halves to
// even.
//
// A block that holds infinities or NaN becomes NaN as a whole. One whose
// largest magnitude is below 2^-100 becomes zero.
type QuantizedMatrix struct {
	// A block begins with two words: the scale and the scale times the sum of
	// the integers, as float32. Then follow, two to a word, the integers in the order
	// that pairOf gives; or eight columns as 16 bytes, where planes says so: high of the
	// columns 0, 2, 4, 6, 1, 3, 5, 7, then low; or with fours -128 times the sums of all
	// integers, of those of the first 16 columns and of the others, and eight columns as 8
	// bytes in the same order. The level that wrote them multiplies them.
	words     []uint32
	stride    int // words of a row
	precision Precision
}

// Block is the number of activations that share a scale.
const Block = 32

const (
	pairWords = 2 + Block/2
	fourWords = 5 + Block/4
	// minScaled is the magnitude below which a block is zero.
	minScaled = 0x1p-100
)

// NewQuantized returns room for rows of cols activations, a multiple of Block.
func (k *Kernels) NewQuantized(p Precision, rows, cols int) *QuantizedMatrix {
	if rows < 0 || cols < 0 || cols%Block != 0 {
		panic(fmt.Sprintf("kernel: %d rows of %d activations, which is no multiple of %d", rows, cols, Block))
	}
	stride := cols / Block * k.integers[p].blockWords()
	return &QuantizedMatrix{words: words(rows * stride), stride: stride, precision: p}
}

// Bytes returns the memory that the rows take.
func (q *QuantizedMatrix) Bytes() int { return 4 * len(q.words) }

// Quantize writes activations to columns of a row, from a multiple of Block on.
// Their number is a multiple of Block, too.
func (k *Kernels) Quantize(q *QuantizedMatrix, row, from int, x []float32) {
	f := &k.integers[q.precision]
	size := f.blockWords()
	if from%Block != 0 || len(x)%Block != 0 || from < 0 || row < 0 || (from+len(x))/Block*size > q.stride {
		panic(fmt.Sprintf("kernel: activations %d to %d of row %d do not fit", from, from+len(x), row))
	}
	at := row*q.stride + from/Block*size
	f.quantize(q.words[at:at+len(x)/Block*size], x)
}

// pairOf returns the columns of the low and the high half of a word, of the
// sixteen of a block: what the nibbles of a packed word give when it is shifted
// by 0, 4, 8 and 12 bits.
func pairOf(word int) (low, high int) {
	low = word/4*8 + word%4
	return low, low + 4
}

func quantizePortable(integer int32, dst []uint32, x []float32) {
	steps := float32(integer)
	for ; len(x) > 0; x, dst = x[Block:], dst[pairWords:] {
		largest := uint32(0)
		for _, v := range x[:Block] {
			largest = max(largest, math.Float32bits(v)&^(1<<31))
		}
		amax := math.Float32frombits(largest)
		clear(dst[:pairWords])
		switch {
		case largest >= 0xff<<23:
			dst[0], dst[1] = quietNaN, quietNaN
			continue
		case amax < minScaled:
			continue
		}
		inverse, scale, sum := steps/amax, amax/steps, int32(0)
		var q [Block]int32
		for i, v := range x[:Block] {
			q[i] = int32(math.RoundToEven(float64(v * inverse)))
			sum += q[i]
		}
		dst[0], dst[1] = math.Float32bits(scale), math.Float32bits(float32(sum)*scale)
		for i := range dst[2:pairWords] {
			low, high := pairOf(i)
			dst[2+i] = uint32(uint16(q[low])) | uint32(q[high])<<16
		}
	}
}

const quietNaN = 0x7fc00000
