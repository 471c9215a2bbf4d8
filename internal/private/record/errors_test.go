package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestErrorsSayWhatToDo opens what cannot be opened.
func TestErrorsSayWhatToDo(t *testing.T) {
	good := string(encodeJSONL(t, few))
	lines := func(n int, line string) []byte { return []byte(strings.Repeat(line+"\n", n)) }
	for _, c := range []struct {
		name, file string
		data       []byte
		o          Options
		code       origin.Code
		want       string
	}{
		{"empty", "a.jsonl", nil, Options{}, origin.Unusable, "is empty"},
		{"only blank lines", "a.jsonl", []byte("\n \n\r\n"), Options{}, origin.Unusable, "no records"},
		{"only a header", "a.csv", []byte("text,label\n"), Options{}, origin.Unusable, "no records"},
		{"blank csv", "a.csv", []byte("\n\n"), Options{}, origin.Unusable, "no header row"},
		{"no format", "a.txt", []byte(good), Options{}, origin.Unusable, "What is read: .csv, .tsv, .jsonl"},
		{"query on a file", "a.jsonl", []byte(good), Options{Query: "SELECT 1"}, origin.Unusable, "leave the query out"},
		{"database without a query", "a.db", []byte(good), Options{}, origin.Unusable, "needs a query"},
		{"query without an order", "a.db", []byte(good), Options{Query: "SELECT 1"}, origin.Unusable, "has no ORDER BY"},
		{"not a database", "a.db", []byte(good), Options{Query: "SELECT 1 ORDER BY 1"}, origin.Unusable, "SQLite refuses"},
		{"missing column", "a.jsonl", []byte(good), Options{Text: "txt"}, origin.Columns, `no column "txt" among the 4 of the source`},
		{"missing column", "a.csv", encodeCSV(t, few), Options{Text: "txt", Condition: "label"}, origin.Columns, `no column "txt" among the 4 of the source`},
		{"missing column", "a.parquet", encodeParquet(t, few), Options{Text: "Text"}, origin.Columns, `there is no column "Text", but "text"`},
		{"keys that are content", "a.jsonl", []byte(`{"Jane Roe":1}`), Options{}, origin.Columns, `no column "text" among the 1 of the source`},
		{"no header", "a.csv", []byte("My password is 1234!,World\n"), Options{}, origin.Columns, "is there a header row?"},
		{"no header, and fields like names", "a.csv", []byte("Jane Roe,World\n"), Options{Condition: "label"}, origin.Columns, "the first row has 2 fields, and none of them names"},
		{"column twice", "a.csv", []byte("text,text\na,b\n"), Options{}, origin.Columns, "two columns"},
		{"list column", "a.parquet", encodeParquet(t, few), Options{Text: "other"}, origin.Columns, "write it as strings"},
		{"not parquet", "a.parquet", []byte(good), Options{}, origin.Damaged, "cannot be read"},
		{"a footer that claims 2^31 columns", "a.parquet", []byte("PAR1\x29\xfc\xff\xff\xff\xff\x07\x07\x00\x00\x00PAR1"), Options{}, origin.Damaged, "cannot be read"},
		{"cut parquet", "a.parquet", encodeParquet(t, few)[:200], Options{}, origin.Damaged, "cannot be read"},
		{"cut gzip", "a.jsonl.gz", gzipBytes(t, []byte(good))[:60], Options{}, origin.Damaged, "ends too early"},
		{"cut zstd", "a.jsonl.zst", zstdBytes(t, []byte(good))[:40], Options{}, origin.Damaged, "ends too early"},
		{"damaged gzip", "a.jsonl.gz", damage(gzipBytes(t, []byte(good))), Options{}, origin.Damaged, "damaged"},
		{"not gzip", "a.jsonl.gz", []byte(good), Options{}, origin.Unusable, "not compressed as its name says"},
		{"no list", "a.jsonl", []byte(good), Options{Condition: "label", Labels: []string{}}, origin.Unusable, "list of labels is empty"},
		{"labels without a column", "a.jsonl", []byte(good), Options{Labels: []string{"World"}}, origin.Unusable, "name the label column"},
		{"label twice", "a.jsonl", []byte(good), Options{Condition: "label", Labels: []string{"World", "World"}}, origin.Unusable, "twice"},
		{"blank label", "a.jsonl", []byte(good), Options{Condition: "label", Labels: []string{"World", " "}}, origin.Unusable, "label 2 of the list"},
		{"alias to nothing", "a.jsonl", []byte(good), Options{Condition: "label", Labels: []string{"World"}, Aliases: map[string]string{"w": "Wrld"}}, origin.Unusable, "not in the list"},
		{"odd on-error", "a.jsonl", []byte(good), Options{OnError: "ignore"}, origin.Unusable, `neither "fail" nor "skip"`},
		{"all malformed", "a.jsonl", lines(3, "no json"), Options{OnError: Skip}, origin.Malformed, "no record can be used: 3 malformed records: records 1, 2, 3: the line is not one JSON object"},
		{"some malformed", "a.jsonl", append(lines(12, `{"text":""}`), good...), Options{}, origin.Malformed, "9, 10: the text is empty; and 2 more"},
	} {
		t.Run(c.name+" "+c.file, func(t *testing.T) {
			private := filepath.Join(t.TempDir(), "private")
			c.o.Private = private
			_, err := tryOpen(t, write(t, c.file, c.data), c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ...%s...", err, c.want)
			}
			if strings.Contains(fmt.Sprint(err), "Jane") {
				t.Errorf("content is in %v", err)
			}
			if code := codeOf(err); code != c.code {
				t.Errorf("code %q, want %q", code, c.code)
			}
			if left, _ := filepath.Glob(filepath.Join(private, "index", "*")); left != nil {
				t.Errorf("a failed open leaves %d files in the index folder", len(left))
			}
		})
	}
}

