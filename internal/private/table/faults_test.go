package table_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/tabletest"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/sys/pgtest"
	"github.com/sotto-dp/sotto/schema"
)

// visits is a schema of made-up rows, and ward a text that no error may hold.
var visits = schema.Schema{Name: "visits", Columns: []schema.Column{
	{Name: "days", Kind: schema.Numeric, Low: 0, High: 30, Clamp: true},
	{Name: "ward", Kind: schema.Categorical, Values: []string{"Meadow", "Harbour"}, Other: "Harbour"},
}}

const ward = "Meadow"

func someVisits(n int) tabletest.Table {
	t := tabletest.Table{Columns: []tabletest.Column{{Name: "days", Type: tabletest.Double}, {Name: "ward", Type: tabletest.Text}}}
	for i := range n {
		t.Rows = append(t.Rows, []any{float64(i % 30), ward})
	}
	return t
}

func writeFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(path string, o table.Options) error {
	d, err := table.Open(context.Background(), path, o)
	if err != nil {
		return err
	}
	err = d.Scan(context.Background(), nil, 2, func(int, *table.Batch) error { return nil })
	return errors.Join(err, d.Close())
}

func codeOf(err error) origin.Code {
	if known := (*table.Error)(nil); errors.As(err, &known) {
		return known.Code
	}
	return ""
}

