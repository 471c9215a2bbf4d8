package kernel

import "github.com/sotto-dp/sotto/internal/engine/gguf"

// format names a packed format: how a panel of 32 rows lies in memory.
type format uint8

const (
	packF32 format = iota
	packF16
	packBF16
	pack4  // Q4_0
	pack4m // Q4_1
	pack4k // Q4_K
	pack8  // Q8_0, Q5_0
	pack8m // Q5_1
	pack8k // Q5_K
	pack6k // Q6_K
	formats

	floatFormats = packBF16 + 1
)

// layout describes a packed format. A panel is a sequence of blocks, each of
// all 32 rows and a number of columns. Every field of a block is an array over
// the 32 rows, so that SIMD lanes are rows:
//
//	scales     [32]f16
//	minima     [32]f16                  if minima
//	subscales  [values/group][32]int8   if sub
//	subminima  [values/group][32]int8   if sub and minima
//	quants     [values/8][32]uint32     if bits is 4: eight columns of a row, the first one lowest
//	           [values/8][2][32]uint32  if bits is 8: columns 0, 1, 4, 5 and 2, 3, 6, 7, the first lowest
//
// The float formats have one field, [1][32] values of 16 or 32 bits.
//
// A weight is quant*scale + minimum, rounded once (quant*scale is exact in
// float32 for all formats). With sub, the scale is scale*subscale and the
// minimum -(minimum*subminimum), both exact. With zero, the minimum is
// -zero*scale, exact too.
type layout struct {
	values int
	group  int
	bits   int
	zero   int
	minima bool
	sub    bool
	float  bool
}

var layouts = [formats]layout{
	packF32:  {values: 1, group: 1, bits: 32, float: true},
	packF16:  {values: 1, group: 1, bits: 16, float: true},
	packBF16: {values: 1, group: 1, bits: 16, float: true},
	pack4:    {values: 32, group: 32, bits: 4, zero: 8},
	pack4m:   {values: 32, group: 32, bits: 4, minima: true},
	pack4k:   {values: 256, group: 32, bits: 4, minima: true, sub: true},
	pack8:    {values: 32, group: 32, bits: 8},
	pack8m:   {values: 32, group: 32, bits: 8, minima: true},
	pack8k:   {values: 256, group: 32, bits: 8, minima: true, sub: true},
	pack6k:   {values: 256, group: 16, bits: 8, sub: true},
}

// packed names the packed format of each GGUF type.
var packed = map[gguf.Type]format{
	gguf.F32:  packF32,
	gguf.F16:  packF16,
	gguf.BF16: packBF16,
	gguf.Q4_0: pack4,
	gguf.Q4_1: pack4m,
	gguf.Q4_K: pack4k,
	gguf.Q5_0: pack8,
	gguf.Q5_1: pack8m,
	gguf.Q5_K: pack8k,
	gguf.Q6_K: pack6k,
	gguf.Q8_0: pack8,
}

// affineQuants reports whether a minimum is added to the products.
func (l *layout) affineQuants() bool { return l.minima || l.zero != 0 }

// bytes returns the size of a block of a panel.
func (l *layout) bytes() int { return l.quants() + l.values*Panel*l.bits/8 }

// quants returns the offset of the quants in a block.
func (l *layout) quants() int {
	if l.float {
		return 0
	}
	n := 2 * Panel
	if l.sub {
		n += l.values / l.group * Panel
	}
	if l.minima {
		n *= 2
	}
	return n
}

// subscales returns the offset of the subscales in a block.
func (l *layout) subscales() int {
	if l.minima {
		return 4 * Panel
	}
	return 2 * Panel
}

// subminima returns the offset of the subminima in a block.
func (l *layout) subminima() int { return l.subscales() + l.values/l.group*Panel }
