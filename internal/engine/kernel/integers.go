package kernel

import (
	"fmt"
	"math"
)

// Products in integers.
//
// A weight of a quantised format is scale*integer + minimum, the integer in
// eight bits; 32 columns of a row share scale and minimum, or 16 a scale. With
// activations x = s*q, of which 32 share s, the part of a sum that belongs to
// these columns is
//
//	s*scale*Σ integer*q + minimum*s*Σ q.
//
// Both sums are exact in 32 bits: 2^7·32512·32 < 2^31. So whatever order or
// instructions add them up, a product is
//
//	y = fma(float32(Σ integer*q)*s, scale, y)
//	y = fma(float32(Σ q)*s, minimum, y)         where the format has minima
//
// over the columns in rising order, from y = +0.

// 32 unpacked columns of a panel are
//
//	integers  [16][32]uint32   pairs of columns of int16, as pairOf gives them
//	scales    [32]float32      of the first 16 columns where the format has two
//	others    [32]float32      minima, or the scales of the last 16 columns
//
// Levels that multiply bytes lay them out otherwise, in less room. With fours they are [8][32]uint32: of
// eight columns the even ones, then the odd ones, in bytes, to which 128 is added on some
// levels, for instructions that multiply unsigned bytes by signed ones.

// sharing states what the columns of an unpacked group share.
type sharing = uint8

const (
	oneScale    sharing = iota // the scale
	withMinimum                // scale and minimum
	twoScales                  // a scale in either half
)

// sharing returns what 32 columns share in a format.
func (l *layout) sharing() sharing {
	switch {
	case l.group < Block:
		return twoScales
	case l.minima:
		return withMinimum
	}
	return oneScale
}

// Integer reports whether MulQuantized takes the matrix: whether its weights
// are quantised.
func (m *Matrix) Integer() bool { return !layouts[m.format].float }

// MulQuantized multiplies panels p0 to p1-1 of a matrix of quantised weights by
// the first n rows of activations, in integers as described above: for every
// row t < n, panel p and row j < 32 of it,
//
//	dst[t*dstStride + 32*p + j] = Σ w[32*p+j][k] * x[t][k]
//
// The bits do not depend on n, the panels, the level or the threads. Rows of dst
// need room for all 32 rows of the last panel.
func (k *Kernels) MulQuantized(m *Matrix, p0, p1 int, x *QuantizedMatrix, n int, dst []float32, dstStride int, s *Scratch) {
	l := &layouts[m.format]
	if p0 < 0 || p1 > m.Panels() {
		panic(fmt.Sprintf("kernel: panels %d to %d of a matrix of %d", p0, p1, m.Panels()))
	}
	f := &k.integers[x.precision]
	size := f.blockWords()
	if l.float || m.Cols/Block*size != x.stride {
		panic(fmt.Sprintf("kernel: activations of %d columns for a matrix of %d", x.stride/size*Block, m.Cols))
	}
	if n <= 0 || p0 >= p1 {
		return
	}
	if n*x.stride > len(x.words) {
		panic(fmt.Sprintf("kernel: %d rows of activations, and there are %d", n, len(x.words)/x.stride))
	}
	check("dst", dst, n, dstStride, p1*Panel)
	if n == 1 {
		dstStride = 0
	}
	groups := m.Cols / Block
	if vector := f.vector[m.format]; vector != nil && n <= f.vectorTokens {
		for p := p0; p < p1; p++ {
			vector(n, dst[p*Panel:], dstStride, m.data[p*m.stride:(p+1)*m.stride], x.words, x.stride, groups*Block/l.values)
		}
		return
	}
	j := integerJob{integerFuncs: f, x: x.words, xStride: x.stride, dst: dst, dstStride: dstStride, n: n, scratch: s.groups()}
	for p := p0; p < p1; p += j.panels {
		j.panels, j.inner, j.sizes = 1, f.tile, f.tileTokens
		depth := even(groups, unpackedGroups, 1)
		if f.pair != nil && p+2 <= p1 {
			j.panels, j.inner, j.sizes = 2, f.pair, f.pairTokens
			depth = even(groups, f.pairedGroups(), 1)
		}
		for g := 0; g < groups; g += depth {
			j.mulGroups(m, p, g, min(g+depth, groups))
		}
	}
}

// unpackedGroups is the number of groups of a panel that are unpacked at a
// time: they stay in the cache nearest to the core, with the inputs of a tile.
const unpackedGroups = 8

// pairedGroups is the number of each of two panels; those of the second lie
// unpackedGroups after those of the first.
func (f *integerFuncs) pairedGroups() int {
	if f.fours {
		return unpackedGroups
	}
	return 6
}

func (s *Scratch) groups() []uint32 {
	if s.integers == nil {
		s.integers = words(2 * unpackedGroups * (Block/2 + 2) * Panel)
	}
	return s.integers
}

// integerJob is the part of a product in integers that its inner loops share.
type integerJob struct {
	*integerFuncs
	x, scratch []uint32
	dst        []float32

	xStride, dstStride, n int

	// inner multiplies so many panels at once by numbers of tokens that are among the sizes.
	panels int
	sizes  []int
	inner  tileIntFunc
}

// mulGroups multiplies groups of columns of the job's panels.
func (j *integerJob) mulGroups(m *Matrix, p, first, end int) {
	l := &layouts[m.format]
	for i := range j.panels {
		j.unpackGroups(m, p+i, first, end, j.scratch[i*unpackedGroups*j.groupWords():])
	}
	j.multiply(end-first, j.x[first*j.blockWords():], j.dst[p*Panel:], l.sharing(), first > 0)
}

