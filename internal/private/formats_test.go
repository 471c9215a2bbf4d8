package private_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/privacy/sketch"
	"github.com/sotto-dp/sotto/schema"
	"github.com/sotto-dp/sotto/sys/expect"
)

// twins are the same made-up records in all formats, as testdata/make.py writes them with the
// libraries that people use.
func twins(t *testing.T) []string {
	t.Helper()
	out := []string{"splits#train", "hub#train", "saved", "files", "files#train", "semicolon.csv#;", "tabs.csv#tab", "book.xlsx#Reviews"}
	err := filepath.WalkDir("testdata/twins", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != "testdata/twins" {
			return fs.SkipDir
		}
		if name := filepath.Base(path); err == nil && !d.IsDir() && name != "comma.csv" {
			out = append(out, name)
		}
		return err
	})
	if err != nil || len(out) < 20 {
		t.Fatalf("%d twins: %v", len(out), err)
	}
	return out
}

type poolView struct {
	records []string
	sketch  sketch.Sketch
}

// TestFormatsOfRecords: records are the same in all formats, and so is what the ledger knows
// them by.
func TestFormatsOfRecords(t *testing.T) {
	private := t.TempDir()
	read := func(t *testing.T, name string) (s poolView) {
		t.Helper()
		d, err := record.Open(context.Background(), filepath.Join("testdata/twins", name), record.Options{
			Text: "text", Condition: "label", Labels: []string{"negative", "positive"}, Together: true, Private: private,
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer d.Close()
		var refs []seal.Ref
		for unit := range 48 {
			ref, err := d.Choose(0, unit, nil) // a unit of one record needs no randomness
			if err != nil {
				t.Fatal(err)
			}
			refs = append(refs, ref)
		}
		slices.Reverse(refs) // in any order, each by its place
		all, err := d.Fetch(context.Background(), refs)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range slices.Backward(all) {
			s.records = append(s.records, seal.Condition(r)+": "+seal.Text(r))
		}
		if s.sketch, err = d.Sketch(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	base := read(t, "comma.csv")
	if len(base.records) != 48 || !strings.Contains(strings.Join(base.records, ""), "\nafter a year") {
		t.Fatalf("%d records, or without their lines", len(base.records))
	}
	for _, name := range twins(t) {
		t.Run(name, func(t *testing.T) {
			got := read(t, name)
			if !slices.Equal(got.records, base.records) {
				t.Error("the records differ")
			}
			if got.sketch.Whole != base.sketch.Whole || !slices.Equal(got.sketch.Rows.Hashes, base.sketch.Rows.Hashes) {
				t.Error("the ledger would not know them exactly")
			}
		})
	}
}

// TestSealedFormats: uploads, which are encrypted, are read in all formats too, and leave nothing
// of a record in the private folder.
func TestSealedFormats(t *testing.T) {
	private, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"comma.csv", "book.xlsx", "lz4.feather", "array.json.gz", "utf16le.csv", "tab.tsv"} {
		data, err := os.ReadFile(filepath.Join("testdata/twins", name))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		w, err := keys.Seal(private, &b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name+origin.SealedExt)
		if err := errors.Join(w.Close(), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		d, err := record.Open(context.Background(), path, record.Options{Text: "text", Condition: "label", Private: private})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		n := 0
		if err := d.Scan(context.Background(), func(seal.Record) error { n++; return nil }); err != nil || n != 48 {
			t.Errorf("%s: %d records: %v", name, n, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	err := filepath.WalkDir(private, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		kept, err := os.ReadFile(path)
		if bytes.Contains(kept, []byte("umbrella")) {
			t.Errorf("%s holds a part of a record", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFormatsOfTables: so it is for tables.
func TestFormatsOfTables(t *testing.T) {
	private := t.TempDir()
	of := schema.Schema{Columns: []schema.Column{
		{Name: "label", Kind: schema.Categorical, Values: []string{"negative", "positive"}},
		{Name: "score", Kind: schema.Numeric, Low: 0, High: 100},
		{Name: "member", Kind: schema.Categorical, Values: []string{"true", "false"}, Aliases: map[string]string{"TRUE": "true", "FALSE": "false"}},
	}}
	read := func(t *testing.T, name string) (s poolView) {
		t.Helper()
		path := filepath.Join("testdata/twins", name)
		d, err := table.Open(context.Background(), path, table.Options{Schema: of, Private: private})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer d.Close()
		err = d.Scan(context.Background(), nil, 1, func(_ int, b *table.Batch) error {
			for i := range b.Rows {
				row := ""
				for _, c := range b.Columns {
					row += fmt.Sprint(c.At(i), " ")
				}
				s.records = append(s.records, row)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Unchanged(); err != nil {
			t.Error(err)
		}
		if s.sketch, err = d.Sketch(context.Background()); err != nil {
			t.Fatal(err)
		}
		names, _, err := table.Describe(context.Background(), path, table.Options{})
		if strings.Contains(name, ".json") {
			if !errors.Is(err, table.ErrInRecords) {
				t.Errorf("keys of records are names of columns: %v", err)
			}
		} else if err != nil || !slices.Contains(names, "score") {
			t.Errorf("%d names of columns: %v", len(names), err)
		}
		return s
	}
	base := read(t, "comma.csv")
	if len(base.records) != 48 {
		t.Fatalf("%d rows", len(base.records))
	}
	for _, name := range twins(t) {
		t.Run(name, func(t *testing.T) {
			got := read(t, name)
			if !slices.Equal(got.records, base.records) {
				t.Error("the rows differ")
			}
			if got.sketch.Whole != base.sketch.Whole {
				t.Error("the ledger would not know them exactly")
			}
		})
	}
}

// TestFolderOfCSV: the shards of a folder are read as one file of the same text is, whatever separates fields: with line
// ends in quotes, and rows that cannot be used one by one.
func TestFolderOfCSV(t *testing.T) {
	private := t.TempDir()
	for name, c := range map[string]struct{ file, ext, head, one, two string }{
		"comma":     {"all.csv", ".csv", "text,label\n", "\"two\r\nlines\",a\nb \"quote,a\n", "\"x\"\"y\",b\nmore,b,c\n"},
		"semicolon": {"all.csv", ".csv", "text;label\r\n", "one, two;a\r\n", "three;b"},
		"tabs":      {"all.tsv", ".tsv", "text\tlabel\n", "5\" wide\ta\n", "\n6\" wide\tb\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{c.file: c.head + c.one + c.two, "hub/train-1" + c.ext: "\ufeff" + c.head + strings.TrimRight(c.one, "\r\n"), "hub/train-2" + c.ext: c.head + c.two} {
				path := filepath.Join(dir, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			var got []poolView
			for _, location := range []string{c.file, "hub", "hub#train"} {
				d, err := record.Open(t.Context(), filepath.Join(dir, location), record.Options{Text: "text", Condition: "label", Private: private, OnError: origin.OnErrorSkip})
				if err != nil {
					t.Fatalf("%s: %v", location, err)
				}
				defer d.Close()
				var s poolView
				if err := d.Scan(t.Context(), func(r seal.Record) error {
					s.records = append(s.records, seal.Condition(r)+": "+seal.Text(r))
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				if s.sketch, err = d.Sketch(); err != nil {
					t.Fatal(err)
				}
				got = append(got, s)
			}
			for _, s := range got[1:] {
				expect.Min(t, "len(s.records)", len(s.records), 2)
				expect.True(t, "s.records equal to got[0].records", slices.Equal(s.records, got[0].records), s.records, got[0].records)
				expect.Equal(t, "s.sketch.Whole", s.sketch.Whole, got[0].sketch.Whole)
			}
		})
	}
}

// TestFolderOfParquet: a number of a shard is not read as thousands, whatever format its column has.
func TestFolderOfParquet(t *testing.T) {
	dir := t.TempDir()
	if err := parquet.WriteFile(filepath.Join(dir, "train.parquet"), []struct {
		Price float64 `parquet:"price"`
		Paid  float32 `parquet:"paid"`
	}{{1.234, 7}, {7, 1.234}, {7, 7}}); err != nil {
		t.Fatal(err)
	}
	of := schema.Schema{Columns: []schema.Column{
		{Name: "price", Kind: schema.Numeric, Format: "1.234,56", Low: 0, High: 10000},
		{Name: "paid", Kind: schema.Numeric, Format: "1.234,56", Low: 0, High: 10000},
	}}
	d, err := table.Open(t.Context(), dir, table.Options{Schema: of, Private: t.TempDir(), OnError: origin.OnErrorSkip})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	n := 0
	if err := d.Scan(t.Context(), nil, 1, func(_ int, b *table.Batch) error {
		n += b.Rows
		return nil
	}); err != nil || n != 1 {
		t.Errorf("%d rows can be used, and only one has plain numbers: %v", n, err)
	}
}
