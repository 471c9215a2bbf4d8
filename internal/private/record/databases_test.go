package record

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/sys/pgtest"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestPostgresKeepsItsState: what others commit after the source was opened is not
// seen, and the source keeps no lock that would stop them.
func TestPostgresKeepsItsState(t *testing.T) {
	location, query := putPostgres(t, "", few)
	d := open(t, location, Options{Condition: "label", Query: query})
	before := all(t, d)
	ctx := context.Background()
	c, err := pgx.Connect(ctx, location)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "UPDATE records SET text = 'other'; DELETE FROM records WHERE id = 2"); err != nil {
		t.Fatal(err)
	}
	if after := all(t, d); !slices.Equal(after[0], before[0]) {
		t.Error("the records changed under an open source")
	}
	if err := d.Scan(ctx, func(seal.Record) error { return nil }); err != nil {
		t.Error(err)
	}
	if fresh := open(t, location, Options{Condition: "label", Query: query}); fresh.Size(0) == d.Size(0) {
		t.Error("a fresh source does not see the change")
	}
}

// TestPostgresGone ends the server's side of an open source.
func TestPostgresGone(t *testing.T) {
	location, query := putPostgres(t, "", few)
	d := open(t, location, Options{Query: query})
	ref, err := d.Choose(0, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	c, err := pgx.Connect(ctx, location)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	ended, err := c.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state LIKE 'idle in%' AND query LIKE '%sotto_records%'")
	if err != nil || ended.RowsAffected() == 0 {
		t.Fatal("no session to end: ", err)
	}
	for range 2 {
		if _, err := d.Fetch(ctx, []seal.Ref{ref}); codeOf(err) != Unreadable {
			t.Errorf("got %v", err)
		}
	}
}

// TestPostgresTypes: what a value is in the database, and what it is to us.
func TestPostgresTypes(t *testing.T) {
	for expression, want := range map[string]rows.Value{
		"'a'::text":       {Kind: rows.Text, S: "a"},
		"'a'::varchar(3)": {Kind: rows.Text, S: "a"},
		"7::smallint":     {Kind: rows.Scalar, S: "7"},
		"7::bigint":       {Kind: rows.Scalar, S: "7"},
		"1.50::numeric":   {Kind: rows.Scalar, S: "1.50"},
		"true":            {Kind: rows.Scalar, S: "true"},
		"false":           {Kind: rows.Scalar, S: "false"},
		"'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid": {Kind: rows.Scalar, S: "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
		"'2020-01-02 03:04:05+02'::timestamptz":        {Kind: rows.Scalar, S: "2020-01-02 01:04:05+00"},
		"'happy'::mood":                                {Kind: rows.Text, S: "happy"},
		"'{}'::jsonb":                                  {Kind: rows.Compound},
		"NULL::text":                                   {},
	} {
		location := pgtest.Schema(t)
		ctx := context.Background()
		c, err := pgx.Connect(ctx, location)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Exec(ctx, "CREATE TYPE mood AS ENUM ('happy')"); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(ctx); err != nil {
			t.Fatal(err)
		}
		s, err := newQuery(ctx, location, &Options{Text: "v", Query: "SELECT " + expression + " AS v ORDER BY 1"})
		if err != nil {
			t.Fatal(err)
		}
		var got []rows.Value
		err = s.scan(ctx, nil, func(r *rows.Row) error { got = append(got, r.Values[roleText]); return nil })
		err = errors.Join(err, s.close())
		at := expect.At(t, "%s", expression)
		expect.NoError(at, err)
		expect.Len(at, "got", got, 1)
		expect.Equal(at, "got[0]", got[0], want)
	}
}

// TestSQLiteChanges: passes of their own see what others wrote, and say so.
func TestSQLiteChanges(t *testing.T) {
	location, query := putSQLite(t, t.TempDir(), few)
	d := open(t, location, Options{Condition: "label", Query: query})
	if d.Vectors(sentenceEncoder(t), true) != nil {
		t.Error("vectors of a database's records are kept, though their index is not")
	}
	ref, err := d.Choose(0, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", location)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, change := range []string{"DELETE FROM records WHERE id = 0", "DELETE FROM records"} {
		if _, err := db.Exec(change); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Fetch(context.Background(), []seal.Ref{ref}); codeOf(err) != Changed {
			t.Errorf("%s: %v", change, err)
		}
	}
}

// TestParquetTypes: columns of strings, whole numbers, booleans and UUIDs can be used.
func TestParquetTypes(t *testing.T) {
	type line struct {
		Text    string    `parquet:"text"`
		Bytes   []byte    `parquet:"bytes"`
		Maybe   *string   `parquet:"maybe,optional"`
		Small   int32     `parquet:"small"`
		Large   int64     `parquet:"large"`
		Natural uint64    `parquet:"natural"`
		Yes     bool      `parquet:"yes"`
		ID      [16]byte  `parquet:"id,uuid"`
		Real    float64   `parquet:"real"`
		When    time.Time `parquet:"when,timestamp"`
		Amount  int64     `parquet:"amount,decimal(2:9)"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[line](&b)
	if _, err := w.Write([]line{{Text: "t", Bytes: []byte("b"), Small: -3, Large: 1 << 40, Natural: 1<<64 - 1, Yes: true, ID: [16]byte{0xa0, 15: 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := write(t, "a.parquet", b.Bytes())
	for column, want := range map[string]string{
		"text": "t", "bytes": "b", "small": "-3", "large": "1099511627776", "natural": "18446744073709551615",
		"yes": "true", "id": "a0000000-0000-0000-0000-000000000001",
		"maybe": string(origin.Malformed), "real": string(origin.Columns), "when": string(origin.Columns), "amount": string(origin.Columns),
	} {
		d, err := tryOpen(t, path, Options{Condition: column})
		if err != nil {
			if string(codeOf(err)) != want {
				t.Errorf("%s: %v", column, err)
			}
			continue
		}
		if got := seal.Condition(all(t, d)[0][0]); got != want {
			t.Errorf("%s is %q, want %q", column, got, want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestParquetCompression: all but LZ4, where the library does not read what others write.
func TestParquetCompression(t *testing.T) {
	type line struct {
		Text   string `parquet:"text,zstd"`
		Brotli string `parquet:"brotli,brotli"`
		Gzip   string `parquet:"gzip,gzip"`
		Snappy string `parquet:"snappy,snappy"`
		LZ4    string `parquet:"lz4,lz4"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[line](&b)
	if _, err := w.Write(slices.Repeat([]line{{"t", "t", "t", "t", "t"}}, 100)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := write(t, "a.parquet", b.Bytes())
	for _, column := range []string{"text", "brotli", "gzip", "snappy"} {
		for _, r := range all(t, open(t, path, Options{Text: column}))[0] {
			if seal.Text(r) != "t" {
				t.Fatalf("%s gives other texts", column)
			}
		}
	}
	if _, err := tryOpen(t, path, Options{Text: "lz4"}); codeOf(err) != origin.Unusable || !strings.Contains(err.Error(), "write the file with snappy") {
		t.Errorf("LZ4: %v", err)
	}
}

// TestDamagedParquet flips bytes all over a file: an error or other records, but no
// panic and no hang.
func TestDamagedParquet(t *testing.T) {
	good := encodeParquet(t, tickets(30))
	private := t.TempDir()
	failed := 0
	for i := 0; i < len(good); i += max(1, len(good)/300) {
		damaged := bytes.Clone(good)
		damaged[i] ^= 0x5a
		d, err := Open(context.Background(), write(t, "a.parquet", damaged), Options{Text: "text", Condition: "label", Unit: "user", Private: private})
		if err != nil {
			failed++
			if strings.Contains(err.Error(), "ünïcode") {
				t.Errorf("content in %v", err)
			}
			continue
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if failed == 0 {
		t.Error("no damage was noticed")
	}
}

// TestConcurrentDraws of one source agree with one alone.
func TestConcurrentDraws(t *testing.T) {
	for _, f := range allFormats {
		location, query := f.put(t, t.TempDir(), tickets(40))
		d := open(t, location, Options{Condition: "label", Query: query, Unit: "user"})
		want := draw(t, d)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if got := draw(t, d); !slices.Equal(got, want) {
					t.Errorf("%s: another draw", f.name)
				}
			})
		}
		group.Wait()
	}
}

func TestProgress(t *testing.T) {
	for _, f := range allFormats {
		location, query := f.put(t, t.TempDir(), tickets(3000))
		var last, size int64
		d := open(t, location, Options{Query: query, Progress: func(read, total int64) { last, size = read, total }})
		at := expect.At(t, "%s", f.name)
		expect.True(at, "last is not 0", last != 0, last)
		if query == "" {
			expect.Equal(at, "last", last, size)
		}
		if query != "" {
			expect.Equal(at, "size", size, 0)
		}
		last = -1
		if _, err := d.Choose(0, 1, noise.KeyFromSeed(1).Stream("x")); err != nil {
			t.Fatal(err)
		}
		draw(t, d)
		if last != -1 {
			t.Errorf("%s: progress is reported after opening", f.name)
		}
	}
}
