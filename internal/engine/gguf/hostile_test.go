package gguf_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func TestHostileFiles(t *testing.T) {
	one := func(kind gguf.Type, offset uint64, dims ...uint64) raw {
		return header(3, 1, 0).tensor("w", kind, offset, dims...).data(64)
	}
	for _, test := range []struct {
		name   string
		data   raw
		offset int64
		what   string
	}{
		{"empty", nil, 0, "the magic number needs 4 bytes"},
		{"another format", raw("PK\x03\x04").zeros(100), 0, "not a GGUF file"},
		{"version 1", header(1, 0, 0), 4, "version 1"},
		{"version 4", header(4, 0, 0), 4, "version 4 is not known"},
		{"version 0", header(0, 0, 0), 4, "big-endian"},
		{"big-endian", header(3<<24, 0, 0), 4, "big-endian"},
		{"no counts", raw("GGUF").u32(3), 8, "the number of tensors needs 8 bytes"},
		{"2^63 tensors", header(3, 1<<63, 0), 8, "9223372036854775808 tensors cannot fit"},
		{"2^64-1 tensors", header(3, math.MaxUint64, 0), 8, "cannot fit"},
		{"2^63 entries", header(3, 0, 1<<63), 16, "metadata entries cannot fit"},
		{"one entry too many", header(3, 0, 1).zeros(12), 16, "1 metadata entries cannot fit in the 12 bytes"},
		{"key longer than the file", header(3, 0, 1).u64(1 << 62).zeros(64), 32, "a metadata key needs 4611686018427387904 bytes"},
		{"value longer than the file", header(3, 0, 1).str("k").u32(8).u64(1 << 40).zeros(9), 45, `the value of "k" needs`},
		{"unknown kind", header(3, 0, 1).str("k").u32(13).zeros(64), 33, "unknown kind 13"},
		{"kind of 2^32-1", header(3, 0, 1).str("k").u32(math.MaxUint32).zeros(64), 33, "unknown kind 4294967295"},
		{"boolean 2", header(3, 0, 1).str("k").u32(7).u32(2), 37, "should be a boolean"},
		{"array of arrays", header(3, 0, 1).str("k").u32(9).u32(9).u64(1).zeros(64), 37, "an array of array"},
		{"array of an unknown kind", header(3, 0, 1).str("k").u32(9).u32(77).u64(1).zeros(64), 37, "an array of kind 77"},
		{"array of 2^61 numbers of 8 bytes", header(3, 0, 1).str("k").u32(9).u32(10).u64(1 << 61).zeros(64), 41, "cannot fit"},
		{"array of 2^63 strings", header(3, 0, 1).str("k").u32(9).u32(8).u64(1 << 63).zeros(64), 41, "cannot fit"},
		{"array with a long string", header(3, 0, 1).str("k").u32(9).u32(8).u64(2).u64(0).u64(99), 65, "needs 99 bytes"},
		{"two equal keys", header(3, 0, 2).str("k").u32(0).zeros(1).str("k").u32(0).zeros(1), 38, "two metadata entries"},
		{"alignment 0", header(3, 0, 1).str("general.alignment").u32(4).u32(0), 49, "power of two"},
		{"alignment 24", header(3, 0, 1).str("general.alignment").u32(4).u32(24), 49, "power of two"},
		{"alignment 2^31", header(3, 0, 1).str("general.alignment").u32(4).u32(1 << 31), 49, "power of two"},
		{"alignment in words", header(3, 0, 1).str("general.alignment").u32(8).str("32"), 49, "should be an integer"},
		{"negative alignment", header(3, 0, 1).str("general.alignment").u32(5).u32(math.MaxUint32), 49, "should not be negative"},
		{"tensor without a dimension", one(gguf.F32, 0), 24, "0 dimensions"},
		{"tensor with five", one(gguf.F32, 0, 1, 1, 1, 1, 1), 24, "5 dimensions"},
		{"tensor with 2^32-1", header(3, 1, 0).str("w").u32(math.MaxUint32).zeros(64), 24, "4294967295 dimensions"},
		{"dimension 0", one(gguf.F32, 0, 4, 0), 24, "a dimension is 0"},
		{"dimensions that overflow", one(gguf.F32, 0, 1<<32, 1<<32), 24, "too large"},
		{"dimensions that overflow to little", one(gguf.F32, 0, 1<<32+1, 1<<32), 24, "too large"},
		{"bytes that overflow", one(gguf.F32, 0, 1<<62), 24, "too large"},
		{"bytes that overflow to little", one(gguf.F32, 0, 1<<31, 1<<31+4), 24, "too large"},
		{"rows not of whole blocks", one(gguf.Q8_0, 0, 33), 24, "blocks of 32"},
		{"tensor past the end", one(gguf.F32, 0, 17), 24, "not within the 64 bytes"},
		{"tensor far past the end", one(gguf.F32, 1<<62, 1), 24, "not within"},
		{"offset that overflows", one(gguf.F32, math.MaxUint64-31, 8), 24, "not within"},
		{"offset not aligned", one(gguf.F32, 4, 1), 24, "not a multiple of the alignment 32"},
		{"unknown type past the end", one(999, 64, 1), 24, "not within"},
		{"unknown type with many values", one(999, 0, 1<<32, 1<<32), 24, "too large"},
		{
			"two equal names",
			header(3, 2, 0).tensor("w", gguf.F32, 0, 1).tensor("w", gguf.F32, 32, 1).data(64), 57, "two tensors",
		},
		{
			"tensors over each other",
			header(3, 2, 0).tensor("v", gguf.F32, 0, 9).tensor("w", gguf.F32, 32, 1).data(64), 57, `it overlaps tensor "v"`,
		},
		{
			"one tensor inside another, listed first",
			header(3, 2, 0).tensor("v", gguf.F32, 32, 1).tensor("w", gguf.F32, 0, 16).data(64), 24, `it overlaps tensor "w"`,
		},
		{
			"tensors at one place",
			header(3, 2, 0).tensor("v", 999, 0, 1).tensor("w", gguf.F32, 0, 1).data(64), 57, `it overlaps tensor "v"`,
		},
		{"no data section", header(3, 1, 0).tensor("w", gguf.F32, 0, 1), 24, "not within the 0 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := gguf.Parse(test.data)
			var format *gguf.FormatError
			if !errors.As(err, &format) {
				t.Fatalf("got error %v, want a FormatError", err)
			}
			if format.Offset != test.offset || !strings.Contains(err.Error(), test.what) {
				t.Errorf("got %v, want byte %d and %q", err, test.offset, test.what)
			}
		})
	}
}