// TestErrors say what is wrong and what to do.
func TestErrors(t *testing.T) {
	good := encodeCSV(t, someVisits(3))
	for name, c := range map[string]struct {
		file string
		data []byte
		o    table.Options
		code origin.Code
		says string
	}{
		"no schema":       {"a.csv", good, table.Options{Schema: schema.Schema{}}, table.Unusable, "no columns"},
		"no format":       {"a.txt", good, table.Options{Schema: visits}, table.Unusable, "What is read: .csv"},
		"unknown format":  {"a.csv", good, table.Options{Schema: visits, Format: "xml"}, table.Unusable, "not one of"},
		"on error":        {"a.csv", good, table.Options{Schema: visits, OnError: "guess"}, table.Unusable, "neither"},
		"unit, no folder": {"a.csv", good, table.Options{Schema: visits, Unit: "who"}, table.Unusable, "private folder"},
		"table of a file": {"a.csv", good, table.Options{Schema: visits, Table: "t"}, table.Unusable, "leave it out"},
		"table and query": {"a.db", good, table.Options{Schema: visits, Table: "t", Query: "SELECT 1"}, table.Unusable, "one of them"},
		"nothing named":   {"a.db", good, table.Options{Schema: visits}, table.Unusable, "name one"},
		"bad name":        {"a.db", good, table.Options{Schema: visits, Table: "a..b"}, table.Unusable, "double quotes"},
		"no header":       {"a.csv", []byte("1,2\n3,4\n"), table.Options{Schema: visits}, origin.Columns, "header"},
		"no column":       {"a.csv", []byte("days,x\n1,2\n"), table.Options{Schema: visits}, origin.Columns, `no column "ward" among the 2 of the source`},
		"two columns":     {"a.csv", []byte("days,ward,ward\n"), table.Options{Schema: visits}, origin.Columns, "two columns"},
		"blank lines":     {"a.csv", []byte("\n\n"), table.Options{Schema: visits}, table.Unusable, "no header row"},
		"bad header":      {"a.csv", []byte("days,wa\"rd\n"), table.Options{Schema: visits}, table.Unusable, "quotes that do not match"},
		"empty":           {"a.csv", nil, table.Options{Schema: visits}, table.Unusable, "empty"},
		"not gzip":        {"a.csv.gz", good, table.Options{Schema: visits}, table.Unusable, "not compressed"},
		"cut gzip":        {"a.csv.gz", half(pack(t, ".gz", good)), table.Options{Schema: visits}, origin.Damaged, "ends too early"},
		"cut zstd":        {"a.csv.zst", half(pack(t, ".zst", good)), table.Options{Schema: visits}, origin.Damaged, "compress"},
		"not Parquet":     {"a.parquet", good, table.Options{Schema: visits}, origin.Damaged, "Parquet"},
		"cut Parquet":     {"a.parquet", half(encodeParquet(t, someVisits(9), true)), table.Options{Schema: visits}, origin.Damaged, "Parquet"},
		"not SQLite":      {"a.db", good, table.Options{Schema: visits, Table: "t"}, table.Unusable, "SQLite"},
	} {
		t.Run(name, func(t *testing.T) {
			err := read(writeFile(t, c.file, c.data), c.o)
			if codeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %q: %v", codeOf(err), err)
			}
			if strings.Contains(fmt.Sprint(err), ward) {
				t.Errorf("content in %v", err)
			}
		})
	}
	if err := read(filepath.Join(t.TempDir(), "none.csv"), table.Options{Schema: visits}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func half(data []byte) []byte { return data[:len(data)/2] }

// TestRefusedRows are named by ordinal, column and reason.
func TestRefusedRows(t *testing.T) {
	text := "days,ward\n1," + ward + "\nmany," + ward + "\n,x\n1\n1,2,3\n\"1\",\"x\n1,\"a\"b\n2,\"y\"\n"
	err := read(writeFile(t, "a.csv", []byte(text)), table.Options{Schema: visits})
	var refused *table.RefusedError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	want := "6 refused rows: row 2: column \"days\": not a number; row 3: column \"days\": no value; rows 4, 5: more or fewer fields than the header has; rows 6, 7: quotes that do not match."
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

// TestDamagedParquet flips bytes all over a file: an error or other values, but no panic,
// no hang and no content.
func TestDamagedParquet(t *testing.T) {
	for _, dictionary := range []bool{false, true} {
		good := encodeParquet(t, someVisits(60), dictionary, parquet.MaxRowsPerRowGroup(20))
		dir, failed := t.TempDir(), 0
		for i := 0; i < len(good); i += max(1, len(good)/250) {
			bad := bytes.Clone(good)
			bad[i] ^= 0x5a
			path := filepath.Join(dir, "a.parquet")
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := read(path, table.Options{Schema: visits}); err != nil {
				failed++
				if strings.Contains(err.Error(), ward) {
					t.Errorf("content in %v", err)
				}
			}
		}
		if failed == 0 {
			t.Error("no damage was noticed")
		}
	}
}

// TestChangedWhileRead: a file that changes during a scan gives an error.
func TestChangedWhileRead(t *testing.T) {
	for _, name := range []string{"a.csv", "a.parquet"} {
		made := someVisits(100)
		data := encodeCSV(t, made)
		if name == "a.parquet" {
			data = encodeParquet(t, made, true)
		}
		path := writeFile(t, name, data)
		d, err := table.Open(context.Background(), path, table.Options{Schema: visits, Private: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		err = d.Scan(context.Background(), nil, 1, func(int, *table.Batch) error {
			return os.WriteFile(path, append(data, '\n'), 0o600)
		})
		if codeOf(err) != origin.Changed {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := d.Fingerprint(context.Background()); codeOf(err) != origin.Changed {
			t.Errorf("%s: fingerprint: got %v", name, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFingerprintIsThatOfTexts: a file has one budget, whatever it is used for.
func TestFingerprintIsThatOfTexts(t *testing.T) {
	for name, data := range map[string][]byte{
		"a.csv": encodeCSV(t, someVisits(9)), "a.csv.gz": pack(t, ".gz", encodeCSV(t, someVisits(9))), "a.parquet": encodeParquet(t, someVisits(9), true),
	} {
		path, private := writeFile(t, name, data), t.TempDir()
		texts, err := record.Open(context.Background(), path, record.Options{Text: "ward", Private: private})
		if err != nil {
			t.Fatal(err)
		}
		d, err := table.Open(context.Background(), path, table.Options{Schema: visits, Private: private})
		if err != nil {
			t.Fatal(err)
		}
		if sum, err := d.Fingerprint(context.Background()); err != nil || sum != texts.Fingerprint() {
			t.Errorf("%s: %x, and %x as texts: %v", name, sum, texts.Fingerprint(), err)
		}
		if err := errors.Join(d.Close(), texts.Close()); err != nil {
			t.Error(err)
		}
	}
	d, err := table.Open(context.Background(), writeFile(t, "a.csv", encodeCSV(t, someVisits(9))), table.Options{Schema: visits})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Fingerprint(context.Background()); codeOf(err) != table.Unusable {
		t.Errorf("without a key: %v", err)
	}
}

// TestPlaces: the ledger knows a table of a database by its place, however it is written
// and whatever is in it.
func TestPlaces(t *testing.T) {
	ctx, private := context.Background(), t.TempDir()
	mark := func(location string, o table.Options) [32]byte {
		t.Helper()
		o.Schema, o.Private = visits, private
		d, err := table.Open(ctx, location, o)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		sum, err := d.Fingerprint(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	address := pgtest.Schema(t)
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	for _, statement := range []string{`CREATE TABLE visits (days double precision, ward text)`, `CREATE TABLE others (days double precision, ward text)`} {
		if _, err := c.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	var schemaName string
	if err := c.QueryRow(ctx, "SELECT current_schema()").Scan(&schemaName); err != nil {
		t.Fatal(err)
	}
	before := mark(address, table.Options{Table: "visits"})
	if _, err := c.Exec(ctx, "INSERT INTO visits VALUES (1, 'Meadow')"); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]table.Options{
		"the same":        {Table: "visits"},
		"with its schema": {Table: schemaName + ".visits"},
		"in quotes":       {Table: `"visits"`},
	} {
		if mark(address, o) != before {
			t.Errorf("%s: another fingerprint", name)
		}
	}
	for name, o := range map[string]table.Options{
		"another": {Table: "others"}, "a query": {Query: "SELECT * FROM visits"}, "another query": {Query: "SELECT * FROM visits WHERE days > 0"},
	} {
		if mark(address, o) == before {
			t.Errorf("%s: the same fingerprint", name)
		}
	}
	path := filepath.Join(t.TempDir(), "a.db")
	putSQLite(t, path, someVisits(3), nil)
	link := filepath.Join(t.TempDir(), "b.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	name := table.Options{Table: `"my ""table"""`}
	if mark(path, name) != mark(link, name) || mark("sqlite:"+path, table.Options{Table: `main."MY ""TABLE"""`}) != mark(path, name) {
		t.Error("an SQLite table has several fingerprints")
	}
}

// TestDatabasesKeepQuiet: an error of a query that runs holds no content, though the
// message of the database quotes it.
func TestDatabasesKeepQuiet(t *testing.T) {
	const secret = "Zaphod42"
	address := pgtest.Schema(t)
	query := "SELECT CAST(w AS double precision) AS days, 'x' AS ward FROM (VALUES ('1'), ('" + secret + "')) AS v (w)"
	err := read(address, table.Options{Schema: visits, Query: query})
	if codeOf(err) != origin.Unreadable || strings.Contains(fmt.Sprint(err), "Zaphod") {
		t.Errorf("got %v", err)
	}
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE t (days, ward); INSERT INTO t VALUES (1, '" + secret + "')"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	err = read(path, table.Options{Schema: visits, Query: "SELECT json_extract(ward, '$.a') AS days, ward FROM t"})
	if codeOf(err) != origin.Unreadable || strings.Contains(fmt.Sprint(err), "Zaphod") {
		t.Errorf("got %v", err)
	}
}

// TestReadOnly: a query that writes is refused, in each database.
func TestReadOnly(t *testing.T) {
	address := pgtest.Schema(t)
	path := filepath.Join(t.TempDir(), "a.db")
	putSQLite(t, path, someVisits(3), nil)
	for location, queries := range map[string][]string{
		address: {"CREATE TABLE x (a int)", "SELECT 1 AS days, 'x' AS ward); CREATE TABLE x (a int); SELECT (1", "WITH w AS (DELETE FROM pg_class RETURNING 1) SELECT 1 AS days, 'x' AS ward"},
		path:    {`DELETE FROM "my ""table"""`, `SELECT 1 AS days, 'x' AS ward); DELETE FROM "my ""table"""; SELECT (1`, `ATTACH '` + path + `2' AS other`},
	} {
		for _, query := range queries {
			if err := read(location, table.Options{Schema: visits, Query: query}); err == nil {
				t.Errorf("%s is taken", query)
			}
		}
	}
	if err := read(path, table.Options{Schema: visits, Table: `"my ""table"""`}); err != nil {
		t.Errorf("rows are gone: %v", err)
	}
}

// TestProgress: all bytes are reported of a file in the end, and never goes back.
func TestProgress(t *testing.T) {
	made := someVisits(20000)
	for name, data := range map[string][]byte{"a.csv": encodeCSV(t, made), "a.csv.gz": pack(t, ".gz", encodeCSV(t, made)), "a.parquet": encodeParquet(t, made, false, parquet.MaxRowsPerRowGroup(3000))} {
		var last, size int64
		err := read(writeFile(t, name, data), table.Options{Schema: visits, Progress: func(read, total int64) {
			if read < last {
				t.Errorf("%s: %d after %d", name, read, last)
			}
			last, size = read, total
		}})
		at := expect.At(t, "%s", name)
		expect.NoError(at, err)
		expect.Equal(at, "last", last, size)
		expect.Equal(at, "size", size, int64(len(data)))
	}
}
