package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/engine/safetensors"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// file puts a header and n bytes of data together.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range n {
		b = append(b, byte(i))
	}
	return b
}

func entry(name, kind, shape string, start, end int) string {
	return fmt.Sprintf(`%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, kind, shape, start, end)
}

// sample lists its tensors in another order than their data.
func sample() []byte {
	return file(`{"__metadata__":{"format":"pt"},`+
		entry("b", "I64", "[2]", 12, 28)+","+
		entry("none", "F16", "[3,0]", 28, 28)+","+
		entry("w", "F32", "[1,3]", 0, 12)+","+
		entry("one", "BF16", "[]", 28, 30)+"}  ", 30)
}

func TestTensors(t *testing.T) {
	f, err := safetensors.Parse(sample())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tensor := range f.Tensors() {
		names = append(names, tensor.Name)
	}
	if want := []string{"b", "none", "w", "one"}; !reflect.DeepEqual(names, want) {
		t.Errorf("got tensors %v, want %v", names, want)
	}
	w, ok := f.Tensor("w")
	expect.True(t, "ok", ok)
	expect.Equal(t, "w.Type", w.Type, safetensors.F32)
	expect.True(t, "w.Shape equal to []uint64{1, 3}", reflect.DeepEqual(w.Shape, []uint64{1, 3}), w.Shape)
	expect.True(t, "w.Data equal to []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}", bytes.Equal(w.Data, []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), string(w.Data))
	if cap(w.Data) != len(w.Data) {
		t.Error("appending to a tensor's data would write into the file")
	}
	if one, _ := f.Tensor("one"); !bytes.Equal(one.Data, []byte{28, 29}) {
		t.Errorf("got tensor %+v", one)
	}
	if _, ok := f.Tensor("v"); ok {
		t.Error("found a tensor that is not there")
	}
	if f.Metadata()["format"] != "pt" || f.Size() != int64(len(sample())) {
		t.Errorf("got metadata %v and size %d", f.Metadata(), f.Size())
	}
}

func TestHostileFiles(t *testing.T) {
	for _, test := range []struct {
		name   string
		data   []byte
		offset int64
		what   string
	}{
		{"empty", nil, 0, "needs 8 bytes, and the file has 0"},
		{"header of 2^63 bytes", binary.LittleEndian.AppendUint64(nil, 1<<63), 0, "longer than the format allows"},
		{"header longer than the file", binary.LittleEndian.AppendUint64(nil, 3), 0, "needs 3 bytes, and the file ends after 0"},
		{"empty header", file("", 0), 8, "not a JSON object"},
		{"array", file("[]", 0), 8, "not a JSON object"},
		{"not closed", file(`{`, 0), 9, "not complete"},
		{"not JSON", file(`{"w":~}`, 0), 13, "not valid JSON"},
		{"more after it", file(`{}{}`, 0), 11, "has more after its end"},
		{"tensor is a number", file(`{"w":7}`, 0), 14, `a JSON "number"`},
		{"metadata of numbers", file(`{"__metadata__":{"a":7}}`, 0), 31, `a JSON "number"`},
		{"deep nesting", file(`{"w":`+strings.Repeat("[", 20000)+strings.Repeat("]", 20000)+`}`, 0), 8, "nested more than 32 deep"},
		{"two equal names", file("{"+entry("w", "U8", "[1]", 0, 1)+","+entry("w", "U8", "[1]", 1, 2)+"}", 2), 60, "twice"},
		{"two metadata", file(`{"__metadata__":{},"__metadata__":{}}`, 0), 26, "twice"},
		{"unknown type", file("{"+entry("w", "F4", "[2]", 0, 1)+"}", 1), 9, `type "F4"`},
		{"no type", file(`{"w":{"shape":[1],"data_offsets":[0,1]}}`, 1), 9, `type ""`},
		{"no shape", file(`{"w":{"dtype":"U8","data_offsets":[0,1]}}`, 1), 9, "no shape"},
		{"null shape", file(`{"w":{"dtype":"U8","shape":null,"data_offsets":[0,1]}}`, 1), 9, "no shape"},
		{"no offsets", file(`{"w":{"dtype":"U8","shape":[1]}}`, 1), 9, "has 0 offsets"},
		{"three offsets", file(`{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}`, 1), 9, "has 3 offsets"},
		{"negative dimension", file("{"+entry("w", "U8", "[-1]", 0, 1)+"}", 1), 61, `field "shape"`},
		{"half a dimension", file("{"+entry("w", "U8", "[0.5]", 0, 1)+"}", 1), 62, `field "shape"`},
		{"dimensions that overflow", file("{"+entry("w", "U8", "[4294967296,4294967297]", 0, 1)+"}", 1), 9, "not what a shape"},
		{"dimensions that overflow to little", file("{"+entry("w", "U8", "[4294967296,4294967296,5]", 0, 0)+"}", 0), 9, "not what a shape"},
		{"too few bytes", file("{"+entry("w", "F32", "[2]", 0, 7)+"}", 7), 9, "not what a shape"},
		{"end before start", file("{"+entry("w", "F32", "[0]", 4, 0)+"}", 4), 9, "not what a shape"},
		{"past the end", file("{"+entry("w", "U8", "[3]", 0, 3)+"}", 2), 9, "the data has 2 bytes"},
		{"gap", file("{"+entry("w", "U8", "[1]", 1, 2)+"}", 2), 9, "starts at 1, and the one before it ends at 0"},
		{"rest", file("{"+entry("w", "U8", "[1]", 0, 1)+"}", 2), 9, "end at 1, and the data has 2 bytes"},
		{"rest without tensors", file("{}", 1), 8, "end at 0, and the data has 1 bytes"},
		{
			"overlap",
			file("{"+entry("v", "U8", "[2]", 0, 2)+","+entry("w", "U8", "[2]", 1, 3)+"}", 3), 60, "starts at 1, and the one before it ends at 2",
		},
		{
			"same place",
			file("{"+entry("v", "U8", "[2]", 0, 2)+","+entry("w", "U8", "[2]", 0, 2)+"}", 2), 60, "starts at 0, and the one before it ends at 2",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := safetensors.Parse(test.data)
			var format *safetensors.FormatError
			if !errors.As(err, &format) {
				t.Fatalf("got error %v, want a FormatError", err)
			}
			if format.Offset != test.offset || !strings.Contains(err.Error(), test.what) {
				t.Errorf("got %v, want byte %d and %q", err, test.offset, test.what)
			}
		})
	}
}

func TestLongNamesDoNotFloodErrors(t *testing.T) {
	name := strings.Repeat("x", 1<<16)
	_, err := safetensors.Parse(file("{"+entry(name, name, "["+strings.Repeat("1,", 1000)+"1]", 0, 1)+"}", 1))
	if err == nil || len(err.Error()) > 400 {
		t.Errorf("got an error of %d bytes", len(fmt.Sprint(err)))
	}
}

func TestEveryPrefixIsRefused(t *testing.T) {
	data := sample()
	for n := range data {
		parseAny(t, data[:n:n])
		if _, err := safetensors.Parse(data[:n:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", n, len(data))
		}
	}
}

// parseAny parses whatever, and holds the result to what is promised.
func parseAny(t testing.TB, data []byte) {
	f, err := safetensors.Parse(data)
	if err != nil {
		var format *safetensors.FormatError
		if !errors.As(err, &format) {
			t.Fatalf("got error %v, want a FormatError", err)
		}
		if format.Offset < 0 || format.Offset > int64(len(data)) {
			t.Fatalf("%d bytes, and the error names byte %d", len(data), format.Offset)
		}
		return
	}
	seen, covered := map[string]bool{}, 0
	for _, tensor := range f.Tensors() {
		if seen[tensor.Name] {
			t.Fatal("a tensor is there twice")
		}
		seen[tensor.Name] = true
		size := tensor.Type.Size()
		for _, d := range tensor.Shape {
			size *= int(d)
		}
		if len(tensor.Data) != size {
			t.Fatalf("%d bytes for a shape of %v of %v", len(tensor.Data), tensor.Shape, tensor.Type)
		}
		covered += size
	}
	if header := int(binary.LittleEndian.Uint64(data)); 8+header+covered != len(data) {
		t.Fatalf("a header of %d and tensors of %d bytes in a file of %d", header, covered, len(data))
	}
}

func TestEverySingleBitChange(t *testing.T) {
	data := sample()
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			parseAny(t, data)
			data[i] ^= 1 << bit
		}
	}
}

func TestManyChanges(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		data := sample()
		for range rapid.IntRange(1, 8).Draw(r, "changes") {
			i := rapid.IntRange(0, len(data)-1).Draw(r, "byte")
			data[i] = rapid.SampledFrom([]byte(`0123456789[]{}",:ab \`)).Draw(r, "value")
		}
		parseAny(t, data)
	})
}

