package gguf_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/gguf/gguftest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func parseSample(t *testing.T) *gguf.File {
	t.Helper()
	f, err := gguf.Parse(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestGetters(t *testing.T) {
	m := parseSample(t).Metadata()
	get := func(v any, err error) any {
		if err != nil {
			return err
		}
		return v
	}
	text := func(key string) any { v, err := m.String(key); return get(v, err) }
	natural := func(key string) any { v, err := m.Uint(key); return get(v, err) }
	number := func(key string) any { v, err := m.Float(key); return get(v, err) }
	truth := func(key string) any { v, err := m.Bool(key); return get(v, err) }
	texts := func(key string) any { v, err := m.Strings(key); return get(v, err) }
	floats := func(key string) any { v, err := m.Floats(key); return get(v, err) }
	ints := func(key string) any { v, err := m.Ints(key); return get(v, err) }
	truths := func(key string) any { v, err := m.Bools(key); return get(v, err) }
	for _, test := range []struct {
		get  func(string) any
		key  string
		want any
	}{
		{text, "general.architecture", "llama"},
		{natural, "general.alignment", uint64(16)},
		{natural, "a.uint8", uint64(200)},
		{natural, "a.uint16", uint64(60000)},
		{natural, "a.uint64", uint64(1 << 63)},
		{number, "a.uint64", 0x1p63},
		{number, "a.int8", -3.0},
		{number, "a.int16", -300.0},
		{number, "a.int32", -70000.0},
		{number, "a.int64", -0x1p40},
		{number, "a.float32", float64(float32(1e-5))},
		{number, "a.float64", 0.1},
		{truth, "a.bool", true},
		{texts, "a.strings", []string{"", "Ġthe", "\xff\x00"}},
		{floats, "a.floats", []float32{-1, 0.5}},
		{floats, "a.doubles", []float32{2, 3}},
		{ints, "a.ints", []int64{1, -6}},
		{ints, "a.none", []int64{}},
		{truths, "a.bools", []bool{true, false}},

		{text, "b", `metadata key "b" is missing`},
		{texts, "b", "is missing"},
		{text, "a.bool", "is a value of kind bool, and should be a string"},
		{natural, "a.int8", "is -3, and should not be negative"},
		{natural, "a.float32", "should be an integer"},
		{natural, "a.ints", "is an array of 2 int32, and should be an integer"},
		{number, "a.bool", "should be a number"},
		{truth, "a.uint8", "should be a boolean"},
		{texts, "general.architecture", "should be an array of strings"},
		{texts, "a.ints", "should be an array of strings"},
		{floats, "a.ints", "should be an array of floating-point numbers"},
		{ints, "a.floats", "should be an array of integers"},
		{ints, "a.strings", "should be an array of integers"},
		{truths, "a.bool", "should be an array of booleans"},
	} {
		got := test.get(test.key)
		if err, failed := got.(error); failed {
			want, isText := test.want.(string)
			expect.True(t, "no error for "+test.key, isText, err)
			expect.Equal(t, "the error's key", expect.As[*gguf.KeyError](t, err).Key, test.key)
			expect.Contains(t, "error for "+test.key, err.Error(), want)
		} else if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.key, got, test.want)
		}
	}
	if n := m.Len("a.strings"); n != 3 {
		t.Errorf("a.strings has length %d, want 3", n)
	}
}

func TestUint64ArraysBeyondInt64AreRefused(t *testing.T) {
	var w gguftest.Writer
	if err := w.Set("k", []uint64{1, 1 << 63}); err != nil {
		t.Fatal(err)
	}
	_, err := reparse(t, &w).Metadata().Ints("k")
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got error %v", err)
	}
}

