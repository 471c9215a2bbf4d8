package kernel

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// byteMatrix draws a matrix in bytes, some of whose rows have few values that count.
func byteMatrix(t testing.TB, seed uint64, rows, cols int) (*ByteMatrix, [][]float32) {
	t.Helper()
	r := random(seed)
	list := make([][]float32, rows)
	for i := range list {
		list[i] = normals(r, cols)
		switch r.IntN(4) {
		case 0:
			list[i][r.IntN(cols)] *= 1000
		case 1:
			for j := range list[i] {
				list[i][j] = float32(math.Abs(float64(list[i][j])))
			}
		}
	}
	m, err := PackBytes(cols, list, normals(r, rows))
	if err != nil {
		t.Fatal(err)
	}
	return m, list
}

// weight returns what the matrix has for a column of a row after the rotation, and its scale.
func (m *ByteMatrix) weight(row, col int) (int64, float32) {
	block := m.data[row/Panel*m.stride()+col/byteBlock*byteBytes:]
	col %= byteBlock
	w := int8(block[byteWeights+col/4*4*Panel+row%Panel*4+col%4])
	return int64(w), math.Float32frombits(binary.LittleEndian.Uint32(block[byteScales+row%Panel*4:]))
}

// byteChain is the definition of MulBytes for a row of the matrix.
func byteChain(m *ByteMatrix, row int, x []float32) float32 {
	y := m.bias[row]
	turned := make([]float32, len(x))
	rotatePortable(turned, x)
	for b := 0; b < m.Cols; b += byteBlock {
		block := turned[b : b+byteBlock]
		amax, finite := float32(0), true
		for _, v := range block {
			finite = finite && !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
			amax = max(amax, float32(math.Abs(float64(v))))
		}
		s, sum := amax/63, int64(0)
		switch {
		case !finite:
			s = float32(math.NaN())
		case amax < 0x1p-100:
			s = 0
		default:
			for i, v := range block {
				w, _ := m.weight(row, b+i)
				sum += w * int64(math.RoundToEven(float64(v*(63/amax))))
			}
		}
		_, scale := m.weight(row, b)
		y = fma32(float32(sum)*s, scale, y)
	}
	return y
}

// TestMulBytes holds every level to the definition, for any shape and split of the panels,
// and checks that nothing else is written.
func TestMulBytes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cols := ByteBlock * rapid.IntRange(1, 9).Draw(r, "blocks")
		rows := rapid.IntRange(1, 80).Draw(r, "rows")
		n := rapid.IntRange(1, 40).Draw(r, "n")
		m, _ := byteMatrix(t, rapid.Uint64().Draw(r, "seed"), rows, cols)
		x := floats(random(rapid.Uint64().Draw(r, "seed of x")), n*cols)
		if rapid.Bool().Draw(r, "odd") {
			x[rapid.IntRange(0, len(x)-1).Draw(r, "at")] = rapid.SampledFrom([]float32{float32(math.Inf(1)), float32(math.NaN()), 1e30}).Draw(r, "value")
		}
		split := rapid.IntRange(0, m.Panels()).Draw(r, "split")
		stride := m.Panels()*Panel + rapid.IntRange(0, 5).Draw(r, "gap")
		blank := make([]float32, (n-1)*stride+m.Panels()*Panel)
		for i := range blank {
			blank[i] = -123.25
		}
		want := slices.Clone(blank)
		for i := range n {
			for j := range rows {
				want[i*stride+j] = byteChain(m, j, x[i*cols:(i+1)*cols])
			}
		}
		for _, l := range Levels() {
			k, got := For(l), slices.Clone(blank)
			var q ByteRows
			q.Reset(n, cols)
			for i := range n {
				k.RoundBytes(&q, i, x[i*cols:(i+1)*cols])
			}
			k.MulBytes(m, split, m.Panels(), &q, n, got, stride)
			k.MulBytes(m, 0, split, &q, n, got, stride)
			for i := range n {
				for j := rows; j < m.Panels()*Panel; j++ {
					got[i*stride+j] = blank[0]
				}
			}
			same(r, fmt.Sprint(l), got, want)
		}
	})
}

