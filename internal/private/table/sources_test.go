package table_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/tabletest"
	"github.com/sotto-dp/sotto/internal/sys/pgtest"
)

var allTypes = []tabletest.Type{tabletest.Text, tabletest.Integer, tabletest.Double, tabletest.Decimal, tabletest.Boolean}

func TestCSVSource(t *testing.T) {
	for _, ending := range []string{"", ".gz", ".zst"} {
		t.Run("csv"+ending, func(t *testing.T) {
			n, private := 0, t.TempDir()
			tabletest.Run(t, tabletest.Source{
				Types: allTypes, AsText: true, Cases: 50,
				Put: func(made tabletest.Table, o table.Options) (*table.Data, error) {
					n++
					path := filepath.Join(private, fmt.Sprintf("%d.csv%s", n, ending))
					o.Private = private
					if err := os.WriteFile(path, pack(t, ending, encodeCSV(t, made)), 0o600); err != nil {
						return nil, err
					}
					return table.Open(context.Background(), path, o)
				},
			})
		})
	}
}

func encodeCSV(t testing.TB, made tabletest.Table) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	write := func(fields []string) {
		if len(fields) == 1 && fields[0] == "" {
			w.Flush()
			b.WriteString("\"\"\n") // an empty line is no row
			return
		}
		if err := w.Write(fields); err != nil {
			t.Fatal(err)
		}
	}
	var header []string
	for _, c := range made.Columns {
		header = append(header, c.Name)
	}
	write(header)
	for _, row := range made.Rows {
		var fields []string
		for _, v := range row {
			fields = append(fields, tabletest.Literal(v))
		}
		write(fields)
	}
	w.Flush()
	return b.Bytes()
}