func TestUnknownTypeIsAnErrorOnlyWhenAskedFor(t *testing.T) {
	f, err := gguf.Parse(header(3, 2, 0).tensor("v", 999, 0, 5, 3).tensor("w", gguf.F32, 32, 1).data(64))
	if err != nil {
		t.Fatal(err)
	}
	v, _ := f.Tensor("v")
	_, err = v.Bytes()
	expect.Equal(t, "error", *expect.As[*gguf.TypeError](t, err), gguf.TypeError{Tensor: "v", Type: 999})
	expect.True(t, "no data", v.Data == nil, v.Data)
	expect.Equal(t, "rows", v.Rows(), 3)
	expect.Equal(t, "columns", v.Cols(), 5)
	w, _ := f.Tensor("w")
	if b, err := w.Bytes(); err != nil || len(b) != 4 {
		t.Errorf("the other tensor gave %d bytes and error %v", len(b), err)
	}
}

func TestLongNamesDoNotFloodErrors(t *testing.T) {
	name := strings.Repeat("x", 1<<16)
	_, err := gguf.Parse(header(3, 1, 0).tensor(name, gguf.F32, 0, 0).data(64))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("got an error of %d bytes", len(fmt.Sprint(err)))
	}
}

func TestEveryPrefixIsRefused(t *testing.T) {
	data := sample(t)
	for n := range data {
		_, err := gguf.Parse(data[:n:n])
		var format *gguf.FormatError
		if !errors.As(err, &format) {
			t.Fatalf("the first %d of %d bytes gave error %v, want a FormatError", n, len(data), err)
		}
		if format.Offset < 0 || format.Offset > int64(n) {
			t.Fatalf("the first %d bytes: the error names byte %d", n, format.Offset)
		}
	}
}

