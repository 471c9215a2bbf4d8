package private_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	out := []string{"semicolon.csv#;", "tabs.csv#tab", "book.xlsx#Reviews"}
	err := filepath.WalkDir("testdata/twins", func(path string, d fs.DirEntry, err error) error {
		if name := filepath.Base(path); err == nil && !d.IsDir() && name != "comma.csv" {
			out = append(out, name)
		}
		return err
	})
	if err != nil || len(out) < 14 {
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

// TestOtherFormats: what is of no format that is read is refused, by texts and by tables, with what
// to do instead.
func TestOtherFormats(t *testing.T) {
	dir := t.TempDir()
	of := schema.Schema{Columns: []schema.Column{{Name: "score", Kind: schema.Numeric, High: 100}}}
	for name, says := range map[string]string{
		"": "to_parquet", "a.arrow": "write_table", "a.feather": "write_table", "a.duckdb": "COPY (SELECT", "a.orc": "write it as .parquet", "a.xls": "save it as that", "a": "does not show",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if name != "" {
				expect.NoError(t, os.WriteFile(path, []byte("score\n1\n"), 0o600))
			}
			_, records := record.Open(t.Context(), path, record.Options{Text: "score", Private: t.TempDir()})
			_, rows := table.Open(t.Context(), path, table.Options{Schema: of})
			for _, err := range []error{records, rows} {
				known := expect.As[*origin.Error](t, err)
				expect.Equal(t, "known.Code", known.Code, origin.Unusable)
				expect.Contains(t, "error", known.Error(), says)
				expect.Contains(t, "error", known.Error(), "What is read: .csv")
			}
		})
	}
}