func pack(t testing.TB, ending string, data []byte) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	switch ending {
	case ".gz":
		w = gzip.NewWriter(&b)
	case ".zst":
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	default:
		return data
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestParquetSource(t *testing.T) {
	for name, options := range map[string][]parquet.WriterOption{
		"small groups": {parquet.MaxRowsPerRowGroup(7)},
		"one group":    {parquet.PageBufferSize(4096)},
		"small pages":  {parquet.PageBufferSize(64), parquet.DataPageVersion(1)},
		"zstd":         {parquet.Compression(&parquet.Zstd)},
	} {
		t.Run(name, func(t *testing.T) {
			n, private := 0, t.TempDir()
			tabletest.Run(t, tabletest.Source{
				Types: []tabletest.Type{tabletest.Text, tabletest.Integer, tabletest.Double, tabletest.Boolean}, Cases: 30,
				Put: func(made tabletest.Table, o table.Options) (*table.Data, error) {
					n++
					path := filepath.Join(private, fmt.Sprintf("%d.parquet", n))
					o.Private = private
					if err := os.WriteFile(path, encodeParquet(t, made, n%2 == 0, options...), 0o600); err != nil {
						return nil, err
					}
					return table.Open(context.Background(), path, o)
				},
			})
		})
	}
}

// encodeParquet writes optional columns, with dictionaries or without.
func encodeParquet(t testing.TB, made tabletest.Table, dictionary bool, options ...parquet.WriterOption) []byte {
	group := parquet.Group{}
	for _, c := range made.Columns {
		node := map[tabletest.Type]parquet.Node{
			tabletest.Text: parquet.String(), tabletest.Integer: parquet.Int(64), tabletest.Double: parquet.Leaf(parquet.DoubleType), tabletest.Boolean: parquet.Leaf(parquet.BooleanType),
		}[c.Type]
		if dictionary && c.Type != tabletest.Boolean {
			node = parquet.Encoded(node, &parquet.RLEDictionary)
		}
		group[c.Name] = parquet.Optional(node)
	}
	of := parquet.NewSchema("table", group)
	var b bytes.Buffer
	w := parquet.NewGenericWriter[map[string]any](&b, append(options, of)...)
	at := map[string]int{}
	for i, path := range of.Columns() {
		at[path[0]] = i
	}
	for _, row := range made.Rows {
		values := make(parquet.Row, len(row))
		for i, v := range row {
			column := at[made.Columns[i].Name]
			if v == nil {
				values[column] = parquet.NullValue().Level(0, 0, column)
			} else {
				values[column] = parquet.ValueOf(v).Level(0, 1, column)
			}
		}
		if _, err := w.WriteRows([]parquet.Row{values}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// create writes a statement that makes a table, and the parameters of its columns.
func create(made tabletest.Table, name string, types map[tabletest.Type]string) (statement, insert string) {
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	var columns, params []string
	for i, c := range made.Columns {
		columns = append(columns, quote(c.Name)+" "+types[c.Type])
		params = append(params, fmt.Sprintf("$%d", i+1))
	}
	return "CREATE TABLE " + quote(name) + " (" + strings.Join(columns, ", ") + ")", "INSERT INTO " + quote(name) + " VALUES (" + strings.Join(params, ", ") + ")"
}

func TestSQLiteSource(t *testing.T) {
	for name, types := range map[string]map[tabletest.Type]string{
		"typed":   {tabletest.Text: "TEXT", tabletest.Integer: "INTEGER", tabletest.Double: "REAL", tabletest.Boolean: "TEXT"},
		"untyped": {},
		"nocase":  {tabletest.Text: "TEXT COLLATE NOCASE", tabletest.Boolean: "TEXT COLLATE NOCASE"},
	} {
		t.Run(name, func(t *testing.T) {
			n, private := 0, t.TempDir()
			tabletest.Run(t, tabletest.Source{
				Types: []tabletest.Type{tabletest.Text, tabletest.Integer, tabletest.Double, tabletest.Boolean}, Cases: 25,
				Put: func(made tabletest.Table, o table.Options) (*table.Data, error) {
					n++
					path := filepath.Join(private, fmt.Sprintf("%d.db", n))
					putSQLite(t, path, made, types)
					o.Private = private
					if n%3 == 0 && o.Unit == "" && len(made.Rows) < 1000 {
						o.Table, o.Query = "", `SELECT * FROM "my ""table""";`
					} else {
						o.Table = `"my ""table"""`
					}
					return table.Open(context.Background(), path, o)
				},
			})
		})
	}
}

func putSQLite(t testing.TB, path string, made tabletest.Table, types map[tabletest.Type]string) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	statement, insert := create(made, `my "table"`, types)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(statement); err != nil {
		t.Fatal(err)
	}
	prepared, err := tx.Prepare(insert)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range made.Rows {
		values := make([]any, len(row))
		for i, v := range row {
			if b, ok := v.(bool); ok {
				v = fmt.Sprint(b)
			}
			values[i] = v
		}
		if _, err := prepared.Exec(values...); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestPostgresSource(t *testing.T) {
	location := pgtest.Schema(t)
	ctx := context.Background()
	c, err := pgx.Connect(ctx, location)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	types := map[tabletest.Type]string{
		tabletest.Text: "text", tabletest.Integer: "bigint", tabletest.Double: "double precision", tabletest.Decimal: "numeric", tabletest.Boolean: "boolean",
	}
	n, private := 0, t.TempDir()
	tabletest.Run(t, tabletest.Source{
		Types: allTypes, Cases: 80,
		Put: func(made tabletest.Table, o table.Options) (*table.Data, error) {
			n++
			name := fmt.Sprintf(`T "%d`, n)
			statement, _ := create(made, name, types)
			if _, err := c.Exec(ctx, statement); err != nil {
				t.Fatal(err)
			}
			var columns []string
			for _, column := range made.Columns {
				columns = append(columns, column.Name)
			}
			if _, err := c.CopyFrom(ctx, pgx.Identifier{name}, columns, pgx.CopyFromRows(made.Rows)); err != nil {
				t.Fatal(err)
			}
			o.Private, o.Table = private, `"`+strings.ReplaceAll(name, `"`, `""`)+`"`
			if n%3 == 0 && o.Unit == "" && len(made.Rows) < 1000 {
				o.Query, o.Table = "SELECT * FROM "+o.Table+";", ""
			}
			return table.Open(ctx, location, o)
		},
	})
}
