package kernel

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestBlocks compares with values that another implementation computed; the
// file says which.
func TestBlocks(t *testing.T) {
	file, err := os.Open("testdata/blocks.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	byName := make(map[string]gguf.Type)
	for _, kind := range types {
		byName[kind.String()] = kind
	}
	seen := make(map[gguf.Type]int)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		kind := byName[fields[0]]
		data, err := hex.DecodeString(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		bits, err := hex.DecodeString(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float32, len(bits)/4)
		for i := range want {
			want[i] = math.Float32frombits(binary.BigEndian.Uint32(bits[4*i:]))
		}
		got := make([]float32, len(want))
		if err := DequantizeRow(kind, data, got); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] != want[i] { // +0 and -0 may differ, and do no harm
				t.Errorf("%v: value %d is %v, want %v", kind, i, got[i], want[i])
			}
		}
		seen[kind]++
	}
	for _, kind := range types {
		if seen[kind] == 0 {
			t.Errorf("no block of type %v", kind)
		}
	}
}

func TestHalf(t *testing.T) {
	for bits := range 1 << 16 {
		h := uint16(bits)
		mantissa, exponent := float64(h&0x3ff), int(h>>10&0x1f)
		want := math.Ldexp(mantissa, -24)
		switch {
		case exponent == 0x1f && mantissa == 0:
			want = math.Inf(1)
		case exponent == 0x1f:
			want = math.NaN()
		case exponent > 0:
			want = math.Ldexp(1024+mantissa, exponent-25)
		}
		if h>>15 == 1 {
			want = -want
		}
		got := float64(half(h))
		if got != want && (got == got || want == want) {
			t.Fatalf("half(%#04x) = %v, want %v", h, got, want)
		}
		if sign := math.Signbit(got); sign != (h>>15 == 1) {
			t.Fatalf("half(%#04x) is negative: got %v, want %v", h, sign, !sign)
		}
	}
}

// TestUnpack holds what is packed, and the unpacking of floats at every level, to DequantizeRow.
func TestUnpack(t *testing.T) {
	for _, kind := range types {
		for _, rows := range []int{1, 31, 32, 45} {
			cols := 512
			data := tensor(random(uint64(rows)), kind, rows, cols)
			m, err := Pack(kind, rows, cols, data)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]float32, rows*cols)
			for r := range rows {
				size := len(data) / rows
				if err := DequantizeRow(kind, data[r*size:(r+1)*size], want[r*cols:(r+1)*cols]); err != nil {
					t.Fatal(err)
				}
			}
			for _, l := range Levels() {
				same(t, l.String()+" "+kind.String(), unpacked(For(l), m), want)
			}
		}
	}
}

// unpacked returns the matrix row by row.
func unpacked(k *Kernels, m *Matrix) []float32 {
	values := make([]float32, m.Rows*m.Cols)
	columns := make([]float32, m.Cols*Panel)
	for p := range m.Panels() {
		f, panel := m.format, m.data[p*m.stride:(p+1)*m.stride]
		l := &layouts[f]
		if l.float {
			k.unpack[f](columns, panel)
		} else {
			for c := 0; c < m.Cols; c += l.group {
				unpackGroup(l, columns[c*Panel:], panel[c/l.values*l.bytes():], c%l.values/l.group)
			}
		}
		for r := p * Panel; r < min(p*Panel+Panel, m.Rows); r++ {
			for c := range m.Cols {
				values[r*m.Cols+c] = columns[c*Panel+r%Panel]
			}
		}
	}
	return values
}

// unpackGroup writes the weights of one group of a quantised block.
func unpackGroup(l *layout, dst []float32, src []byte, g int) {
	for lane := range Panel {
		scale, minimum := l.affineOf(src, g, lane)
		for k := range l.group {
			w := float32(l.quant(src[l.quants():], g*l.group+k, lane)) * scale
			if l.affineQuants() {
				w += minimum
			}
			dst[k*Panel+lane] = w
		}
	}
}

