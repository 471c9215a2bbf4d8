package beam

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/schema"
)

// cells are the rows that were read, in order.
type cells []string

func (c *cells) add(b *table.Batch) error {
	for i := range b.Rows {
		var row []string
		for _, v := range b.Columns {
			if v.Codes != nil {
				row = append(row, fmt.Sprint(v.Codes[i]))
			} else {
				row = append(row, fmt.Sprint(v.Steps[i]))
			}
		}
		*c = append(*c, strings.Join(row, " "))
	}
	return nil
}

// small is a schema that allows much.
func small() schema.Schema {
	return schema.Schema{Name: "small", Columns: []schema.Column{
		{Name: "a", Kind: schema.Numeric, Low: 0, High: 10, Clamp: true, Missing: "3"},
		{Name: "b", Kind: schema.Categorical, Values: []string{"x", "y", "other"}, Other: "other", Missing: "y"},
	}}
}

// testCase is a test, or one case of a property.
type testCase interface {
	Helper()
	Fatal(...any)
	Context() context.Context
}

// readLines reads a file in stretches, in the given order of blocks.
func readLines(t testCase, path string, stretch int64, order func(n int) []int) (cells, error) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	p := Part{Path: path, Size: info.Size(), Stretch: stretch, Blocks: max(1, (info.Size()+stretch-1)/stretch)}
	r := rows{Source: input{Files: &fileSet{}}, Schema: small(), Columns: []int{0, 1}}
	o, err := r.openLines(t.Context(), p)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	each := make([]cells, p.Blocks)
	for _, n := range order(int(p.Blocks)) {
		if err := o.block(t.Context(), int64(n), each[n].add); err != nil {
			return nil, err
		}
	}
	return slices.Concat(each...), nil
}

func readWhole(t testCase, path string) (out cells, err error) {
	t.Helper()
	d, err := table.Open(t.Context(), path, table.Options{Schema: small()})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	err = d.Scan(t.Context(), []int{0, 1}, 1, func(_ int, b *table.Batch) error { return out.add(b) })
	return out, err
}

func inOrder(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// TestStretches: cut anywhere, and read in any order, a file has the rows that it has.
func TestStretches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.UseCRLF = rapid.Bool().Draw(t, "crlf")
		rows := rapid.SliceOf(rapid.SampledFrom([][]string{
			{"1", "x", "z"}, {"2.5", "a, b", ""}, {"", "", ""}, {"7", `"y"`, "zzzzzzzzzzzzzzzzzzzzzzzz"}, {"99", "y", "é"},
		})).Draw(t, "rows")
		_ = w.Write([]string{"a", "b", "unused"})
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		data := b.Bytes()
		if rapid.Bool().Draw(t, "open end") {
			data = bytes.TrimRight(data, "\r\n")
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := readWhole(t, path)
		if err != nil {
			t.Fatal(err)
		}
		order := func(n int) []int { return rapid.Permutation(inOrder(n)).Draw(t, "order") }
		if rapid.Bool().Draw(t, "sequential") {
			order = inOrder
		}
		got, err := readLines(t, path, rapid.Int64Range(1, 60).Draw(t, "stretch"), order)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d rows, and there are %d", len(got), len(want))
		}
	})
}

// agree: what is read in stretches is refused, or is what the main module reads.
func agree(t testCase, path string, data []byte, stretch int64) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readLines(t, path, stretch, inOrder)
	if err != nil {
		return
	}
	want, err := readWhole(t, path)
	if err != nil {
		t.Fatal("stretches are read, and the whole file is refused:", err)
	}
	if !slices.Equal(got, want) {
		t.Fatal(len(got), "rows in stretches, and in the whole file", len(want))
	}
}

// TestOddFiles tries files of the bytes that matter.
func TestOddFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	rapid.Check(t, func(t *rapid.T) {
		pieces := []string{"1,x\n", "2,y\r\n", "3,\"x\"\n", "4,\"x\"\"\"\n", ",\n", "\n", "\r\n", "\r", " ", "5,", "\"", "x", "1,\"", "\"\n"}
		usual := rapid.SampledFrom(pieces[:8])
		odd := rapid.SampledFrom(pieces)
		data := "a,b\n" + strings.Join(rapid.SliceOf(usual).Draw(t, "before"), "") +
			strings.Join(rapid.SliceOfN(odd, 0, 2).Draw(t, "odd"), "") + strings.Join(rapid.SliceOf(usual).Draw(t, "after"), "")
		agree(t, path, []byte(data), rapid.Int64Range(1, 20).Draw(t, "stretch"))
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a,b\n1,x\n2,y\n"), int64(3))
	f.Add([]byte("a,b\r\n\"1\",\"x\"\"\"\r\n\r\n2,\"y\""), int64(5))
	f.Add([]byte("\ufeffb,a\nx,1"), int64(1))
	f.Fuzz(func(t *testing.T, data []byte, stretch int64) {
		if stretch < 1 || len(data) > 1<<12 {
			t.Skip()
		}
		agree(t, filepath.Join(t.TempDir(), "a.csv"), data, stretch)
	})
}