// TestMulBytesLargest multiplies what adds up to the largest sums there are: weights of one
// sign where the activations are the largest, after the rotation.
func TestMulBytesLargest(t *testing.T) {
	for _, sign := range []float32{1, -1} {
		for place := range ByteBlock {
			// One value alone becomes 128 of the same magnitude.
			row, x := make([]float32, ByteBlock), make([]float32, ByteBlock)
			row[place], x[place] = sign, 1
			m, err := PackBytes(ByteBlock, [][]float32{row}, []float32{0})
			if err != nil {
				t.Fatal(err)
			}
			want := byteChain(m, 0, x)
			// The scale is about twice as coarse there, so that 16 bits hold the sums.
			if math.Abs(float64(want-sign)) > 1.0/128 {
				t.Fatalf("%v times 1 is %v", sign, want)
			}
			for _, l := range Levels() {
				k, got := For(l), make([]float32, Panel)
				var q ByteRows
				q.Reset(1, ByteBlock)
				k.RoundBytes(&q, 0, x)
				k.MulBytes(m, 0, 1, &q, 1, got, Panel)
				if got[0] != want {
					t.Fatalf("%v, column %d: got %v, want %v", l, place, got[0], want)
				}
			}
		}
	}
}

// TestBytesAreBounded checks, for rows that would not be so, that 16 bits hold every sum that
// a level may make of them, for the largest activations where they make it larger.
func TestBytesAreBounded(t *testing.T) {
	all := slices.Repeat([]int8{127}, byteBlock)
	if bounded((*[byteBlock]int8)(all)) {
		t.Fatal("weights of 127 alone count as bounded")
	}
	m, _ := byteMatrix(t, 5, 64, 2*ByteBlock)
	coarser := 0
	for row := range m.Rows {
		for first := 0; first < m.Cols; first += 8 {
			for pair := 0; pair < 4; pair += 2 {
				above, below := int64(0), int64(0)
				for i := range 4 {
					w, _ := m.weight(row, first+i/2*4+pair+i%2)
					above, below = above+127*max(w, 0), below+127*max(-w, 0)
				}
				if above > math.MaxInt16 || below > math.MaxInt16 {
					t.Fatalf("row %d, column %d: sums of %d and -%d", row, first+pair, above, below)
				}
			}
		}
		for b := 0; b < m.Cols; b += byteBlock {
			largest := int64(0)
			for i := range byteBlock {
				w, _ := m.weight(row, b+i)
				largest = max(largest, w, -w)
			}
			if largest < 126 {
				coarser++
			}
		}
	}
	if coarser == 0 {
		t.Error("no row needed a coarser scale, so the check says nothing")
	}
}

// TestBytesAreNear holds products in bytes to the exact ones: the errors of rounding are
// those of steps of 1/63 and 1/127 of the largest value after the rotation.
func TestBytesAreNear(t *testing.T) {
	const cols, n = 384, 8
	m, rows := byteMatrix(t, 7, 96, cols)
	x := normals(random(8), n*cols)
	for i := range n {
		x[i*cols+5] = 40 // an outlier, as layers have them
	}
	k := For(Best())
	var q ByteRows
	q.Reset(n, cols)
	got := make([]float32, n*96)
	for i := range n {
		k.RoundBytes(&q, i, x[i*cols:(i+1)*cols])
	}
	k.MulBytes(m, 0, m.Panels(), &q, n, got, 96)
	for i := range n {
		for j, row := range rows {
			want, ww, xx := float64(m.bias[j]), 0.0, 0.0
			for c, w := range row {
				v := float64(x[i*cols+c])
				want, ww, xx = want+float64(w)*v, ww+float64(w)*float64(w), xx+v*v
			}
			if d := math.Abs(float64(got[i*96+j]) - want); d > 0.01*math.Sqrt(ww*xx) {
				t.Errorf("token %d, row %d: got %v, want %v of magnitude %v", i, j, got[i*96+j], want, math.Sqrt(ww*xx))
			}
		}
	}
}

