package table_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/jackc/pgx/v5"
	"github.com/parquet-go/parquet-go"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/sys/pgtest"
	"github.com/sotto-dp/sotto/privacy/sketch"
	"github.com/sotto-dp/sotto/schema"
)

// person is a row in one program's memory.
type person struct {
	Name   string    `parquet:"name"`
	Note   *string   `parquet:"note"`
	Age    int64     `parquet:"age"`
	Score  float64   `parquet:"score"`
	Member bool      `parquet:"member"`
	Since  time.Time `parquet:"since,timestamp(microsecond)"`
}

var personColumns = []string{"name", "note", "age", "score", "member", "since"}

// texts of the columns, as a plain program writes them.
func (p *person) texts() []string {
	note := ""
	if p.Note != nil {
		note = *p.Note
	}
	return []string{p.Name, note, strconv.FormatInt(p.Age, 10), strconv.FormatFloat(p.Score, 'f', -1, 64), strconv.FormatBool(p.Member), p.Since.UTC().Format("2006-01-02 15:04:05")}
}

// people draws some rows.
func drawPeople(t *rapid.T) []person {
	one := rapid.Custom(func(t *rapid.T) person {
		p := person{
			Name:   rapid.StringMatching(`[A-Za-zéü"',][A-Za-zéü"',\n]{0,11}( [A-Z][a-zß]{2,9})?`).Draw(t, "name"),
			Age:    rapid.Int64Range(0, 1<<40).Draw(t, "age"),
			Score:  rapid.Float64Range(-1e6, 1e6).Draw(t, "score"),
			Member: rapid.Bool().Draw(t, "member"),
			Since:  time.Unix(rapid.Int64Range(0, 1<<31).Draw(t, "since"), 0),
		}
		if rapid.Bool().Draw(t, "has a note") {
			note := rapid.StringMatching(`[a-zäö€ ,"]{0,40}`).Draw(t, "note")
			p.Note = &note
		}
		return p
	})
	return rapid.SliceOfN(one, 1, 30).Draw(t, "people")
}

// csvOf writes people in any order of rows and columns, in any way to write CSV.
func csvOf(t *rapid.T, people []person) []byte {
	people = rapid.Permutation(people).Draw(t, "rows")
	order := rapid.Permutation([]int{0, 1, 2, 3, 4, 5}).Draw(t, "columns")
	end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end")
	always := rapid.Bool().Draw(t, "quotes")
	pad := rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "white space")
	decompose := rapid.Bool().Draw(t, "decomposed")
	var b bytes.Buffer
	if rapid.Bool().Draw(t, "byte order mark") {
		b.WriteString("\ufeff")
	}
	line := func(texts []string) {
		for i, at := range order {
			if i > 0 {
				b.WriteByte(',')
			}
			v := texts[at]
			if decompose {
				v = norm.NFD.String(v)
			}
			if v = v + pad; always || strings.ContainsAny(v, "\",\n\r") || strings.HasPrefix(v, " ") {
				v = `"` + strings.ReplaceAll(strings.ReplaceAll(v, `"`, `""`), "\n", end) + `"`
			}
			b.WriteString(v)
		}
		b.WriteString(end)
	}
	header := slices.Clone(personColumns)
	for _, at := range order {
		b.WriteString(header[at])
		if at == order[len(order)-1] {
			b.WriteString(end)
		} else {
			b.WriteByte(',')
		}
	}
	for _, p := range people {
		texts := p.texts()
		if rapid.Bool().Draw(t, "exponent") {
			texts[3] = strconv.FormatFloat(p.Score, 'e', 17, 64)
		}
		line(texts)
	}
	return b.Bytes()
}