func codeOf(err error) origin.Code {
	if known := (*Error)(nil); errors.As(err, &known) {
		return known.Code
	}
	if malformed := (*MalformedError)(nil); errors.As(err, &malformed) {
		return origin.Malformed
	}
	return ""
}

// damage flips a byte of the compressed content.
func damage(b []byte) []byte {
	b[len(b)-12] ^= 0x55
	return b
}

func TestPlacesThatAreNoFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder.jsonl")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "pipe.jsonl")
	makeFIFO(t, fifo)
	for path, want := range map[string]string{
		dir:                               "is a folder",
		fifo:                              "not a regular file",
		filepath.Join(dir, "none.jsonl"):  "no such file",
		filepath.Join(dir, "none.db"):     "no such file",
		"postgres://%zz":                  "",
		"postgres://nobody@127.0.0.1:1/x": "connecting to PostgreSQL at 127.0.0.1",
	} {
		o := Options{}
		if strings.HasPrefix(path, "postgres") || strings.HasSuffix(path, ".db") {
			o = Options{Query: "SELECT 1 AS text ORDER BY 1"}
		}
		if _, err := tryOpen(t, path, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ...%s...", path, err, want)
		}
	}
	for _, o := range []Options{{Private: dir}, {Text: "text"}} {
		if _, err := Open(context.Background(), "a.jsonl", o); codeOf(err) != origin.Unusable {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestReasons has one malformed record of each kind, between good ones.
func TestReasons(t *testing.T) {
	long := strings.Repeat("x", maxRow)
	labels := Options{Condition: "label", Unit: "user", Labels: []string{"World"}, OnError: Skip}
	for _, c := range []struct {
		line string
		want origin.Reason
	}{
		{`{"text":"a","label":"World","user":"u"`, origin.NotAnObject},
		{`["text"]`, origin.NotAnObject},
		{`"text"`, origin.NotAnObject},
		{`{"text":"a","label":"World","user":"u"} {}`, origin.NotAnObject},
		{`{"text":"a","label":"World","user":"u","text":"b"}`, origin.DuplicateKey},
		{`{"text":"a","label":"World","user":"u","\u0074ext":"b"}`, origin.DuplicateKey},
		{`{"text":"` + long + `","label":"World","user":"u"}`, origin.TooLong},
		{"{\"text\":\"a\xff\",\"label\":\"World\",\"user\":\"u\"}", origin.NotUTF8},
		{`{"text":"a\ud800b","label":"World","user":"u"}`, origin.NotUTF8},
		{`{"text":"a\udc00\ud800","label":"World","user":"u"}`, origin.NotUTF8},
		{`{"text":"a\u0000","label":"World","user":"u"}`, origin.HasNUL},
		{`{"label":"World","user":"u"}`, origin.TextMissing},
		{`{"text":null,"label":"World","user":"u"}`, origin.TextMissing},
		{`{"text":1,"label":"World","user":"u"}`, origin.TextNotString},
		{`{"text":{"a":1},"label":"World","user":"u"}`, origin.TextNotString},
		{`{"text":" \n ","label":"World","user":"u"}`, origin.TextEmpty},
		{`{"text":"a","user":"u"}`, origin.ConditionMissing},
		{`{"text":"a","label":" ","user":"u"}`, origin.ConditionMissing},
		{`{"text":"a","label":["World"],"user":"u"}`, origin.ConditionNotScalar},
		{`{"text":"a","label":"Wrld","user":"u"}`, origin.LabelUnknown},
		{`{"text":"a","label":"World"}`, origin.UnitMissing},
		{`{"text":"a","label":"World","user":""}`, origin.UnitMissing},
		{`{"text":"a","label":"World","user":[]}`, origin.UnitNotScalar},
	} {
		good := `{"text":"good","label":" World ","user":7}` + "\n"
		d := open(t, write(t, "a.jsonl", []byte(good+c.line+"\n"+good)), labels)
		checkSecond(t, d, c.want, c.line)
	}
	for _, c := range []struct {
		line string
		want origin.Reason
	}{
		{`a,World`, origin.FieldCount},
		{`a,World,u,v`, origin.FieldCount},
		{`a"b,World,u`, origin.BadQuotes},
		{`"a"b,World,u`, origin.BadQuotes},
		{"\"a\"\r,World,u", origin.BadQuotes},
		{`"` + long + `",World,u`, origin.TooLong},
		{"a\xff,World,u", origin.NotUTF8},
		{"a\x00,World,u", origin.HasNUL},
		{` ,World,u`, origin.TextEmpty},
		{`"",World,u`, origin.TextEmpty},
		{`a,,u`, origin.ConditionMissing},
		{`a,Wrld,u`, origin.LabelUnknown},
		{`a,World,`, origin.UnitMissing},
	} {
		good := "good, World ,7\n"
		d := open(t, write(t, "a.csv", []byte("text,label,user\n"+good+c.line+"\n"+good)), labels)
		checkSecond(t, d, c.want, c.line)
	}
}

// checkSecond expects that the second of three records is malformed, and the others
// are not.
func checkSecond(t *testing.T, d *Data, want origin.Reason, line string) {
	t.Helper()
	p := d.Problems()
	at := expect.At(t, "%.60q", line)
	expect.Equal(at, "p.Count", p.Count, 1)
	expect.Len(at, "p.First", p.First, 1)
	expect.Equal(at, "p.First[0]", p.First[0], (origin.Problem{Ordinal: 2, Reason: want}))
	n := 0
	if err := d.Scan(context.Background(), func(seal.Record) error { n++; return nil }); err != nil || n != 2 {
		t.Errorf("%.60q: %d good records, %v", line, n, err)
	}
	if units := seal.Exactly(d.Size(0)); units != 1 {
		t.Errorf("%.60q: %d units", line, units)
	}
}

// TestUnmatchedQuote: a record whose quotes do not match is refused alone. If it took the
// rest of the file along, it would be worth more than one record.
func TestUnmatchedQuote(t *testing.T) {
	d := open(t, write(t, "a.csv", []byte("text\ngood\n\"bad\nbetter\nbest\n")), Options{OnError: Skip})
	if p := d.Problems(); p.Count != 1 || p.First[0] != (origin.Problem{Ordinal: 2, Reason: origin.BadQuotes}) {
		t.Errorf("got %v", p)
	}
	if n := seal.Exactly(d.Size(0)); n != 3 {
		t.Errorf("%d records are left", n)
	}
}

func TestAliasesAndScalars(t *testing.T) {
	data := `{"text":"a","label":1,"user":1}
{"text":"b","label":true,"user":"1"}
{"text":"c","label":"one","user":false}
`
	o := Options{Condition: "label", Unit: "user", Labels: []string{"One", "yes"}, Aliases: map[string]string{"1": "One", "true": "yes", "one": "One"}}
	d := open(t, write(t, "a.jsonl", []byte(data)), o)
	// The number 1 and the string "1" are one unit, of labels One and yes.
	if n := seal.Exactly(d.Size(0)) + seal.Exactly(d.Size(1)); n != 2 {
		t.Errorf("%d units, want 2", n)
	}
}

// TestChangedSources changes a source after it was opened.
func TestChangedSources(t *testing.T) {
	changes := map[string]func(data []byte) []byte{
		"content":   func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "first", "fi-st")) },
		"cut":       func(b []byte) []byte { return b[:len(b)/2] },
		"shifted":   func(b []byte) []byte { return append([]byte(" "), b...) },
		"emptied":   func([]byte) []byte { return nil },
		"malformed": func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), ":", ";")) },
	}
	for name, change := range changes {
		path := write(t, "a.jsonl", encodeJSONL(t, few))
		d := open(t, path, Options{Condition: "label"})
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, change(data), 0o600); err != nil {
			t.Fatal(err)
		}
		// A change that neither size nor time tells of is seen in the content.
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		ref0, err0 := d.Choose(0, 0, nil)
		ref4, err4 := d.Choose(0, 4, nil)
		if err := errors.Join(err0, err4); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Fetch(context.Background(), []seal.Ref{ref0, ref4}); codeOf(err) != Changed {
			t.Errorf("%s: fetch gives %v", name, err)
		}
		if err := d.Scan(context.Background(), func(seal.Record) error { return nil }); codeOf(err) != Changed {
			t.Errorf("%s: scan gives %v", name, err)
		}
	}
}

