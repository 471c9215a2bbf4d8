package kernel

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
)

// integerTypes are the types whose products are computed in integers.
var integerTypes = func() (list []gguf.Type) {
	for _, t := range types {
		if !layouts[packed[t]].float {
			list = append(list, t)
		}
	}
	return list
}()

// floatTypes are the others.
var floatTypes = []gguf.Type{gguf.F32, gguf.F16, gguf.BF16}

// bothPrecisions are those that activations are rounded to.
var bothPrecisions = []Precision{Bits16, Bits8}

// quantized returns rows of activations as integers.
func quantized(k *Kernels, p Precision, x []float32, rows, cols int) *QuantizedMatrix {
	q := k.NewQuantized(p, rows, cols)
	for i := range rows {
		k.Quantize(q, i, 0, x[i*cols:(i+1)*cols])
	}
	return q
}

// rounded is the definition of Quantize for one block, in float64 where that is exact.
func rounded(p Precision, x []float32) (q [Block]int64, scale float32) {
	largest := map[Precision]float32{Bits16: 32512, Bits8: 127}[p]

	amax := float32(0)
	for _, v := range x {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return [Block]int64{}, float32(math.NaN())
		}
		amax = max(amax, float32(math.Abs(float64(v))))
	}
	if amax < 0x1p-100 {
		return q, 0
	}
	inverse := largest / amax
	for i, v := range x {
		q[i] = int64(math.RoundToEven(float64(v * inverse)))
	}
	return q, amax / largest
}

// integerChain is the definition of MulQuantized for one row as the file holds it.
func integerChain(t *testing.T, p Precision, kind gguf.Type, row []byte, x []float32) float32 {
	t.Helper()
	l, take, size := &layouts[packed[kind]], decoders[kind], kind.BlockBytes()
	y := float32(0)
	step := min(l.group, Block)
	for first := 0; first < len(x); first += step {
		var b block
		take(&b, row[first/l.values*size:][:size])
		at := first % l.values
		q, s := rounded(p, x[first/Block*Block:][:Block])
		sum, total := int64(0), int64(0)
		for i, v := range q[first%Block:][:step] {
			sum, total = sum+(int64(int8(b.quant[at+i]))-int64(l.zero))*v, total+v
		}
		if sum != int64(int32(sum)) {
			t.Fatalf("%v: a sum of %d does not fit into 32 bits", kind, sum)
		}
		scale, minimum := l.affine(b.scale, b.minimum, b.sub[at/l.group], b.subMins[at/l.group])
		y = fma32(float32(int32(sum))*s, scale, y)
		if l.minima {
			y = fma32(float32(total)*s, minimum, y)
		}
	}
	return y
}

// TestMulQuantized holds every level to the definition, for any shape, format and
// split of the panels, and checks that nothing else is written.
func TestMulQuantized(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cols := rapid.SampledFrom([]int{32, 96, 256, 288, 512, 768}).Draw(r, "cols")
		rows := rapid.IntRange(1, 80).Draw(r, "rows")
		n := rapid.IntRange(1, 40).Draw(r, "n")
		p := rapid.SampledFrom(bothPrecisions).Draw(r, "precision")
		kind := rapid.SampledFrom(integerTypes).Filter(func(k gguf.Type) bool { return cols%k.BlockSize() == 0 }).Draw(r, "type")
		data := tensor(random(rapid.Uint64().Draw(r, "seed")), kind, rows, cols)
		m, err := Pack(kind, rows, cols, data)
		if err != nil {
			r.Fatal(err)
		}
		x := floats(random(rapid.Uint64().Draw(r, "seed of x")), n*cols)
		split := rapid.IntRange(0, m.Panels()).Draw(r, "split")
		stride := m.Panels()*Panel + rapid.IntRange(0, 5).Draw(r, "gap")
		blank := make([]float32, (n-1)*stride+m.Panels()*Panel)
		for i := range blank {
			blank[i] = -123.25
		}
		want := append([]float32(nil), blank...)
		for i := range n {
			for j := range m.Panels() * Panel {
				want[i*stride+j] = 0
				if j < rows {
					want[i*stride+j] = integerChain(t, p, kind, data[j*len(data)/rows:(j+1)*len(data)/rows], x[i*cols:(i+1)*cols])
				}
			}
		}
		for _, l := range Levels() {
			k := For(l)
			got := append([]float32(nil), blank...)
			var s Scratch
			q := quantized(k, p, x, n, cols)
			k.MulQuantized(m, split, m.Panels(), q, n, got, stride, &s)
			k.MulQuantized(m, 0, split, q, n, got, stride, &s)
			for i := range n {
				// The sign of zero of the padding depends on the inputs.
				for j := rows; j < m.Panels()*Panel; j++ {
					if got[i*stride+j] == 0 {
						got[i*stride+j] = 0
					}
				}
			}
			same(r, fmt.Sprintf("%v %v %d", l, kind, p), got, want)
		}
	})
}