func TestBytesRefuse(t *testing.T) {
	for _, c := range []struct {
		cols int
		rows [][]float32
		bias []float32
	}{
		{100, [][]float32{make([]float32, 100)}, make([]float32, 1)},
		{ByteBlock, nil, nil},
		{ByteBlock, [][]float32{make([]float32, ByteBlock)}, nil},
		{ByteBlock, [][]float32{make([]float32, 1)}, make([]float32, 1)},
	} {
		if _, err := PackBytes(c.cols, c.rows, c.bias); err == nil {
			t.Errorf("%d columns, %d rows, %d biases are packed", c.cols, len(c.rows), len(c.bias))
		}
	}
	for _, odd := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		row := make([]float32, ByteBlock)
		row[3] = odd
		m, err := PackBytes(ByteBlock, [][]float32{row}, []float32{0})
		if err != nil {
			t.Fatal(err)
		}
		if y := byteChain(m, 0, normals(random(1), ByteBlock)); y == y && !math.IsInf(float64(y), 0) {
			t.Errorf("a weight of %v gives %v", odd, y)
		}
	}
}

// goldenBytes is the digest of products in bytes; see golden.
const goldenBytes = "5f685f180555bdd95582aa2ae158cbd7"

func TestGoldenBytes(t *testing.T) {
	for _, l := range Levels() {
		k, h := For(l), sha256.New()
		for _, n := range []int{1, 3, 9, 20} {
			m, _ := byteMatrix(t, uint64(n), 40, 5*ByteBlock)
			x, dst := floats(random(uint64(n)), n*m.Cols), make([]float32, n*64)
			var q ByteRows
			q.Reset(n, m.Cols)
			for i := range n {
				k.RoundBytes(&q, i, x[i*m.Cols:(i+1)*m.Cols])
			}
			k.MulBytes(m, 0, 2, &q, n, dst, 64)
			for i := range n {
				for _, v := range dst[i*64 : i*64+40] {
					h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
				}
			}
		}
		if got := fmt.Sprintf("%x", h.Sum(nil)[:16]); got != goldenBytes {
			t.Errorf("%v: digest %s, want %s", l, got, goldenBytes)
		}
	}
}

// BenchmarkMulBytes prints how fast products are, and how many times faster than in float32.
func BenchmarkMulBytes(b *testing.B) {
	for _, cols := range []int{384, 1536} {
		const n, rows = 192, 384
		m, list := byteMatrix(b, 1, rows, cols)
		f, err := PackRows(0, cols, rowsOf(list))
		if err != nil {
			b.Fatal(err)
		}
		x, dst := normals(random(2), n*cols), make([]float32, n*rows)
		for _, l := range Levels()[1:] {
			b.Run(fmt.Sprintf("%v/%d", l, cols), func(b *testing.B) {
				k := For(l)
				var s Scratch
				const times = 20
				k.Mul(f, 0, f.Panels(), x, cols, n, dst, rows, &s)
				begin := time.Now()
				for range times {
					k.Mul(f, 0, f.Panels(), x, cols, n, dst, rows, &s)
				}
				slow := time.Since(begin).Seconds() / times
				var q ByteRows
				q.Reset(n, cols)
				for b.Loop() {
					for i := range n {
						k.RoundBytes(&q, i, x[i*cols:(i+1)*cols])
					}
					k.MulBytes(m, 0, m.Panels(), &q, n, dst, rows)
				}
				fast := b.Elapsed().Seconds() / float64(b.N)
				b.ReportMetric(2*rows*n*float64(cols)/fast/1e9, "Gop/s")
				b.ReportMetric(slow/fast, "x-float32")
			})
		}
	}
}

func rowsOf(list [][]float32) (rows [][]byte) {
	for _, row := range list {
		var b []byte
		for _, v := range row {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		rows = append(rows, b)
	}
	return rows
}