// unpackGroups unpacks groups of columns of a panel.
func (f *integerFuncs) unpackGroups(m *Matrix, p, first, end int, to []uint32) {
	l, panel := &layouts[m.format], m.data[p*m.stride:(p+1)*m.stride]
	for g := first; g < end; {
		n := end - g
		perBlock := l.values / Block
		if l.sub {
			n = min(n, perBlock-g%perBlock)
		}
		f.unpack[m.format](to[(g-first)*f.groupWords():][:n*f.groupWords()], panel[g/perBlock*l.bytes():], g%perBlock, n)
		g += n
	}
}

// multiply splits the tokens over tiles.
func (j *integerJob) multiply(groups int, x []uint32, dst []float32, share sharing, add bool) {
	for n := j.n; ; {
		tokens := tileSize(n, j.sizes)
		j.inner(tokens, groups, x, j.xStride, j.scratch, dst, j.dstStride, share, add)
		if n -= tokens; n == 0 {
			return
		}
		x, dst = x[tokens*j.xStride:], dst[tokens*j.dstStride:]
	}
}

type (
	// unpackIntFunc writes groups of columns as groupWords describes. src begins at a block,
	// of which the first groups are skipped. Where the format has subscales, the groups must
	// lie in that block; else a block is one group, and skip must be zero.
	unpackIntFunc func(dst []uint32, src []byte, skip, groups int)
	// tileIntFunc multiplies unpacked groups by the inputs of some tokens. The chains begin at
	// dst's present value if add is set and at +0 if not.
	tileIntFunc func(tokens, groups int, x []uint32, xStride int, w []uint32, dst []float32, dstStride int, share sharing, add bool)
	// vectorIntFunc multiplies a panel by the inputs of a few tokens.
	vectorIntFunc func(tokens int, dst []float32, dstStride int, src []byte, x []uint32, xStride, blocks int)
)

// unpackIntPortable returns the unpackIntFunc of a format in plain Go.
func unpackIntPortable(f format) unpackIntFunc {
	l := &layouts[f]
	const groupWords = (Block/2 + 2) * Panel
	return func(dst []uint32, src []byte, skip, groups int) {
		for g := range groups {
			if l.sub {
				l.unpackIntegers(dst[g*groupWords:], src, skip+g)
			} else {
				l.unpackIntegers(dst[g*groupWords:], src[g*l.bytes():], 0)
			}
		}
	}
}

// unpackIntegers writes 32 columns of a block, the g-th of it.
func (l *layout) unpackIntegers(dst []uint32, src []byte, g int) {
	quants := src[l.quants():]
	scales, others := dst[Block/2*Panel:], dst[(Block/2+1)*Panel:]
	for lane := range Panel {
		scale, other := l.affineOf(src, g*Block/l.group, lane)
		switch l.sharing() {
		case twoScales:
			other, _ = l.affineOf(src, g*Block/l.group+1, lane)
		case oneScale:
			other = 0 // the integers are less the zero already
		}
		scales[lane], others[lane] = math.Float32bits(scale), math.Float32bits(other)
		for i := range Block / 2 {
			low, high := pairOf(i)
			a := int32(l.quant(quants, g*Block+low, lane)) - int32(l.zero)
			b := int32(l.quant(quants, g*Block+high, lane)) - int32(l.zero)
			dst[i*Panel+lane] = uint32(uint16(a)) | uint32(b)<<16
		}
	}
}

// tileIntPortable is tileIntFunc in plain Go.
func tileIntPortable(tokens, groups int, x []uint32, xStride int, w []uint32, dst []float32, dstStride int, share sharing, add bool) {
	for t := range tokens {
		out := (*[Panel]float32)(dst[t*dstStride:])
		if !add {
			*out = [Panel]float32{}
		}
		for g := range groups {
			in := (*[pairWords]uint32)(x[t*xStride+g*pairWords:])
			group := (*[(Block/2 + 2) * Panel]uint32)(w[g*(Block/2+2)*Panel:])
			s, total := math.Float32frombits(in[0]), math.Float32frombits(in[1])
			scales, others := group[Block/2*Panel:], group[(Block/2+1)*Panel:]
			if share == twoScales {
				addSums(out, dotPairs(in[2:10], group[:]), s, scales)
				addSums(out, dotPairs(in[10:], group[8*Panel:]), s, others)
				continue
			}
			addSums(out, dotPairs(in[2:], group[:]), s, scales)
			if share == withMinimum {
				for j := range out {
					out[j] = fma32(total, math.Float32frombits(others[j]), out[j])
				}
			}
		}
	}
}

// dotPairs adds up the products of pairs of integers for each row.
func dotPairs(pairs, w []uint32) (sums [Panel]int32) {
	for i, pair := range pairs {
		low, high := int32(int16(pair)), int32(pair)>>16
		for j, v := range (*[Panel]uint32)(w[i*Panel:]) {
			sums[j] += int32(int16(v))*low + int32(v)>>16*high
		}
	}
	return sums
}

// addSums adds sums times scales to the chains.
func addSums(chains *[Panel]float32, sums [Panel]int32, s float32, scales []uint32) {
	for j, sum := range sums {
		chains[j] = fma32(float32(sum)*s, math.Float32frombits(scales[j]), chains[j])
	}
}
