//go:build cgo

package duckdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/tabletest"
	"github.com/sotto-dp/sotto/schema"
)

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// put writes a table to a fresh file.
func put(t testing.TB, path string, made tabletest.Table, types map[tabletest.Type]string) {
	t.Helper()
	connector, err := duckdb.NewConnector(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var columns []string
	for _, c := range made.Columns {
		columns = append(columns, quote(c.Name)+" "+types[c.Type])
	}
	if _, err := db.Exec(`CREATE TABLE "my ""table""" (` + strings.Join(columns, ", ") + ")"); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(made.Columns, func(c tabletest.Column) bool { return c.Type == tabletest.Decimal }) {
		insert(t, db, made, types)
		return
	}
	c, err := connector.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a, err := duckdb.NewAppenderFromConn(c, "", `my "table"`)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range made.Rows {
		values := make([]driver.Value, len(row))
		for i, v := range row {
			values[i] = v
		}
		if err := a.AppendRow(values...); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}

// insert casts texts, for types that the appender does not take as they are.
func insert(t testing.TB, db *sql.DB, made tabletest.Table, types map[tabletest.Type]string) {
	t.Helper()
	for _, row := range made.Rows {
		var cells []string
		for i, c := range made.Columns {
			cells = append(cells, fmt.Sprintf("CAST($%d AS %s)", i+1, types[c.Type]))
		}
		if _, err := db.Exec(`INSERT INTO "my ""table""" VALUES (`+strings.Join(cells, ", ")+")", row...); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSource(t *testing.T) {
	for name, types := range map[string]map[tabletest.Type]string{
		"typed":  {tabletest.Text: "VARCHAR", tabletest.Integer: "BIGINT", tabletest.Double: "DOUBLE", tabletest.Boolean: "BOOLEAN"},
		"nocase": {tabletest.Text: "VARCHAR COLLATE NOCASE", tabletest.Integer: "BIGINT", tabletest.Double: "DOUBLE", tabletest.Boolean: "BOOLEAN"},
	} {
		t.Run(name, func(t *testing.T) {
			n, private := 0, t.TempDir()
			tabletest.Run(t, tabletest.Source{
				Types: []tabletest.Type{tabletest.Text, tabletest.Integer, tabletest.Double, tabletest.Boolean}, Cases: 25, Aggregates: true, Addressed: true,
				Put: func(made tabletest.Table, o table.Options) (*table.Data, error) {
					n++
					path := filepath.Join(private, fmt.Sprintf("%d.duckdb", n))
					put(t, path, made, types)
					o.Private, o.Table = private, `"my ""table"""`
					if n%3 == 0 && o.Unit == "" && len(made.Rows) < 1000 {
						o.Table, o.Query = "", `SELECT * FROM "my ""table""";`
					}
					return Open(context.Background(), path, o)
				},
			})
		})
	}
}

// TestDecimals: decimals and huge integers become the nearest double, in a scan and in
// DuckDB.
func TestDecimals(t *testing.T) {
	values := []string{"0.1", "33.333333333", "99.999999999", "12345678901234567.123456789", "-0.000000001", "50.000000001", "9007199254740993"}
	of := schema.Schema{Name: "decimals", Columns: []schema.Column{{Name: "x", Kind: schema.Numeric, Low: -1, High: 2e17}}}
	for _, kind := range []string{"DECIMAL(38, 9)", "DECIMAL(27, 9)"} {
		made := tabletest.Table{Columns: []tabletest.Column{{Name: "x", Type: tabletest.Decimal}}}
		want := int64(0)
		for _, v := range values {
			made.Rows = append(made.Rows, []any{v})
			x, err := strconv.ParseFloat(v, 64)
			if err != nil {
				t.Fatal(err)
			}
			want += int64(table.NewScale(of.Columns[0]).Steps(x))
		}
		path := filepath.Join(t.TempDir(), "a.duckdb")
		put(t, path, made, map[tabletest.Type]string{tabletest.Decimal: kind})
		d, err := Open(context.Background(), path, table.Options{Schema: of, Table: `"my ""table"""`})
		if err != nil {
			t.Fatal(err)
		}
		got := int64(0)
		err = d.Scan(context.Background(), nil, 1, func(_ int, b *table.Batch) error {
			for _, s := range b.Columns[0].Steps {
				got += int64(s)
			}
			return nil
		})
		if err != nil || got != want {
			t.Errorf("%s: a scan adds up to %d, want %d: %v", kind, got, want, err)
		}
		if err := tabletest.SameSums(d, table.Layout{Sums: []int{0}, Histograms: []table.Histogram{{Column: 0, Cells: 1000, Grid: true}}}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestStaysInTheFile: a query reads no other file, and nothing is written.
func TestStaysInTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.duckdb")
	put(t, path, tabletest.Table{Columns: []tabletest.Column{{Name: "x"}}, Rows: [][]any{{"1"}}}, map[tabletest.Type]string{tabletest.Text: "VARCHAR"})
	other := filepath.Join(dir, "other.csv")
	if err := os.WriteFile(other, []byte("x\n2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	of := schema.Schema{Columns: []schema.Column{{Name: "x", Kind: schema.Numeric, High: 9}}}
	for _, query := range []string{
		"SELECT * FROM read_csv('" + other + "')", "SELECT * FROM '" + other + "'", "INSTALL httpfs",
		`INSERT INTO "my ""table""" VALUES ('2') RETURNING x`, `SELECT 1 AS x); DELETE FROM "my ""table"""; SELECT (1`,
	} {
		d, err := Open(context.Background(), path, table.Options{Schema: of, Query: query})
		if err == nil {
			t.Errorf("%s is taken", query)
			_ = d.Close()
		}
	}
	for _, bad := range []string{dir, filepath.Join(dir, "none.duckdb"), other} {
		if _, err := Open(context.Background(), bad, table.Options{Schema: of, Table: "t"}); err == nil {
			t.Errorf("%s is opened", bad)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "none.duckdb")); err == nil {
		t.Error("a file was made")
	}
}
