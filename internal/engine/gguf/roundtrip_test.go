package gguf_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/gguf/gguftest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func reparse(t testing.TB, w *gguftest.Writer) *gguf.File {
	t.Helper()
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWrittenFilesReadBack(t *testing.T) {
	kinds := []gguf.Type{gguf.F32, gguf.F16, gguf.BF16, gguf.Q4_0, gguf.Q8_0, gguf.Q6_K, gguf.Type(27)}
	key := rapid.StringN(0, 20, 60)
	rapid.Check(t, func(r *rapid.T) {
		var w gguftest.Writer
		texts := rapid.MapOf(key, rapid.SliceOf(rapid.String())).Draw(r, "texts")
		for k, v := range texts {
			must(r, w.Set("t"+k, v))
		}
		numbers := rapid.MapOf(key, rapid.SliceOf(rapid.Int32())).Draw(r, "numbers")
		for k, v := range numbers {
			must(r, w.Set("n"+k, v))
		}
		must(r, w.Set("general.alignment", uint32(8)<<rapid.IntRange(0, 6).Draw(r, "alignment")))
		var tensors []gguf.Tensor
		for i := range rapid.IntRange(0, 5).Draw(r, "tensors") {
			kind := rapid.SampledFrom(kinds).Draw(r, "type")
			cols := kind.BlockSize() * rapid.IntRange(1, 3).Draw(r, "blocks")
			rows := rapid.IntRange(1, 4).Draw(r, "rows")
			size := cols / kind.BlockSize() * rows * kind.BlockBytes()
			tensors = append(tensors, gguf.Tensor{
				Name: fmt.Sprint(i),
				Dims: []uint64{uint64(cols), uint64(rows)},
				Type: kind,
				Data: rapid.SliceOfN(rapid.Byte(), size, size).Draw(r, "data"),
			})
			w.Add(tensors[i])
		}
		var b bytes.Buffer
		_, err := w.WriteTo(&b)
		must(r, err)
		f, err := gguf.Parse(b.Bytes())
		must(r, err)
		for k, v := range texts {
			got, err := f.Metadata().Strings("t" + k)
			must(r, err)
			if len(got) != len(v) || len(v) > 0 && !reflect.DeepEqual(got, v) {
				r.Fatalf("got %q, want %q", got, v)
			}
		}
		for k, v := range numbers {
			got, err := f.Metadata().Ints("n" + k)
			must(r, err)
			for i := range v {
				if got[i] != int64(v[i]) {
					r.Fatalf("got %v, want %v", got, v)
				}
			}
		}
		if got := f.Tensors(); len(got) != len(tensors) || len(got) > 0 && !reflect.DeepEqual(got, tensors) {
			r.Fatalf("got %v, want %v", got, tensors)
		}
	})
}

func must(r *rapid.T, err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func TestCopiesAreEqual(t *testing.T) {
	original := sample(t)
	f, err := gguf.Parse(original)
	if err != nil {
		t.Fatal(err)
	}
	var w gguftest.Writer
	if err := w.SetAll(f.Metadata()); err != nil {
		t.Fatal(err)
	}
	for _, tensor := range f.Tensors() {
		w.Add(tensor)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), original) {
		t.Error("a copy of a file is not the file")
	}
}

func TestSetReplaces(t *testing.T) {
	var w gguftest.Writer
	for _, v := range []string{"old", "new"} {
		if err := w.Set("k", v); err != nil {
			t.Fatal(err)
		}
	}
	m := reparse(t, &w).Metadata()
	got, err := m.String("k")
	expect.NoError(t, err)
	expect.Equal(t, "value", got, "new")
	expect.Len(t, "keys", m.Keys(), 1)
}