func allocated(data []byte) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := safetensors.Parse(data)
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(f)
	runtime.KeepAlive(err)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAllocationFollowsTheFile(t *testing.T) {
	var many strings.Builder
	many.WriteString("{")
	for i := range 5000 {
		fmt.Fprintf(&many, `"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},`, i)
	}
	many.WriteString(entry("w", "U8", "[1]", 0, 1) + "}")
	for name, data := range map[string][]byte{
		"long header":     binary.LittleEndian.AppendUint64(nil, longest),
		"many tensors":    file(many.String(), 1),
		"many dimensions": file("{"+entry("w", "U8", "["+strings.Repeat("1,", 50000)+"1]", 0, 1)+"}", 1),
		"huge dimensions": file("{"+entry("w", "U8", "[9223372036854775808]", 0, 1)+"}", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if got, limit := allocated(data), 48*uint64(len(data))+1<<16; got > limit {
				t.Errorf("%s: parsing %d bytes allocated %d, more than %d", name, len(data), got, limit)
			}
		})
	}
}

const longest = 100_000_000

func FuzzParse(f *testing.F) {
	f.Add(sample())
	f.Add(file("{}", 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, limit := allocated(data), 64*uint64(len(data))+1<<20; got > limit {
			t.Errorf("parsing %d bytes allocated %d, more than %d", len(data), got, limit)
		}
		parseAny(t, data)
	})
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := os.WriteFile(path, sample(), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Release(); err != nil {
		t.Errorf("release: %v", err)
	}
	if w, _ := f.Tensor("w"); len(w.Data) != 12 || w.Data[11] != 11 {
		t.Error("the data changed when its pages were released")
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if _, ok := f.Tensor("w"); ok || len(f.Tensors()) != 0 {
		t.Error("a closed file still gives tensors")
	}
	if err := os.WriteFile(path, sample()[:50], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := safetensors.Open(path); err == nil || !strings.Contains(err.Error(), "model.safetensors: safetensors: byte") {
		t.Errorf("a file cut off gave error %v", err)
	}
}

func ExampleParse() {
	f, err := safetensors.Parse(sample())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	w, ok := f.Tensor("w")
	fmt.Println(ok, w.Type, w.Shape, len(w.Data))
	// Output: true F32 [1 3] 12
}
