package gguf_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/gguf/gguftest"
)

// sample returns a small file with every kind of value and a few storage types, whose last
// byte is the last of a tensor.
func sample(t testing.TB) []byte {
	t.Helper()
	var w gguftest.Writer
	for _, e := range []struct {
		key   string
		value any
	}{
		{"general.architecture", "llama"},
		{"general.alignment", uint32(16)},
		{"a.bool", true},
		{"a.uint8", uint8(200)},
		{"a.int8", int8(-3)},
		{"a.uint16", uint16(60000)},
		{"a.int16", int16(-300)},
		{"a.int32", int32(-70000)},
		{"a.uint64", uint64(1 << 63)},
		{"a.int64", int64(-1 << 40)},
		{"a.float32", float32(1e-5)},
		{"a.float64", 0.1},
		{"a.strings", []string{"", "Ġthe", "\xff\x00"}},
		{"a.floats", []float32{-1, 0.5}},
		{"a.doubles", []float64{2, 3}},
		{"a.ints", []int32{1, -6}},
		{"a.bools", []bool{true, false}},
		{"a.none", []uint16{}},
	} {
		if err := w.Set(e.key, e.value); err != nil {
			t.Fatal(err)
		}
	}
	for _, tensor := range []gguf.Tensor{
		{Name: "norm", Dims: []uint64{3}, Type: gguf.F32, Data: counting(12)},
		{Name: "blk.0.attn_q.weight", Dims: []uint64{32, 2}, Type: gguf.Q4_1, Data: counting(40)},
		{Name: "head", Dims: []uint64{32, 1, 2}, Type: gguf.Q8_0, Data: counting(68)},
	} {
		w.Add(tensor)
	}
	var b bytes.Buffer
	n, err := w.WriteTo(&b)
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(b.Len()) {
		t.Fatalf("WriteTo says %d bytes and wrote %d", n, b.Len())
	}
	return b.Bytes()
}

func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return b
}

// raw builds files that Writer refuses to write.
type raw []byte

func header(version uint32, tensors, entries uint64) raw {
	return raw("GGUF").u32(version).u64(tensors).u64(entries)
}

func (r raw) u32(v uint32) raw { return binary.LittleEndian.AppendUint32(r, v) }
func (r raw) u64(v uint64) raw { return binary.LittleEndian.AppendUint64(r, v) }
func (r raw) str(s string) raw { return append(r.u64(uint64(len(s))), s...) }
func (r raw) zeros(n int) raw  { return append(r, make([]byte, n)...) }

// tensor returns an entry of the header.
func (r raw) tensor(name string, kind gguf.Type, offset uint64, dims ...uint64) raw {
	r = r.str(name).u32(uint32(len(dims)))
	for _, d := range dims {
		r = r.u64(d)
	}
	return r.u32(uint32(kind)).u64(offset)
}

// data returns the section after the header, for an alignment of 32.
func (r raw) data(n int) raw {
	return r.zeros((32 - len(r)%32) % 32).zeros(n)
}

// checkAccepted fails the test if a file that was accepted breaks a promise: all
// getters return, tensors lie apart inside the file, names are unique.
func checkAccepted(t testing.TB, data []byte, f *gguf.File) {
	t.Helper()
	m := f.Metadata()
	for _, key := range m.Keys() {
		kind, elem, ok := m.Kind(key)
		if !ok || !m.Has(key) {
			t.Fatalf("key %q is listed and not there", key)
		}
		got := 0
		for _, err := range getAll(m, key) {
			if err == nil {
				got++
			}
		}
		if got == 0 && elem != gguf.Uint64 && kind != gguf.Uint64 && elem != gguf.Int64 {
			t.Fatalf("no getter reads key %q of kind %v of %v", key, kind, elem)
		}
	}
	covered := 0
	seen := map[string]bool{}
	for _, tensor := range f.Tensors() {
		if seen[tensor.Name] {
			t.Fatalf("tensor %q is there twice", tensor.Name)
		}
		seen[tensor.Name] = true
		b, err := tensor.Bytes()
		if known := tensor.Type.Known(); known != (err == nil) {
			t.Fatalf("known is %v, and the error %v", known, err)
		}
		if err == nil && len(b)*tensor.Type.BlockSize() != tensor.Rows()*tensor.Cols()*tensor.Type.BlockBytes() {
			t.Fatalf("%d bytes for %d×%d values of %v", len(b), tensor.Rows(), tensor.Cols(), tensor.Type)
		}
		covered += len(b)
	}
	if covered > len(data) {
		t.Fatalf("the tensors hold %d bytes, the file %d: some overlap", covered, len(data))
	}
}

func getAll(m *gguf.Metadata, key string) []error {
	_, e1 := m.String(key)
	_, e2 := m.Uint(key)
	_, e3 := m.Float(key)
	_, e4 := m.Bool(key)
	_, e5 := m.Strings(key)
	_, e6 := m.Floats(key)
	_, e7 := m.Ints(key)
	_, e8 := m.Bools(key)
	return []error{e1, e2, e3, e4, e5, e6, e7, e8}
}