// parseAny parses whatever, and holds the result to what is promised.
func parseAny(t testing.TB, data []byte) {
	f, err := gguf.Parse(data)
	if err == nil {
		checkAccepted(t, data, f)
		return
	}
	var format *gguf.FormatError
	if !errors.As(err, &format) {
		t.Fatalf("got error %v, want a FormatError", err)
	}
}

func TestEverySingleBitChange(t *testing.T) {
	data := sample(t)
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			parseAny(t, data)
			data[i] ^= 1 << bit
		}
	}
}

func TestManyChanges(t *testing.T) {
	original := sample(t)
	rapid.Check(t, func(r *rapid.T) {
		data := append([]byte(nil), original...)
		for range rapid.IntRange(1, 12).Draw(r, "changes") {
			i := rapid.IntRange(0, len(data)-1).Draw(r, "byte")
			data[i] = rapid.Byte().Draw(r, "value")
		}
		parseAny(t, data[:rapid.IntRange(len(data)/2, len(data)).Draw(r, "length")])
	})
}

// allocated returns how many bytes Parse of data takes from the heap, whether they are
// given back or not.
func allocated(data []byte) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := gguf.Parse(data)
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(f)
	runtime.KeepAlive(err)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAllocationFollowsTheFile(t *testing.T) {
	// The smallest entries possible give the most memory for a byte of file.
	const many = 20000
	tensors := header(3, many, 0)
	for i := range many {
		tensors = tensors.tensor(fmt.Sprint(i), gguf.Type(24), uint64(32*i), 1)
	}
	entries := header(3, 0, many)
	for i := range many {
		entries = entries.str(fmt.Sprint(i)).u32(0).zeros(1)
	}
	manyStrings := header(3, 0, 1).str("k").u32(9).u32(8).u64(many).zeros(8 * many)
	for _, test := range []struct {
		name string
		data raw
	}{
		{"2^63 tensors", header(3, 1<<63, 0).zeros(1 << 10)},
		{"2^63 entries", header(3, 0, 1<<63).zeros(1 << 10)},
		{"as many tensors as seem to fit", header(3, 1<<15, 0).zeros(32 << 15)},
		{"as many entries as seem to fit", header(3, 0, 1<<16).zeros(13 << 16)},
		{"string of 2^62 bytes", header(3, 0, 1).str("k").u32(8).u64(1 << 62).zeros(1 << 10)},
		{"array of 2^60 numbers", header(3, 0, 1).str("k").u32(9).u32(10).u64(1 << 60).zeros(1 << 10)},
		{"array of 2^60 strings", header(3, 0, 1).str("k").u32(9).u32(8).u64(1 << 60).zeros(1 << 10)},
		{"2^32-1 dimensions", header(3, 1, 0).str("w").u32(math.MaxUint32).zeros(1 << 10)},
		{"many tensors", tensors.data(32 * many)},
		{"many entries", entries},
		{"many strings", manyStrings},
	} {
		t.Run(test.name, func(t *testing.T) {
			limit := 32*uint64(len(test.data)) + 1<<16
			if got := allocated(test.data); got > limit {
				t.Errorf("parsing %d bytes allocated %d, more than %d", len(test.data), got, limit)
			}
		})
	}
	f, err := gguf.Parse(manyStrings)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(5, func() {
		if _, err := f.Metadata().Strings("k"); err != nil {
			t.Fatal(err)
		}
	}); n > 10 {
		t.Errorf("reading %d strings took %v allocations: they should share memory", many, n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample(f))
	f.Add([]byte(header(2, 1, 1).str("k").u32(9).u32(8).u64(1).str("v").tensor("w", gguf.Q6_K, 0, 256).data(210)))
	f.Add([]byte(header(3, 2, 0).tensor("v", 999, 0, 5, 3).tensor("w", gguf.F32, 32, 1).data(64)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, limit := allocated(data), 64*uint64(len(data))+1<<20; got > limit {
			t.Errorf("parsing %d bytes allocated %d, more than %d", len(data), got, limit)
		}
		parseAny(t, data)
	})
}