// FuzzPack packs any bytes, as any type. What is packed must be what DequantizeRow gives.
func FuzzPack(f *testing.F) {
	for i, kind := range types {
		f.Add(uint8(i), tensor(random(uint64(i)), kind, 1, kind.BlockSize()))
	}
	f.Fuzz(func(t *testing.T, index uint8, data []byte) {
		kind := types[int(index)%len(types)]
		rows := len(data) / kind.BlockBytes()
		m, err := Pack(kind, rows, kind.BlockSize(), data)
		if err != nil {
			if rows > 0 && len(data)%kind.BlockBytes() == 0 {
				t.Fatal(err)
			}
			return
		}
		want := make([]float32, rows*m.Cols)
		for r := range rows {
			if err := DequantizeRow(kind, data[r*kind.BlockBytes():(r+1)*kind.BlockBytes()], want[r*m.Cols:(r+1)*m.Cols]); err != nil {
				t.Fatal(err)
			}
		}
		for _, l := range Levels() {
			for i, got := range unpacked(For(l), m) {
				if math.Float32bits(got) != math.Float32bits(want[i]) && (got == got || want[i] == want[i]) {
					t.Fatalf("%v %v: weight %d is %x, want %x", l, kind, i, got, want[i])
				}
			}
		}
	})
}

func TestPackErrors(t *testing.T) {
	row := tensor(random(1), gguf.Q4_1, 1, 64)
	for _, c := range []struct {
		name, want string
		call       func() error
	}{
		{"table", "IQ4_XS is not supported (its weights are entries of a table", func() error { _, err := Pack(gguf.Type(23), 1, 256, make([]byte, 136)); return err }},
		{"two bits", "Q2_K is not supported (its weights have two or three bits", func() error { _, err := Pack(gguf.Q2_K, 1, 256, make([]byte, 84)); return err }},
		{"three bits", "Q3_K is not supported (its weights have two or three bits", func() error { _, err := Pack(gguf.Q3_K, 1, 256, make([]byte, 110)); return err }},
		{"ternary", "TQ2_0 is not supported (its weights have three values)", func() error { _, err := Pack(gguf.Type(35), 1, 256, make([]byte, 66)); return err }},
		{"floats of 4 bits", "MXFP4 is not supported (its weights are 4-bit", func() error { _, err := Pack(gguf.Type(39), 1, 32, make([]byte, 17)); return err }},
		{"advice", "whose name has Q4_K_M", func() error { _, err := Pack(gguf.Type(99), 1, 32, nil); return err }},
		{"columns", "whole number of blocks", func() error { _, err := Pack(gguf.Q4_1, 1, 40, row); return err }},
		{"no columns", "whole number of blocks", func() error { _, err := Pack(gguf.F32, 1, 0, nil); return err }},
		{"negative", "whole number of blocks", func() error { _, err := Pack(gguf.F32, 1, -4, nil); return err }},
		{"no rows", "needs 40 bytes a row", func() error { _, err := Pack(gguf.Q4_1, 0, 64, nil); return err }},
		{"short", "needs 40 bytes a row", func() error { _, err := Pack(gguf.Q4_1, 2, 64, row); return err }},
		{"long", "needs 40 bytes a row", func() error { _, err := Pack(gguf.Q4_1, 1, 64, append(row, 0)); return err }},
		{"huge", "needs 40 bytes a row", func() error { _, err := Pack(gguf.Q4_1, math.MaxInt/2, 64, row); return err }},
		{"no row", "needs a row", func() error { _, err := PackRows(gguf.Q4_1, 64, nil); return err }},
		{"a short row", "row 1", func() error { _, err := PackRows(gguf.Q4_1, 64, [][]byte{row, row[1:]}); return err }},
		{"dst", "40 bytes, not 39", func() error { return DequantizeRow(gguf.Q4_1, row[1:], make([]float32, 64)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.call(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestBytes checks that quantised weights stay quantised.
func TestBytes(t *testing.T) {
	for kind, limit := range map[gguf.Type]float64{
		gguf.Q4_0: 4.5, gguf.Q4_1: 5, gguf.Q4_K: 4.625, gguf.Q8_0: 8.5, gguf.Q6_K: 8.5625,
		gguf.F16: 16, gguf.BF16: 16, gguf.F32: 32,
	} {
		m := packed32(t, random(1), kind, 64, 512)
		if bits := 8 * float64(m.Bytes()) / (64 * 512); bits > limit {
			t.Errorf("%v takes %v bits a weight", kind, bits)
		}
	}
}

func TestAligned(t *testing.T) {
	for _, n := range []int{1, 63, 64, 1000, 1 << 20} {
		b := aligned(n)
		expect.Equal(t, "length", len(b), n)
		expect.Equal(t, "capacity", cap(b), n)
		expect.Equal(t, "offset in a line", uintptr(unsafe.Pointer(&b[0]))%line, 0)
	}
}