// TestMulQuantizedLargest multiplies the largest integers there are, of one sign:
// no sum may run over, at any level.
func TestMulQuantizedLargest(t *testing.T) {
	for _, kind := range integerTypes {
		for _, fill := range []byte{0x00, 0xff, 0x7f, 0x80} {
			cols := kind.BlockSize()
			row := make([]byte, kind.BlockBytes())
			for i := range row {
				row[i] = fill
			}
			for _, o := range halves[kind] {
				row[o], row[o+1] = 0x00, 0x3c // 1
			}
			m, err := Pack(kind, 1, cols, row)
			if err != nil {
				t.Fatal(err)
			}
			for _, sign := range []float32{1, -1} {
				x := make([]float32, cols)
				for i := range x {
					x[i] = sign
				}
				many := slices.Repeat(x, 13)
				for _, p := range bothPrecisions {
					want := integerChain(t, p, kind, row, x)
					for _, l := range Levels() {
						got := make([]float32, 13*Panel)
						var s Scratch
						for _, n := range []int{1, 13} {
							For(l).MulQuantized(m, 0, 1, quantized(For(l), p, many, n, cols), n, got, Panel, &s)
							same(t, fmt.Sprintf("%v %v %d %#x n=%d", l, kind, p, fill, n), got[:1], []float32{want})
						}
					}
				}
			}
		}
	}
}

// integersOf reads the integers of a block as the level wrote them.
func integersOf(k *Kernels, p Precision, words []uint32) (q [Block]int64) {
	if k.integers[p].fours {
		for i, w := range words[5:] {
			for j := range 4 {
				q[i/2*8+2*j+i%2] = int64(int8(w >> (8 * j)))
			}
		}
		return q
	}
	for i, w := range words[2:] {
		if !k.planes {
			low, high := pairOf(i)
			q[low], q[high] = int64(int16(w)), int64(int32(w)>>16)
			continue
		}
		// Four words are eight columns: even and odd ones, high bytes and low.
		for j := range 4 {
			part := int64(int8(w >> (8 * j)))
			if i%4 < 2 {
				part *= 256
			}
			q[i/4*8+2*j+i%2] += part
		}
	}
	return q
}

