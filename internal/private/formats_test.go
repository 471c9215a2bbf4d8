package private_test

import (
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/sys/pgtest"
	"github.com/sotto-dp/sotto/privacy/sketch"
	"github.com/sotto-dp/sotto/schema"
)

// place is where the made-up records are, in one form. Query is of a database.
type place struct{ name, location, query string }

// twins are the same made-up records in all formats, as testdata/make.py writes them with the
// libraries that people use, and in databases.
func twins(t *testing.T) (out []place) {
	t.Helper()
	files, err := filepath.Glob("testdata/twins/*")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d twins: %v", len(files), err)
	}
	for _, part := range []string{"semicolon.csv#;", "tabs.csv#tab", "book.xlsx#Reviews"} {
		files = append(files, "testdata/twins/"+part)
	}
	for _, file := range files {
		out = append(out, place{filepath.Base(file), file, ""})
	}
	const query = "SELECT text, label, score, day, member FROM reviews ORDER BY id"
	lines := readCSV(t, "testdata/twins/comma.csv")[1:]
	lite := filepath.Join(t.TempDir(), "reviews.db")
	db, err := sql.Open("sqlite", lite)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, lines, "(id INTEGER, text TEXT, label TEXT, score REAL, day TEXT, member TEXT)", func(statement string, args ...any) error {
		_, err := db.Exec(statement, args...)
		return err
	})
	expect.NoError(t, db.Close())
	server := pgtest.Schema(t)
	c, err := pgx.Connect(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, lines, "(id int, text text, label varchar(20), score double precision, day date, member boolean)", func(statement string, args ...any) error {
		_, err := c.Exec(t.Context(), statement, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
		return err
	})
	expect.NoError(t, c.Close(t.Context()))
	return append(out, place{"SQLite", lite, query}, place{"PostgreSQL", server, query})
}

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// fill makes a table.
func fill(t *testing.T, lines [][]string, columns string, run func(statement string, args ...any) error) {
	t.Helper()
	err := run("CREATE TABLE reviews " + columns)
	for i, line := range lines {
		args := []any{i}
		for _, v := range line {
			args = append(args, v)
		}
		err = errors.Join(err, run("INSERT INTO reviews VALUES ($1, $2, $3, $4, $5, $6)", args...))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// view is what is seen of records or rows, and what the ledger knows them by.
type view struct {
	records []string
	sketch  sketch.Sketch
}

// asTexts draws each record by its place, in any order.
func asTexts(t *testing.T, at place, private string) (s view) {
	t.Helper()
	d, err := record.Open(t.Context(), at.location, record.Options{
		Text: "text", Condition: "label", Labels: []string{"negative", "positive"}, Together: true, Private: private, Query: at.query,
	})
	if err != nil {
		t.Fatalf("%s: %v", at.name, err)
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
	slices.Reverse(refs)
	all, err := d.Fetch(t.Context(), refs)
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

var reviews = schema.Schema{Columns: []schema.Column{
	{Name: "label", Kind: schema.Categorical, Values: []string{"negative", "positive"}},
	{Name: "score", Kind: schema.Numeric, Low: 0, High: 100},
	{Name: "member", Kind: schema.Categorical, Values: []string{"true", "false"}, Aliases: map[string]string{"TRUE": "true", "FALSE": "false"}},
}}

// asTable scans the rows.
func asTable(t *testing.T, at place, private string) (s view) {
	t.Helper()
	d, err := table.Open(t.Context(), at.location, table.Options{Schema: reviews, Private: private, Query: at.query})
	if err != nil {
		t.Fatalf("%s: %v", at.name, err)
	}
	defer d.Close()
	err = d.Scan(t.Context(), nil, 1, func(_ int, b *table.Batch) error {
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
	if s.sketch, err = d.Sketch(t.Context()); err != nil {
		t.Fatal(err)
	}
	names, _, err := table.Describe(t.Context(), at.location, table.Options{Query: at.query})
	if strings.Contains(at.name, ".json") {
		if !errors.Is(err, table.ErrInRecords) {
			t.Errorf("keys of records are names of columns: %v", err)
		}
	} else if err != nil || !slices.Contains(names, "score") {
		t.Errorf("%d names of columns: %v", len(names), err)
	}
	return s
}

// TestSameRows: texts and tables are the same in every format and in databases, in the same order,
// and so is what the ledger knows them by: the records of the one are the rows of the other.
func TestSameRows(t *testing.T) {
	private := t.TempDir()
	base := place{"comma.csv", "testdata/twins/comma.csv", ""}
	texts, rows := asTexts(t, base, private), asTable(t, base, private)
	expect.Len(t, "texts", texts.records, 48)
	expect.Len(t, "rows", rows.records, 48)
	expect.Contains(t, "texts", strings.Join(texts.records, ""), "\nafter a year")
	for _, at := range twins(t) {
		for kind, read := range map[string]struct {
			as   func(*testing.T, place, string) view
			want view
		}{"texts": {asTexts, texts}, "table": {asTable, rows}} {
			t.Run(at.name+", "+kind, func(t *testing.T) {
				got := read.as(t, at, private)
				expect.True(t, "the records", slices.Equal(got.records, read.want.records))
				expect.Equal(t, "sketch.Whole", got.sketch.Whole, texts.sketch.Whole)
				expect.True(t, "sketch.Rows", slices.Equal(got.sketch.Rows.Hashes, texts.sketch.Rows.Hashes))
			})
		}
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
