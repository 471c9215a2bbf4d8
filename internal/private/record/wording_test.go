package record

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/schema"
)

// patients is a schema with all that a column can have.
var patients = schema.Schema{
	Name: "patients", Label: "ill", Template: "A {sex} of {age} with {dose} mg.", Question: "Ill?",
	Columns: []schema.Column{
		{Name: "age", Kind: schema.Numeric, Low: 0, High: 120, Clamp: true, Missing: "50"},
		{Name: "dose", Kind: schema.Numeric, Low: 0, High: 10, Digits: 2, Aliases: map[string]string{"none": "0"}},
		{Name: "sex", Kind: schema.Categorical, Values: []string{"1", "2"}, Phrases: map[string]string{"1": "man", "2": "woman"}},
		{Name: "ill", Kind: schema.Categorical, Values: []string{"true", "false"}, Phrases: map[string]string{"true": "Yes", "false": "No"}},
	},
}

const patientRows = `id,age,dose,sex,ill,who
1,41,2.5,1,true,ann
2,130,0,2,false,bob
3,17.4,9.999,2,true,ann
4,0,0.125,1,false,cyd
5,99,10,2,false,dee
`

// inWords are the options that read a table of patients.
func inWords() Options {
	of := patients
	return Options{Text: "text", Condition: "label", Labels: []string{"Yes", "No"}, Schema: &of}
}

// sayings are text and label of every record, in any order.
func sayings(t testing.TB, d *Data) (out []string) {
	t.Helper()
	for _, part := range all(t, d) {
		for _, r := range part {
			out = append(out, seal.Text(r)+" "+seal.Condition(r))
		}
	}
	sort.Strings(out)
	return out
}