// TestQuantize holds every level to the definition of the integers.
func TestQuantize(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	special := []float32{0, inf, -inf, nan, 0x1p-100, 0x1p-101, -0x1p-100, 3e38, -3e38, 1e-45}
	rapid.Check(t, func(r *rapid.T) {
		blocks := rapid.IntRange(1, 5).Draw(r, "blocks")
		x := floats(random(rapid.Uint64().Draw(r, "seed")), blocks*Block)
		for range rapid.IntRange(0, 2).Draw(r, "specials") {
			x[rapid.IntRange(0, len(x)-1).Draw(r, "at")] = rapid.SampledFrom(special).Draw(r, "special")
		}
		if rapid.Bool().Draw(r, "small") {
			for i := range x {
				x[i] *= 0x1p-101
			}
		}
		p := rapid.SampledFrom(bothPrecisions).Draw(r, "precision")
		for _, l := range Levels() {
			f := &For(l).integers[p]
			got := make([]uint32, blocks*f.blockWords())
			f.quantize(got, x)
			for b := range blocks {
				q, scale := rounded(p, x[b*Block:(b+1)*Block])
				words := got[b*f.blockWords():][:f.blockWords()]
				total, first := int64(0), int64(0)
				for i, v := range q {
					total += v
					if i < Block/2 {
						first += v
					}
				}
				if f.fours {
					starts := [3]int64{int64(int32(words[2])), int64(int32(words[3])), int64(int32(words[4]))}
					if want := [3]int64{-128 * total, -128 * first, -128 * (total - first)}; starts != want {
						r.Fatalf("%v: the sums of block %d start at %d, want %d", l, b, starts, want)
					}
				}
				if got := integersOf(For(l), p, words); got != q {
					r.Fatalf("%v: the integers of block %d are %d, want %d", l, b, got, q)
				}
				sum := float32(total) * scale
				if scale != scale {
					if words[0] != quietNaN || words[1] != quietNaN {
						r.Fatalf("%v: a block with a NaN or an infinity is %#x", l, words[:2])
					}
					continue
				}
				same(r, l.String(), []float32{math.Float32frombits(words[0]), math.Float32frombits(words[1])}, []float32{scale, sum})
			}
		}
	})
}

// TestMulQuantizedAccuracy compares with exact products: rounding an activation
// moves it by at most half a step, 1/65024 or 1/254 of the largest of its block, and each of
// the few operations of a block by 2^-24 of the magnitudes so far.
func TestMulQuantizedAccuracy(t *testing.T) {
	t.Run("16", func(t *testing.T) { mulQuantizedAccuracy(t, Bits16, 65024) })
	t.Run("8", func(t *testing.T) { mulQuantizedAccuracy(t, Bits8, 254) })
}

func mulQuantizedAccuracy(t *testing.T, p Precision, steps float64) {
	r := random(5)
	for _, kind := range integerTypes {
		cols := 1024
		data := tensor(r, kind, Panel, cols)
		m, err := Pack(kind, Panel, cols, data)
		if err != nil {
			t.Fatal(err)
		}
		x := normals(r, cols)
		got := make([]float32, Panel)
		var s Scratch
		k := For(Best())
		k.MulQuantized(m, 0, 1, quantized(k, p, x, 1, cols), 1, got, Panel, &s)
		row := make([]float32, cols)
		for j := range got {
			if err := DequantizeRow(kind, data[j*len(data)/Panel:(j+1)*len(data)/Panel], row); err != nil {
				t.Fatal(err)
			}
			sum, allowed, size := new(big.Float), 0.0, 0.0
			for first := 0; first < cols; first += Block {
				amax := 0.0
				for _, v := range x[first : first+Block] {
					amax = max(amax, math.Abs(float64(v)))
				}
				for c := first; c < first+Block; c++ {
					p := float64(row[c]) * float64(x[c])
					sum.Add(sum, big.NewFloat(p))
					// A minimum and the rest of a weight may cancel: allow for both.
					allowed += math.Abs(float64(row[c])) * amax / steps
					size += (math.Abs(float64(row[c])) + 2*largestWeight(row[first:first+Block])) * amax
				}
			}
			want, _ := sum.Float64()
			if off := math.Abs(float64(got[j]) - want); off > allowed+0x1p-24*float64(4*cols/Block)*size {
				t.Errorf("%v row %d: %v, want %v: off by %g, %g allowed", kind, j, got[j], want, off, allowed)
			}
		}
	}
}

func largestWeight(row []float32) float64 {
	largest := 0.0
	for _, v := range row {
		largest = max(largest, math.Abs(float64(v)))
	}
	return largest
}