func TestTensors(t *testing.T) {
	f := parseSample(t)
	var names []string
	for _, tensor := range f.Tensors() {
		names = append(names, tensor.Name)
	}
	if want := []string{"norm", "blk.0.attn_q.weight", "head"}; !reflect.DeepEqual(names, want) {
		t.Errorf("got tensors %v, want %v", names, want)
	}
	head, ok := f.Tensor("head")
	expect.True(t, "a tensor head", ok)
	expect.Equal(t, "rows", head.Rows(), 2)
	expect.Equal(t, "columns", head.Cols(), 32)
	expect.Equal(t, "type", head.Type, gguf.Q8_0)
	expect.Equal(t, "data", string(head.Data), string(counting(68)))
	if cap(head.Data) != len(head.Data) {
		t.Error("appending to a tensor's data would write into the file")
	}
	if _, ok := f.Tensor("tail"); ok {
		t.Error("found a tensor that is not there")
	}
	if f.Version() != 3 || f.Size() != int64(len(sample(t))) {
		t.Errorf("got version %d and size %d", f.Version(), f.Size())
	}
}

func TestVersion2(t *testing.T) {
	data := sample(t)
	data[4] = 2
	f, err := gguf.Parse(data)
	if err != nil || f.Version() != 2 {
		t.Fatalf("got %v, error %v", f, err)
	}
}

func TestVocabularyOnly(t *testing.T) {
	f, err := gguf.Parse(header(3, 0, 1).str("k").u32(0).zeros(1))
	if err != nil || len(f.Tensors()) != 0 {
		t.Fatalf("a file without tensors gave %v, error %v", f, err)
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, sample(t), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	words, err := f.Metadata().Strings("a.strings")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Release(); err != nil {
		t.Errorf("release: %v", err)
	}
	norm, _ := f.Tensor("norm")
	if !bytes.Equal(norm.Data, counting(12)) {
		t.Error("the data changed when its pages were released")
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if err := f.Release(); err != nil {
		t.Errorf("release after close: %v", err)
	}
	if words[1] != "Ġthe" {
		t.Error("strings do not outlive the file")
	}
	if _, err := f.Metadata().Strings("a.strings"); !errors.Is(err, gguf.ErrClosed) {
		t.Errorf("a closed file gave error %v", err)
	}
	if _, ok := f.Tensor("norm"); ok || len(f.Tensors()) != 0 {
		t.Error("a closed file still gives tensors")
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	empty, cut := filepath.Join(dir, "empty"), filepath.Join(dir, "cut.gguf")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, sample(t)[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                         "not a regular file",
		empty:                       "is empty",
		cut:                         "cut.gguf: gguf: byte",
		filepath.Join(dir, "other"): "other",
	} {
		_, err := gguf.Open(path)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", path, err, want)
		}
	}
	if _, err := gguf.Open(filepath.Join(dir, "other")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gave error %v", err)
	}
}

func TestTypes(t *testing.T) {
	for _, test := range []struct {
		kind          gguf.Type
		number        uint32
		name          string
		values, bytes int
	}{
		{gguf.F32, 0, "F32", 1, 4},
		{gguf.F16, 1, "F16", 1, 2},
		{gguf.Q4_0, 2, "Q4_0", 32, 2 + 16},
		{gguf.Q4_1, 3, "Q4_1", 32, 2 + 2 + 16},
		{gguf.Q5_0, 6, "Q5_0", 32, 2 + 4 + 16},
		{gguf.Q5_1, 7, "Q5_1", 32, 2 + 2 + 4 + 16},
		{gguf.Q8_0, 8, "Q8_0", 32, 2 + 32},
		{gguf.Q4_K, 12, "Q4_K", 256, 2 + 2 + 12 + 128},
		{gguf.Q5_K, 13, "Q5_K", 256, 2 + 2 + 12 + 32 + 128},
		{gguf.Q6_K, 14, "Q6_K", 256, 128 + 64 + 16 + 2},
		{gguf.BF16, 30, "BF16", 1, 2},
		{4, 4, "type 4", 0, 0},
	} {
		at := expect.At(t, "%v", test.kind)
		expect.Equal(at, "test.kind", uint32(test.kind), test.number)
		expect.Equal(at, "test.kind", test.kind.String(), test.name)
		expect.Equal(at, "test.kind.BlockSize()", test.kind.BlockSize(), test.values)
		expect.Equal(at, "test.kind.BlockBytes()", test.kind.BlockBytes(), test.bytes)
	}
}