// TestChangedWhileRead changes a file during its enrolment.
func TestChangedWhileRead(t *testing.T) {
	path := write(t, "a.jsonl", encodeJSONL(t, few))
	later := time.Now().Add(time.Hour)
	_, err := tryOpen(t, path, Options{Progress: func(int64, int64) {
		if err := os.Chtimes(path, later, later); err != nil {
			t.Error(err)
		}
	}})
	if codeOf(err) != Changed {
		t.Errorf("got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	for _, f := range allFormats {
		location, query := f.put(t, t.TempDir(), tickets(50))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := Open(ctx, location, Options{Text: "text", Query: query, Private: t.TempDir()}); err == nil {
			t.Errorf("%s: opened though cancelled", f.name)
		}
		d := open(t, location, Options{Query: query})
		ref, err := d.Choose(0, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Fetch(ctx, []seal.Ref{ref}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

func TestRefsOfOthers(t *testing.T) {
	d := open(t, write(t, "a.jsonl", encodeJSONL(t, few)), Options{})
	for _, ref := range []seal.Ref{{}, seal.NewRef(2, 0), seal.NewRef(1, -1), seal.NewRef(6, 5)} {
		if _, err := d.Fetch(context.Background(), []seal.Ref{ref}); codeOf(err) != origin.Unusable {
			t.Errorf("got %v", err)
		}
	}
	for _, at := range [][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, len(few)}} {
		if _, err := d.Choose(at[0], at[1], nil); codeOf(err) != origin.Unusable {
			t.Errorf("choosing %v gives %v", at, err)
		}
	}
	if n := seal.Exactly(d.Size(1)) + seal.Exactly(d.Size(-1)); n != 0 {
		t.Errorf("parts that do not exist have %d units", n)
	}
}

func ExampleMalformedError() {
	p := Problems{Count: 2, First: []origin.Problem{{Ordinal: 3, Reason: origin.NotUTF8}, {Ordinal: 17, Reason: origin.TextEmpty}}}
	fmt.Println(&MalformedError{Problems: p})
	p = Problems{Count: 3, First: []origin.Problem{{Ordinal: 1, Reason: origin.ValueNotNumber, Column: "income"}, {Ordinal: 2, Reason: origin.ValueMissing, Column: "age"}, {Ordinal: 3, Reason: origin.LabelUnknown}}}
	fmt.Println((&MalformedError{Problems: p}).Outline())
	// Output:
	// 2 malformed records: record 3: not valid UTF-8; record 17: the text is empty. Text in another encoding becomes UTF-8 by, for example, iconv -f WINDOWS-1252 -t UTF-8. Correct them, or leave malformed records out
	// there are malformed records: a label that is not in the list; column "age": no value; column "income": not a number. Other spellings of a label can be listed in the task file: aliases = { "billing" = "Billing" }. The schema can say how numbers are written: format = "1,234.56" for 58,370 or $58,370. The schema can say what no value, or NA, counts as: missing, for each column. Correct them, or leave malformed records out
}