// asTable puts rows into words as package table reads them.
func asTable(t testing.TB, location string, o table.Options) (out []string) {
	t.Helper()
	o.Schema = patients
	data, err := table.Open(context.Background(), location, o)
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	words := patients.Wording()
	err = data.Scan(context.Background(), nil, 1, func(_ int, b *table.Batch) error {
		for i := range b.Rows {
			row := make(schema.Row, len(patients.Columns))
			for j, c := range patients.Columns {
				if v := b.Columns[j]; v.Codes != nil {
					row[j] = schema.Value{Code: int(v.Codes[i]), Discrete: true}
				} else {
					row[j] = schema.Value{Number: table.NewScale(c).Value(float64(v.Steps[i]))}
				}
			}
			out = append(out, words.Text(row)+" "+words.Answer(row))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(out)
	return out
}

// patientsParquet has the rows with types: decimals and floats among them.
func patientsParquet(t testing.TB) []byte {
	t.Helper()
	type line struct {
		Age  float64 `parquet:"age"`
		Dose int64   `parquet:"dose,decimal(3:10)"`
		Sex  int32   `parquet:"sex"`
		Ill  bool    `parquet:"ill"`
		Who  string  `parquet:"who"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[line](&b, parquet.MaxRowsPerRowGroup(2))
	_, err := w.Write([]line{{41, 2500, 1, true, "ann"}, {130, 0, 2, false, "bob"}, {17.4, 9999, 2, true, "ann"}, {0, 125, 1, false, "cyd"}, {99, 10000, 2, false, "dee"}})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// patientsSQLite has them in a database.
func patientsSQLite(t testing.TB, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec(`CREATE TABLE patients (id INTEGER PRIMARY KEY, age REAL, dose REAL, sex INTEGER, ill TEXT, who TEXT);
		INSERT INTO patients VALUES (1, 41, 2.5, 1, 'true', 'ann'), (2, 130, 0, 2, 'false', 'bob'), (3, 17.4, 9.999, 2, 'true', 'ann'), (4, 0, 0.125, 1, 'false', 'cyd'), (5, 99, 10, 2, 'false', 'dee')`)
	if err != nil {
		t.Fatal(err)
	}
}

// TestRowsInWords: rows of a table are the same records in words from every format, and say
// what package table reads there. The ledger knows the table by the same fingerprint and
// sketch, whichever of both reads it.
func TestRowsInWords(t *testing.T) {
	want := []string{
		"A man of 0 with 0.13 mg. Ill? No", "A man of 41 with 2.5 mg. Ill? Yes",
		"A woman of 120 with 0 mg. Ill? No", "A woman of 17 with 10 mg. Ill? Yes", "A woman of 99 with 10 mg. Ill? No",
	}
	dir := t.TempDir()
	csv := writeIn(t, dir, "a.csv", []byte(patientRows))
	patientsSQLite(t, dir+"/a.db")
	jsonl := `{"age":41,"dose":2.50,"sex":1.0,"ill":true}
{"age":130,"dose":"none","sex":"2","ill":"false","text":"a remark"}
{"age":17.4,"dose":9.999,"sex":2,"ill":"true"}
{"ill":"false","sex":1,"dose":0.125,"age":0}
{"age":99,"dose":1e1,"sex":2,"ill":false}
`
	for name, c := range map[string]struct {
		location, query string
		table           *table.Options
	}{
		"csv":     {csv, "", &table.Options{}},
		"csv.gz":  {writeIn(t, dir, "a.csv.gz", gzipBytes(t, []byte(patientRows))), "", &table.Options{}},
		"parquet": {writeIn(t, dir, "a.parquet", patientsParquet(t)), "", &table.Options{}},
		"sqlite":  {dir + "/a.db", "SELECT * FROM patients ORDER BY id", &table.Options{Table: "patients"}},
		"jsonl":   {writeIn(t, dir, "a.jsonl", []byte(jsonl)), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := inWords()
			o.Query, o.Private = c.query, t.TempDir()
			d := open(t, c.location, o)
			if got := sayings(t, d); !slices.Equal(got, want) {
				t.Errorf("%q", got)
			}
			if n := seal.Exactly(d.Size(0)); n != 2 {
				t.Errorf("%d records say Yes", n)
			}
			if c.table == nil {
				return
			}
			c.table.Private = o.Private
			if got := asTable(t, c.location, *c.table); !slices.Equal(got, want) {
				t.Errorf("as a table: %q", got)
			}
			sameIdentity(t, d, c.location, *c.table)
		})
	}
}

// sameIdentity compares what the ledger knows records and a table by.
func sameIdentity(t *testing.T, d *Data, location string, o table.Options) {
	t.Helper()
	o.Schema = patients
	as, err := table.Open(context.Background(), location, o)
	if err != nil {
		t.Fatal(err)
	}
	defer as.Close()
	mark, err := as.Fingerprint(context.Background())
	if same := mark == d.Fingerprint(); err != nil || same == d.Placed() { // a place is no content
		t.Errorf("fingerprints are the same: %v, %v", same, err)
	}
	other, err := as.Sketch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	mine, err := d.Sketch()
	if !reflect.DeepEqual(mine, other) || err != nil {
		t.Errorf("sketches differ: %v", err)
	}
}

// TestAlreadyInWords: what is in words already is read as it is, next to rows of the table
// where there is no header to say which it is.
func TestAlreadyInWords(t *testing.T) {
	said := `{"text": "A man of 3 with 1 mg. Ill?", "label": "Yes"}` + "\n"
	d := open(t, write(t, "a.jsonl", []byte(said+`{"age": 4, "dose": 1, "sex": 1, "ill": false}`+"\n")), inWords())
	if got := sayings(t, d); !slices.Equal(got, []string{"A man of 3 with 1 mg. Ill? Yes", "A man of 4 with 1 mg. Ill? No"}) {
		t.Errorf("%q", got)
	}
	d = open(t, write(t, "a.csv", []byte("text,label,age\nwords,No,7\n")), inWords())
	if got := sayings(t, d); !slices.Equal(got, []string{"words No"}) {
		t.Errorf("%q", got)
	}
	d = open(t, write(t, "b.csv", []byte("text,age,dose,sex,ill\na remark,7,1,1,true\n")), inWords())
	if got := sayings(t, d); !slices.Equal(got, []string{"A man of 7 with 1 mg. Ill? Yes"}) {
		t.Errorf("%q", got)
	}
}

// TestRowsRefused: what the schema does not allow is named by row and column, never by what
// it is, and so is a column that is not there.
func TestRowsRefused(t *testing.T) {
	path := write(t, "a.csv", []byte("age,dose,sex,ill\n41,2,1,true\n41,4711,1,true\n41,x4711,1,true\n41,,1,true\n41,2,4711,true\n41,2,1,4711\n"))
	o := inWords()
	_, err := tryOpen(t, path, o)
	for _, want := range []string{
		"5 malformed records", "record 2: column \"dose\": a value that the schema does not allow", "record 3: column \"dose\": not a number",
		"record 4: column \"dose\": no value", "record 5: column \"sex\": a value", "record 6: column \"ill\": a value",
	} {
		expect.Contains(t, "err", fmt.Sprint(err), want)
		expect.True(t, "no 4711 in the error", !strings.Contains(fmt.Sprint(err), "4711"), fmt.Sprint(err))
	}
	o.OnError = Skip
	if got := sayings(t, open(t, path, o)); !slices.Equal(got, []string{"A man of 41 with 2 mg. Ill? Yes"}) {
		t.Errorf("%q", got)
	}
	nameless := inWords()
	nameless.Schema.Label = ""
	if _, err := tryOpen(t, path, nameless); err == nil || !strings.Contains(err.Error(), "name the label") {
		t.Errorf("a schema without a label: %v", err)
	}
	for name, content := range map[string]string{
		"a.csv": "age,dose,ill\n1,1,true\n", "b.csv": "4711,x\n1,1\n", "c.jsonl": `{"height": 4711}` + "\n",
		"d.jsonl": `{"age": 1, "dose": [4711], "sex": 1, "ill": true}` + "\n",
	} {
		_, err := tryOpen(t, write(t, name, []byte(content)), inWords())
		want := map[string]string{"a.csv": `"sex"`, "b.csv": `such as "age"`, "c.jsonl": `"age"`, "d.jsonl": `column "dose": neither text nor a number`}[name]
		at := expect.At(t, "%s", name)
		expect.Contains(at, "err", fmt.Sprint(err), want)
		expect.True(at, "no 4711 in the error", !strings.Contains(fmt.Sprint(err), "4711"), fmt.Sprint(err))
	}
}

// TestOneRowMoreOrLess: with one row or one person less, whatever is in it and whatever it
// is next to, one record or one person is gone, and every other says the same.
func TestOneRowMoreOrLess(t *testing.T) {
	private := t.TempDir()
	cell := func(values ...string) *rapid.Generator[string] { return rapid.SampledFrom(values) }
	rapid.Check(t, func(rt *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) [2]string {
			who := cell("u", "v", "w").Draw(rt, "who")
			line := fmt.Sprintf(`{"who": %q, "age": %s, "dose": %s, "sex": %s, "ill": %s}`, who,
				cell("1", "200", "null", `"x"`).Draw(rt, "age"), cell("1.5", `"none"`, "11").Draw(rt, "dose"), cell("1", "2", "3").Draw(rt, "sex"), cell("true", `"false"`).Draw(rt, "ill"))
			if rapid.IntRange(0, 4).Draw(rt, "words") == 0 {
				line = fmt.Sprintf(`{"who": %q, "text": "said", "label": %s}`, who, cell(`"Yes"`, `"No"`, `"Who knows"`).Draw(rt, "label"))
			}
			return [2]string{who, line}
		}), 2, 12).Draw(rt, "rows")
		o := inWords()
		o.Private, o.OnError, o.Together = private, Skip, rapid.Bool().Draw(rt, "together")
		at := rapid.IntRange(0, len(rows)-1).Draw(rt, "removed")
		var with, without strings.Builder
		byPerson := rapid.Bool().Draw(rt, "by person")
		if byPerson {
			o.Unit = "who"
		}
		for i, r := range rows {
			with.WriteString(r[1] + "\n")
			if gone := i == at || byPerson && r[0] == rows[at][0]; !gone {
				without.WriteString(r[1] + "\n")
			}
		}
		read := func(name, content string) ([][]string, bool) {
			d, err := tryOpen(t, write(t, name, []byte(content)), o)
			if err != nil { // nothing that could be used
				return nil, false
			}
			defer d.Close()
			return parties(t, d), true
		}
		more, ok := read("with.jsonl", with.String())
		less, left := read("without.jsonl", without.String())
		if !ok || !left {
			return
		}
		changed := 0
		for part := range more {
			gone, fresh := minus(more[part], less[part])
			if changed += len(gone); len(fresh) > 0 {
				rt.Errorf("part %d: removing a row changes another", part)
			}
		}
		if changed > 1 {
			rt.Errorf("removing a row or a person removes %d", changed)
		}
	})
}