// jsonlOf writes people as objects with keys in any order, escaped in any way.
func jsonlOf(t *rapid.T, people []person) []byte {
	var b bytes.Buffer
	for _, p := range rapid.Permutation(people).Draw(t, "rows") {
		texts := p.texts()
		values := make([]string, len(texts))
		for i, v := range texts {
			encoded, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			values[i] = string(encoded)
			if rapid.Bool().Draw(t, "escaped") {
				values[i] = escaped(v)
			}
		}
		if p.Note == nil {
			values[1] = "null"
		}
		values[2], values[4] = texts[2]+".0", texts[4]
		b.WriteByte('{')
		for n, at := range rapid.Permutation([]int{0, 1, 2, 3, 4, 5}).Draw(t, "keys") {
			if n > 0 {
				b.WriteString(" , ")
			}
			fmt.Fprintf(&b, "%q: %s", personColumns[at], values[at])
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

func escaped(v string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(v)) {
		fmt.Fprintf(&b, `\u%04x`, u)
	}
	return `"` + b.String() + `"`
}

func parquetOf(t *rapid.T, people []person) []byte {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[person](&b, parquet.MaxRowsPerRowGroup(int64(rapid.IntRange(1, 40).Draw(t, "group"))))
	if _, err := w.Write(rapid.Permutation(people).Draw(t, "rows")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var personSchema = schema.Schema{Columns: []schema.Column{{Name: "age", Kind: schema.Numeric, Low: 0, High: 1 << 41}}}

func tableSketch(t testing.TB, location string, o table.Options) sketch.Sketch {
	t.Helper()
	if o.Schema.Columns == nil {
		o.Schema = personSchema
	}
	d, err := table.Open(context.Background(), location, o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s, err := d.Sketch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if s.KeyID != d.KeyID() {
		t.Errorf("the sketch is of key %s, the data of %s", s.KeyID, d.KeyID())
	}
	return s
}

func recordSketch(t testing.TB, location string, o record.Options) sketch.Sketch {
	t.Helper()
	o.OnError = record.Skip
	if o.Text == "" {
		o.Text = "name"
	}
	d, err := record.Open(context.Background(), location, o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s, err := d.Sketch()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if s.KeyID != d.KeyID() {
		t.Errorf("the sketch is of key %s, the data of %s", s.KeyID, d.KeyID())
	}
	return s
}

// withoutRead leaves out the list that depends on a schema.
func withoutRead(s sketch.Sketch) sketch.Sketch {
	s.ReadColumns = sketch.List{}
	return s
}

// TestSameRowsSameSketch: the same records have the same sketch, list by list, in any
// format, order and encoding, and whether they are read as texts or as a table.
func TestSameRowsSameSketch(t *testing.T) {
	dir, n := t.TempDir(), 0
	private := filepath.Join(dir, "private")
	write := func(name string, data []byte) string {
		n++
		path := filepath.Join(dir, strconv.Itoa(n)+name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	rapid.Check(t, func(rt *rapid.T) {
		people := drawPeople(rt)
		first := write(".csv", csvOf(rt, people))
		want := withoutRead(tableSketch(t, first, table.Options{Private: private}))
		ways := map[string]func() sketch.Sketch{
			"another CSV file": func() sketch.Sketch {
				return tableSketch(t, write(".csv", csvOf(rt, people)), table.Options{Private: private})
			},
			"CSV as texts": func() sketch.Sketch { return recordSketch(t, first, record.Options{Private: private}) },
			"by another column": func() sketch.Sketch {
				return recordSketch(t, first, record.Options{Private: private, Text: "since", Condition: "age"})
			},
			"with a list of labels": func() sketch.Sketch {
				return recordSketch(t, first, record.Options{Private: private, Condition: "member", Labels: []string{strconv.FormatBool(people[0].Member)}, OnError: record.Skip})
			},
			"compressed": func() sketch.Sketch {
				return tableSketch(t, write(".csv.gz", pack(t, ".gz", csvOf(rt, people))), table.Options{Private: private})
			},
			"JSON lines": func() sketch.Sketch {
				return recordSketch(t, write(".jsonl", jsonlOf(rt, people)), record.Options{Private: private})
			},
			"Parquet as a table": func() sketch.Sketch {
				return tableSketch(t, write(".parquet", parquetOf(rt, people)), table.Options{Private: private})
			},
			"Parquet as texts": func() sketch.Sketch {
				return recordSketch(t, write(".parquet", parquetOf(rt, people)), record.Options{Private: private})
			},
			"several files": func() sketch.Sketch { return manyFiles(t, rt, people, write, private) },
		}
		for _, name := range rapid.Permutation(slices.Sorted(maps.Keys(ways))).Draw(rt, "ways")[:3] {
			if got := ways[name](); !reflect.DeepEqual(withoutRead(got), want) {
				rt.Fatalf("%s: %+v is not %+v", name, got, want)
			}
		}
	})
}

// manyFiles cuts the rows into two files.
func manyFiles(t testing.TB, rt *rapid.T, people []person, write func(string, []byte) string, private string) sketch.Sketch {
	cut := rapid.IntRange(0, len(people)).Draw(rt, "cut")
	var paths []string
	for _, part := range [][]person{people[:cut], people[cut:]} {
		if len(part) > 0 {
			paths = append(paths, write(".csv", csvOf(rt, part)))
		}
	}
	d, err := table.OpenFiles(context.Background(), paths, table.Options{Schema: personSchema, Private: private})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s, err := d.Sketch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// somePeople are distinct rows, by a seed.
func somePeople(seed uint64, n int) []person {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]person, n)
	for i := range out {
		note := fmt.Sprintf("a note about case %x-%x", r.Uint64(), r.Uint64())
		out[i] = person{Name: fmt.Sprintf("P%d", r.IntN(1e6)), Note: &note, Age: r.Int64N(90), Score: r.NormFloat64(), Member: r.IntN(2) == 0, Since: time.Unix(r.Int64N(1<<30), 0)}
	}
	return out
}

func plainCSV(people []person, header []string, columns ...int) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if header == nil {
		for _, c := range columns {
			header = append(header, personColumns[c])
		}
	}
	_ = w.Write(header)
	for _, p := range people {
		texts := p.texts()
		var fields []string
		for _, c := range columns {
			if c < 0 {
				fields = append(fields, strconv.Itoa(len(fields)*7+int(p.Age)+b.Len()))
				continue
			}
			fields = append(fields, texts[c])
		}
		_ = w.Write(fields)
	}
	w.Flush()
	return b.Bytes()
}

// TestDatabasesSameSketch: tables, views and queries of SQLite and PostgreSQL have the
// sketch of the file that their rows came from, however the query is written, and whether
// they are read as texts or as a table.
func TestDatabasesSameSketch(t *testing.T) {
	people := somePeople(7, 300)
	dir := t.TempDir()
	private := filepath.Join(dir, "private")
	file := writeFile(t, "people.csv", plainCSV(people, nil, 0, 1, 2, 3, 4, 5))
	want := withoutRead(tableSketch(t, file, table.Options{Private: private}))
	check := func(name string, got sketch.Sketch) {
		t.Helper()
		if !reflect.DeepEqual(withoutRead(got), want) {
			o, err := sketch.Compare(want, got)
			t.Errorf("%s has another sketch than the file: %v (%v)", name, o, err)
		}
	}
	for name, location := range map[string]string{"SQLite": fillSQLite(t, filepath.Join(dir, "people.db"), people), "PostgreSQL": fillPostgres(t, people)} {
		check(name+", the table", tableSketch(t, location, table.Options{Private: private, Table: "people"}))
		check(name+", a view", tableSketch(t, location, table.Options{Private: private, Table: "everybody"}))
		check(name+", a query", tableSketch(t, location, table.Options{Private: private, Query: "SELECT since, member, score, age, note, name FROM people ORDER BY age"}))
		check(name+", a query with a space", tableSketch(t, location, table.Options{Private: private, Query: "SELECT  * FROM people"}))
		check(name+", as texts", recordSketch(t, location, record.Options{Private: private, Query: "SELECT * FROM people ORDER BY note"}))
	}
}

func fillSQLite(t *testing.T, path string, people []person) string {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(q string, args ...any) {
		if _, err := db.Exec(q, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE people (name TEXT, note TEXT, age INTEGER, score REAL, member BOOLEAN, since TIMESTAMP)")
	exec("CREATE VIEW everybody AS SELECT * FROM people")
	exec("BEGIN")
	for _, p := range people {
		exec("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", p.Name, *p.Note, p.Age, p.Score, p.Member, p.texts()[5])
	}
	exec("COMMIT")
	return path
}

func fillPostgres(t *testing.T, people []person) string {
	ctx, location := context.Background(), pgtest.Schema(t)
	c, err := pgx.Connect(ctx, location)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	exec := func(q string, args ...any) {
		if _, err := c.Exec(ctx, q, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE people (name text, note text, age numeric(6,2), score double precision, member boolean, since timestamp)")
	exec("CREATE VIEW everybody AS SELECT * FROM people")
	for _, p := range people {
		exec("INSERT INTO people VALUES ($1, $2, $3, $4, $5, $6)", p.Name, *p.Note, p.Age, p.Score, p.Member, p.Since.UTC())
	}
	return location
}

// TestKnownAgain: a data set that was changed as people change data sets is the same one,
// with the right shares; other rows are not.
func TestKnownAgain(t *testing.T) {
	people, others := somePeople(1, 4000), somePeople(2, 4000)
	private := filepath.Join(t.TempDir(), "private")
	of := func(data []byte) sketch.Sketch {
		return tableSketch(t, writeFile(t, "a.csv", data), table.Options{Private: private})
	}
	all := []int{0, 1, 2, 3, 4, 5}
	join := func(parts ...[]person) []person { return slices.Concat(parts...) }
	known, numbers := of(plainCSV(people, nil, all...)), of(plainCSV(people, nil, 2, 3, 5))
	for _, c := range []struct {
		name          string
		known, seen   sketch.Sketch
		want          sketch.Relation
		inSeen, inOld float64
		fresh         float64
	}{
		{"a row appended", known, of(plainCSV(join(people, others[:1]), nil, all...)), sketch.Same, 1, 1, 1},
		{"as many rows appended", known, of(plainCSV(join(people, others), nil, all...)), sketch.Same, 1, 0.5, 4000},
		{"rows removed", known, of(plainCSV(people[1000:], nil, all...)), sketch.Same, 0.75, 1, 0},
		{"a tenth of the rows", known, of(plainCSV(people[:400], nil, all...)), sketch.Same, 0.1, 1, 0},
		{"two fifths of the rows edited", known, of(plainCSV(join(people[:2400], others[:1600]), nil, all...)), sketch.Same, 0.6, 0.6, 1600},
		{"a fifth shared", known, of(plainCSV(join(people[:800], others[:3200]), nil, all...)), sketch.Overlapping, 0.2, 0.2, 3200},
		{"other rows", known, of(plainCSV(others, nil, all...)), sketch.Unrelated, 0, 0, 4000},
		{"a number for each row", numbers, of(plainCSV(people, []string{"id", "age", "score", "since"}, -1, 2, 3, 5)), sketch.Same, 1, 1, 0},
		{"a column dropped", numbers, of(plainCSV(people, nil, 2, 3)), sketch.Same, 1, 1, 0},
		{"a column renamed", numbers, of(plainCSV(people, []string{"age", "points", "since"}, 2, 3, 5)), sketch.Same, 1, 1, 0},
		{"two columns of texts", known, of(plainCSV(people, []string{"age", "comment"}, 2, 1)), sketch.Same, 1, 1, 0},
		{"other numbers", numbers, of(plainCSV(others, nil, 2, 3, 5)), sketch.Unrelated, 0, 0, 4000},
	} {
		o, err := sketch.Compare(c.known, c.seen)
		if err != nil {
			t.Fatal(err)
		}
		if o.Relation != c.want {
			t.Errorf("%s: %s, not %s: %v", c.name, o.Relation, c.want, o)
		}
		// Seven standard errors: of a share of 100 hashes or more, and of the number of rows
		// without one of three columns among 512 such hashes.
		within := 7 * 0.5 / 10
		if o.By == sketch.ByLeaveOneOut {
			within = 7 / math.Sqrt(512/3)
		}
		near := func(got sketch.Share, want float64) bool {
			return got.Estimate > want-within && got.Estimate < want+within
		}
		if !near(o.KnownInSeen, c.inSeen) || !near(o.SeenInKnown, c.inOld) {
			t.Errorf("%s: shares %v and %v, not %g and %g", c.name, o.KnownInSeen, o.SeenInKnown, c.inSeen, c.inOld)
		}
		if o.New < c.fresh-within*8000 || o.New > c.fresh+within*8000 {
			t.Errorf("%s: %g new rows, not %g", c.name, o.New, c.fresh)
		}
	}
}

// TestSchemaColumns: a table is known again by the columns that the schema reads, however
// many others come or go.
func TestSchemaColumns(t *testing.T) {
	people := somePeople(3, 2000)
	private := filepath.Join(t.TempDir(), "private")
	two := schema.Schema{Columns: []schema.Column{{Name: "age", Kind: schema.Numeric, High: 100}, {Name: "score", Kind: schema.Numeric, Low: -10, High: 10}}}
	o := table.Options{Private: private, Schema: two}
	wide := tableSketch(t, writeFile(t, "a.csv", plainCSV(people, nil, 0, 2, 3, 4, 5)), o)
	narrow := tableSketch(t, writeFile(t, "b.csv", plainCSV(people, nil, 2, 3)), o)
	for _, pair := range [][2]sketch.Sketch{{wide, narrow}, {narrow, wide}} {
		got, err := sketch.Compare(pair[0], pair[1])
		expect.NoError(t, err)
		expect.Equal(t, "got.Relation", got.Relation, sketch.Same)
		expect.Equal(t, "got.By", got.By, sketch.ByReadColumns)
	}
}

// TestSketchIsKept: the sketch of a file is made once, and another content has another.
func TestSketchIsKept(t *testing.T) {
	private, people := filepath.Join(t.TempDir(), "private"), somePeople(4, 50)
	path := writeFile(t, "a.csv", plainCSV(people, nil, 0, 1, 2))
	first := tableSketch(t, path, table.Options{Private: private})
	kept, err := filepath.Glob(filepath.Join(private, "index", "*.sketch"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%v, %v", kept, err)
	}
	if again := tableSketch(t, path, table.Options{Private: private}); !reflect.DeepEqual(first, again) {
		t.Error("the sketch that was kept is another one")
	}
	data, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	// A file that somebody changed is not believed.
	data[len(data)/2] ^= 1
	if err := os.WriteFile(kept[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if again := tableSketch(t, path, table.Options{Private: private}); !reflect.DeepEqual(first, again) {
		t.Error("a damaged sketch was believed")
	}
	if err := os.WriteFile(path, plainCSV(somePeople(5, 50), nil, 0, 1, 2), 0o600); err != nil {
		t.Fatal(err)
	}
	if other := tableSketch(t, path, table.Options{Private: private}); reflect.DeepEqual(first.Rows, other.Rows) {
		t.Error("other content has the same sketch")
	}
}

// TestSketchSecrecy: a sketch holds nothing of a row, and neither does the cache.
func TestSketchSecrecy(t *testing.T) {
	private, people := filepath.Join(t.TempDir(), "private"), somePeople(6, 40)
	s := tableSketch(t, writeFile(t, "a.csv", plainCSV(people, nil, 0, 1, 2)), table.Options{Private: private})
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range people {
		for _, secret := range p.texts()[:2] {
			if strings.Contains(string(encoded), secret) || strings.Contains(fmt.Sprintf("%+v", s), secret) {
				t.Fatal("the sketch holds a value")
			}
		}
	}
	// What is stored of versions of a source tells nothing of the row by which they differ.
	stored := func(some []person) string {
		return tableSketch(t, writeFile(t, "b.csv", plainCSV(some, nil, 0, 1, 2)), table.Options{Private: private}).Whole
	}
	number := func(s string) (n uint64) {
		if _, err := fmt.Sscanf(s, "%x", &n); err != nil {
			t.Error(err)
		}
		return n
	}
	if one, all, others := stored(people[:1]), stored(people), stored(people[1:]); number(all)-number(others) == number(one) {
		t.Error("what two versions differ by is the row that came")
	} else if all != stored(people) || all == others {
		t.Error("equal rows are not known again, or other rows are")
	}
	// With another key all hashes differ.
	other := tableSketch(t, writeFile(t, "a.csv", plainCSV(people, nil, 0, 1, 2)), table.Options{Private: t.TempDir()})
	for _, h := range s.Rows.Hashes {
		if slices.Contains(other.Rows.Hashes, h) {
			t.Fatal("a hash does not depend on the key")
		}
	}
	if _, err := sketch.Compare(s, other); err == nil {
		t.Error("sketches of different keys were compared")
	}
}
