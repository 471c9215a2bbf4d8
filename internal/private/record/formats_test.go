package record

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/pgtest"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// storage is a way to store records; put returns where they are, and the query.
type storage struct {
	name string
	put  func(t testing.TB, dir string, records []sample) (location, query string)
}

const selectAll = "SELECT usr AS \"user\", text, label FROM records ORDER BY id;"

func fileFormat(name string, encode func(testing.TB, []sample) []byte) storage {
	return storage{name, func(t testing.TB, dir string, records []sample) (string, string) {
		return writeIn(t, dir, "records."+name, encode(t, records)), ""
	}}
}

func compressed(encode func(testing.TB, []sample) []byte, with func(testing.TB, []byte) []byte) func(testing.TB, []sample) []byte {
	return func(t testing.TB, records []sample) []byte { return with(t, encode(t, records)) }
}

// fileFormats need no server.
var fileFormats = []storage{
	fileFormat("jsonl", encodeJSONL),
	fileFormat("csv", encodeCSV),
	fileFormat("parquet", encodeParquet),
	fileFormat("jsonl.gz", compressed(encodeJSONL, gzipBytes)),
	fileFormat("jsonl.zst", compressed(encodeJSONL, zstdBytes)),
	fileFormat("csv.gz", compressed(encodeCSV, gzipBytes)),
	{"sqlite", putSQLite},
}

var allFormats = append(slices.Clone(fileFormats), storage{"postgres", putPostgres})

// encodeParquet writes small pages and row groups, so that few records have several.
func encodeParquet(t testing.TB, records []sample) []byte {
	t.Helper()
	type line struct {
		User  *string  `parquet:"user,optional,dict"`
		Other []string `parquet:"other,list"`
		Text  string   `parquet:"text,snappy"`
		Label string   `parquet:"label,dict"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[line](&b, parquet.PageBufferSize(64), parquet.MaxRowsPerRowGroup(7))
	for _, r := range records {
		if _, err := w.Write([]line{{&r.user, []string{"x", "y"}, r.text, r.label}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func putSQLite(t testing.TB, dir string, records []sample) (string, string) {
	t.Helper()
	path := filepath.Join(dir, "records.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("CREATE TABLE records (id INTEGER PRIMARY KEY, usr TEXT, text TEXT, label TEXT)"); err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		if _, err := tx.Exec("INSERT INTO records VALUES (?, ?, ?, ?)", i, r.user, r.text, r.label); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return path, selectAll
}

func putPostgres(t testing.TB, _ string, records []sample) (string, string) {
	t.Helper()
	address := pgtest.Schema(t)
	ctx := context.Background()
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "CREATE TABLE records (id INTEGER PRIMARY KEY, usr TEXT, text TEXT, label TEXT)"); err != nil {
		t.Fatal(err)
	}
	_, err = c.CopyFrom(ctx, pgx.Identifier{"records"}, []string{"id", "usr", "text", "label"},
		pgx.CopyFromSlice(len(records), func(i int) ([]any, error) {
			return []any{i, records[i].user, records[i].text, records[i].label}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	return address, selectAll
}

// tickets makes records of several users with several labels.
func tickets(n int) []sample {
	out := make([]sample, n)
	for i := range out {
		out[i] = sample{
			text:  fmt.Sprintf("text %d, \"quoted\"\nand ünïcode", i),
			label: []string{"World", "Sports", "Business"}[i*i%7%3],
			user:  fmt.Sprintf("user %d", i*i%(n/3+1)),
		}
	}
	return out
}

// TestAllFormatsDrawTheSame: the same records give the same units, draws and counts,
// whatever they are stored in. Postgres has more rows than a batch of its cursor.
func TestAllFormatsDrawTheSame(t *testing.T) {
	records := tickets(1000 + 17)
	private := t.TempDir()
	for _, o := range []Options{
		{Condition: "label", OneLine: true},
		{Condition: "label", Labels: []string{"Sports", "World", "Business"}},
		{Condition: "label", Labels: []string{"Sports", "World", "Business"}, Unit: "user", memory: 100},
		{Condition: "label", Unit: "user"},
		{Condition: "label", Labels: []string{"Sports"}, OnError: Skip, Unit: "user"},
	} {
		o.Private, o.Text = private, "text"
		var want []seal.Record
		var counts []int
		for i, f := range allFormats {
			t.Run(fmt.Sprintf("%s/%d labels/unit %q", f.name, len(o.Labels), o.Unit), func(t *testing.T) {
				location, query := f.put(t, t.TempDir(), records)
				o := o
				o.Query = query
				d := open(t, location, o)
				got, gotCounts := draw(t, d), countConditions(t, d)
				if i == 0 {
					want, counts = got, gotCounts
				}
				if len(want) == 0 || !slices.Equal(got, want) {
					t.Errorf("%d records drawn, not the %d of %s", len(got), len(want), allFormats[0].name)
				}
				if !slices.Equal(gotCounts, counts) {
					t.Errorf("units by condition are %v, want %v", gotCounts, counts)
				}
			})
		}
	}
}

// draw fetches a record of every third unit of every part, backwards, some twice.
func draw(t testing.TB, d *Data) []seal.Record {
	t.Helper()
	s := noise.KeyFromSeed(7).Stream("draw")
	var refs []seal.Ref
	for part := range d.Parts() {
		for u := seal.Exactly(d.Size(part)) - 1; u >= 0; u -= 3 {
			ref, err := d.Choose(part, u, s)
			if err != nil {
				t.Fatal(err)
			}
			refs = append(refs, ref)
		}
	}
	refs = append(refs, refs[:min(2, len(refs))]...)
	records, err := d.Fetch(context.Background(), refs)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func countConditions(t testing.TB, d *Data) (counts []int) {
	t.Helper()
	_, err := d.Conditions(context.Background(), func(n seal.Count) bool {
		counts = append(counts, seal.Exactly(n))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// anySample is a record of any content that a record may have.
var anySample = rapid.Custom(func(t *rapid.T) sample {
	content := rapid.StringMatching(`[\x01-\x{10ffff}]{0,30}`)
	return sample{
		text:  content.Draw(t, "text") + "x" + content.Draw(t, "rest"),
		label: rapid.SampledFrom([]string{"World", "Sports", "1.5", "true", "a, \"b\"\r\nc"}).Draw(t, "label"),
		user:  rapid.StringMatching(`[a-c]`).Draw(t, "user"),
	}
})

// TestWhatIsWrittenIsRead writes any records in every format of files and reads them
// back: through the index, and in order.
func TestWhatIsWrittenIsRead(t *testing.T) {
	private := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		records := rapid.SliceOfN(anySample, 1, 40).Draw(rt, "records")
		f := rapid.SampledFrom(fileFormats).Draw(rt, "format")
		location, query := f.put(t, t.TempDir(), records)
		d, err := Open(context.Background(), location, Options{Text: "text", Condition: "label", Query: query, Private: private})
		if err != nil {
			rt.Fatal(err)
		}
		defer d.Close()
		var want []seal.Record
		for i, r := range records {
			want = append(want, seal.NewRecord(int64(i+1), r.label, r.text))
		}
		if got := all(t, d)[0]; !slices.Equal(got, want) {
			rt.Errorf("%s: %d records come back as others", f.name, len(want))
		}
		var scanned []seal.Record
		err = d.Scan(context.Background(), func(r seal.Record) error {
			scanned = append(scanned, r)
			return nil
		})
		if err != nil || !slices.Equal(scanned, want) {
			rt.Errorf("%s: scanning gives others: %v", f.name, err)
		}
	})
}
