package table_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/parquet-go/parquet-go"
	_ "modernc.org/sqlite" // the driver

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/pgtest"
	"github.com/sotto-dp/sotto/schema"
)

func TestDescribe(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	comma := filepath.Join(dir, "people.csv")
	// Not a row may be read: this one could not be.
	write(t, comma, "\ufeffage,\"home, town\",sex\n\"broken\n")
	lite := filepath.Join(dir, "people.db")
	db, err := sql.Open("sqlite", lite)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE "Peo""ple" (age INTEGER, height DOUBLE PRECISION, sex VARCHAR(1), photo BLOB)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	flat := filepath.Join(dir, "people.parquet")
	if err := parquet.WriteFile(flat, []struct {
		Age    int32    `parquet:"age"`
		Height *float64 `parquet:"height,optional"`
		Sex    string   `parquet:"sex,dict"`
		Rich   bool     `parquet:"rich"`
		Towns  []string `parquet:"towns"`
	}{{}}); err != nil {
		t.Fatal(err)
	}
	const n, c = schema.Numeric, schema.Categorical
	for _, test := range []struct {
		name, location string
		o              table.Options
		names          string
		kinds          []schema.Kind
	}{
		{"csv", comma, table.Options{}, "age|home, town|sex", []schema.Kind{"", "", ""}},
		{"sqlite table", lite, table.Options{Table: `"Peo""ple"`}, "age|height|sex|photo", []schema.Kind{n, n, c, ""}},
		{"sqlite query", lite, table.Options{Query: `SELECT sex, age FROM "Peo""ple";`}, "sex|age", []schema.Kind{c, n}},
		{"parquet", flat, table.Options{}, "age|height|sex|rich|towns", []schema.Kind{n, n, c, c, ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			names, kinds, err := table.Describe(ctx, test.location, test.o)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Join(names, "|") != test.names || !slices.Equal(kinds, test.kinds) {
				t.Errorf("%q %q", names, kinds)
			}
		})
	}
}

func TestDescribePostgres(t *testing.T) {
	ctx := context.Background()
	address := pgtest.Database(t)
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, `CREATE SCHEMA "S"; CREATE TABLE "S".people (age integer, "Height" numeric(5,2), sex text, rich boolean, seen timestamptz)`); err != nil {
		t.Fatal(err)
	}
	names, kinds, err := table.Describe(ctx, address, table.Options{Table: "S.people"})
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.Kind{schema.Numeric, schema.Numeric, schema.Categorical, schema.Categorical, ""}
	if strings.Join(names, "|") != "age|Height|sex|rich|seen" || !slices.Equal(kinds, want) {
		t.Errorf("%q %q", names, kinds)
	}
	if _, _, err := table.Describe(ctx, address, table.Options{Table: `S.people"; DROP SCHEMA "S" CASCADE; --`}); err == nil {
		t.Error("a table of that name was found")
	}
	if _, _, err := table.Describe(ctx, address, table.Options{Table: "S.people"}); err != nil {
		t.Errorf("the name of a table was run as a command: %v", err)
	}
}

// TestDescribeNoHeader: a row of data is not shown as names.
func TestDescribeNoHeader(t *testing.T) {
	for name, text := range map[string]string{"number": "Meredith,39,x\n", "empty": "Meredith,,x\n", "twice": "Meredith,yes,yes\n", "nothing": "", "not CSV": "\"Meredith\n"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.csv")
			write(t, file, text)
			names, _, err := table.Describe(context.Background(), file, table.Options{})
			if err == nil {
				t.Fatalf("names are %q", names)
			}
			message := strings.ReplaceAll(err.Error(), file, "") // the name has digits
			if strings.Contains(message, "Meredith") || strings.Contains(message, "39") {
				t.Errorf("a row is in the message: %v", err)
			}
		})
	}
}

// TestDescribeJSON: keys of records may be content, and are not read to be shown, whatever the file is called.
func TestDescribeJSON(t *testing.T) {
	const line = `{"Meredith":1,"Doreen":2}` + "\n"
	for name, c := range map[string]struct {
		file   string
		format origin.Format
		text   string
	}{
		"lines":          {"x.jsonl", "", line},
		"lines, packed":  {"x.ndjson.gz", "", line},
		"capitals":       {"X.JSON", "", "[" + line + "]"},
		"named tsv":      {"x.tsv", "", line},
		"array in csv":   {"x.csv", "", "[\n" + line + "]"},
		"said to be csv": {"x.jsonl", origin.CSV, line},
		"said to be one": {"x.csv", origin.JSONL, line},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			write(t, path, c.text)
			names, _, err := table.Describe(t.Context(), path, table.Options{Format: c.format})
			if !errors.Is(err, table.ErrInRecords) || names != nil {
				t.Errorf("%d names: %v", len(names), err)
			}
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
