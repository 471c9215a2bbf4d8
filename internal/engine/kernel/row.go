package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
)

// decoders take the blocks of quantised types apart.
var decoders = map[gguf.Type]decode{
	gguf.Q4_0: decodeQ4_0,
	gguf.Q4_1: decodeQ4_1,
	gguf.Q4_K: decodeQ4_K,
	gguf.Q5_0: decodeQ5_0,
	gguf.Q5_1: decodeQ5_1,
	gguf.Q5_K: decodeQ5_K,
	gguf.Q6_K: decodeQ6_K,
	gguf.Q8_0: decodeQ8_0,
}

// supported reports whether matrices of this type can be packed.
func supported(t gguf.Type) bool {
	_, ok := packed[t]
	return ok
}

// RowBytes returns the size of a row of cols values as a GGUF file holds it.
func RowBytes(t gguf.Type, cols int) (int, error) {
	if !supported(t) {
		return 0, fmt.Errorf("tensor type %v is not supported%s; use a file of the same model in F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K or Q6_K, such as one whose name has Q4_K_M", t, unlike(t))
	}
	if cols <= 0 || cols%t.BlockSize() != 0 {
		return 0, fmt.Errorf("a row of %d values is no whole number of blocks of %v, which hold %d", cols, t, t.BlockSize())
	}
	return cols / t.BlockSize() * t.BlockBytes(), nil
}

// unlike describes the types that are not supported, by family.
func unlike(t gguf.Type) string {
	switch name := t.String(); {
	case t == gguf.Q2_K || t == gguf.Q3_K:
		return " (its weights have two or three bits, and a minimum for every 16)"
	case strings.HasPrefix(name, "IQ"):
		return " (its weights are entries of a table that llama.cpp compiles in)"
	case strings.HasPrefix(name, "TQ"):
		return " (its weights have three values)"
	case strings.HasPrefix(name, "MX"):
		return " (its weights are 4-bit floating-point numbers)"
	}
	return ""
}

// DequantizeRow writes the values of one row of a GGUF tensor, exactly those
// that products compute with.
func DequantizeRow(t gguf.Type, row []byte, dst []float32) error {
	need, err := RowBytes(t, len(dst))
	if err != nil {
		return err
	}
	if len(row) != need {
		return fmt.Errorf("a row of %d values of %v has %d bytes, not %d", len(dst), t, need, len(row))
	}
	switch t {
	case gguf.F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:]))
		}
		return nil
	case gguf.F16:
		for i := range dst {
			dst[i] = half(binary.LittleEndian.Uint16(row[2*i:]))
		}
		return nil
	case gguf.BF16:
		for i := range dst {
			dst[i] = bfloat(binary.LittleEndian.Uint16(row[2*i:]))
		}
		return nil
	}
	l, take, size := &layouts[packed[t]], decoders[t], t.BlockBytes()
	b := borrowBlock()
	defer blocks.Put(b)
	for ; len(dst) > 0; dst, row = dst[l.values:], row[size:] {
		take(b, row[:size])
		b.weights(l, dst[:l.values])
	}
	return nil
}

func (b *block) weights(l *layout, dst []float32) {
	for g := range l.values / l.group {
		scale, minimum := l.affine(b.scale, b.minimum, b.sub[g], b.subMins[g])
		quants, values := b.quant[g*l.group:][:l.group], dst[g*l.group:][:l.group]
		if !l.affineQuants() {
			for i, q := range quants {
				values[i] = float32(int8(q)) * scale
			}
			continue
		}
		for i, q := range quants {
			// One rounding: the product is exact, so it does not matter
			// whether the compiler fuses it with the addition.
			values[i] = float32(int8(q))*scale + minimum
		}
	}
}

// affine returns the scale and the minimum of a group of quants. All products are exact: 11
// bits of a binary16 by 7 bits at most.
func (l *layout) affine(d, m uint16, sub, subMin int8) (scale, minimum float32) {
	scale = half(d)
	switch {
	case l.sub && l.minima:
		return scale * float32(sub), -(half(m) * float32(subMin))
	case l.sub:
		return scale * float32(sub), 0
	case l.minima:
		return scale, half(m)
	case l.zero != 0:
		return scale, scale * -float32(l.zero)
	}
	return scale, 0
}
