package record

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// readAll reads rows with a buffer of the least size, so that rows come in pieces.
func readAll(t testing.TB, data []byte, reader func(*bufio.Reader, int64) rows.Reader) (out []rows.Row) {
	t.Helper()
	in := reader(bufio.NewReaderSize(bytes.NewReader(data), 16), 0)
	for {
		r, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *r)
	}
}

// checkPlaces reads every row again from its place alone.
func checkPlaces(t testing.TB, data []byte, found []rows.Row, reader func(*bufio.Reader, int64) rows.Reader) {
	t.Helper()
	last := int64(-1)
	for i, want := range found {
		if want.Place <= last || want.Place >= int64(len(data)) {
			t.Fatalf("row %d is at %d, after %d", i, want.Place, last)
		}
		last = want.Place
		got, err := reader(bufio.NewReader(bytes.NewReader(data[want.Place:])), want.Place).Next()
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Fatalf("row %d is not found at its place: %v", i, err)
		}
	}
}

// FuzzJSONL compares with encoding/json.
func FuzzJSONL(f *testing.F) {
	for _, seed := range []string{
		`{"text":"a","label":1}` + "\n\n" + `{"text":"b\n\ud83d\ude00","label":true,"x":{"text":["}"]}}`,
		"\ufeff{\"text\" : \"\\u00e9\\/\" ,\"label\":null } \r\n{}",
		`{"text":"\ud800"}`, `{"text":"a","text":"b"}`, `[`, `{"a":-1e5,"text":"x"}`, "\x00", `{"text":"\\"}`,
	} {
		f.Add([]byte(seed))
	}
	reader := func(in *bufio.Reader, offset int64) rows.Reader {
		return rows.NewLines(in, offset, []string{"text", "label", "user"}, nil)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		found := readAll(t, data, reader)
		checkPlaces(t, data, found, reader)
		lines := bytes.Split(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
		i := 0
		for _, line := range lines {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			if i == len(found) {
				t.Fatal("a line is missing")
			}
			compareJSON(t, line, found[i])
			i++
		}
		if i != len(found) {
			t.Fatalf("%d rows of %d lines", len(found), i)
		}
	})
}

func compareJSON(t *testing.T, line []byte, r rows.Row) {
	t.Helper()
	var want map[string]json.RawMessage
	err := json.Unmarshal(line, &want)
	if valid := err == nil && want != nil && utf8.Valid(line); !valid && r.Bad == 0 {
		t.Fatalf("%q is accepted", line)
	} else if valid && r.Bad != 0 && r.Bad != origin.DuplicateKey && r.Bad != origin.NotUTF8 {
		t.Fatalf("%q is refused: %v", line, r.Bad)
	}
	if r.Bad != 0 {
		return
	}
	for role, name := range []string{"text", "label", "user"} {
		var v any
		if raw, ok := want[name]; ok {
			if err := json.Unmarshal(raw, &v); err != nil {
				v = string(raw) // a number out of the range of float64
			}
		}
		got := r.Values[role]
		switch v := v.(type) {
		case nil:
			if got.Kind != rows.Absent {
				t.Fatalf("%q: %s should be absent", line, name)
			}
		case string:
			if got.Kind == rows.Text && got.S != v || got.Kind == rows.Scalar && got.S != string(want[name]) {
				t.Fatalf("%q: %s is %q", line, name, got.S)
			}
		case float64, bool:
			if got.Kind != rows.Scalar || got.S != string(bytes.TrimSpace(want[name])) {
				t.Fatalf("%q: %s is %q", line, name, got.S)
			}
		default:
			if got.Kind != rows.Compound {
				t.Fatalf("%q: %s is %q", line, name, got.S)
			}
		}
	}
}

func csvReader(width int) func(in *bufio.Reader, offset int64) rows.Reader {
	return func(in *bufio.Reader, offset int64) rows.Reader {
		return rows.NewCSV(in, offset, rows.Head{Names: make([]string, width), Comma: ','}, 3, [][]int{{roleText}, {roleCondition}, {roleUnit}}, nil)
	}
}

// FuzzCSV compares with encoding/csv as long as that finds nothing wrong.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{
		"a,b,c\n\"d\"\"\",\"e\nf\",\n", "\r\n\"\"\r\n,,\r\n", "a\"b\nc,d,e", "\"a", "\"a\"\rb\n", "a,b,c\r", "\"a\r\nb\",\"\",x", ",\n,,,\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		found := readAll(t, data, csvReader(3))
		checkPlaces(t, data, found, csvReader(3))
		in := csv.NewReader(bytes.NewReader(data))
		in.FieldsPerRecord = -1
		for i := 0; ; i++ {
			want, err := in.Read()
			if errors.Is(err, io.EOF) {
				if i != len(found) {
					t.Fatalf("%d rows, want %d", len(found), i)
				}
				return
			}
			if i == len(found) {
				t.Fatal("a row is missing")
			}
			if err != nil {
				if found[i].Bad == 0 {
					t.Fatalf("row %d is accepted: %v", i, err)
				}
				return
			}
			compareCSV(t, want, found[i])
		}
	})
}

// compareCSV knows of one difference: we keep line ends within quotes as they are.
func compareCSV(t *testing.T, want []string, r rows.Row) {
	t.Helper()
	if len(want) != 3 {
		if r.Bad != origin.FieldCount {
			t.Fatalf("%d fields: %v", len(want), r.Bad)
		}
		return
	}
	for i, w := range want {
		got := r.Values[i]
		if got.Kind != rows.Text || strings.ReplaceAll(got.S, "\r\n", "\n") != strings.ReplaceAll(w, "\r\n", "\n") {
			t.Fatalf("field %d is %q, want %q: %v", i, got.S, w, r.Bad)
		}
	}
}

// TestCSVReadsWhatIsQuoted: every field comes back exactly, in any mix of quoting.
func TestCSVReadsWhatIsQuoted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		field := rapid.OneOf(rapid.StringMatching(`[a-z ,"\n\r]{0,5}`), rapid.String())
		table := rapid.SliceOfN(rapid.SliceOfN(field, 3, 3), 1, 5).Draw(rt, "table")
		var b strings.Builder
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "end")
		for _, fields := range table {
			for i, f := range fields {
				if i > 0 {
					b.WriteByte(',')
				}
				if strings.ContainsAny(f, "\",\r\n") || rapid.Bool().Draw(rt, "quote") {
					f = `"` + strings.ReplaceAll(f, `"`, `""`) + `"`
				}
				b.WriteString(f)
			}
			b.WriteString(end)
		}
		var got [][]string
		for _, r := range readAll(t, []byte(b.String()), csvReader(3)) {
			got = append(got, []string{r.Values[0].S, r.Values[1].S, r.Values[2].S})
		}
		if !reflect.DeepEqual(got, table) {
			rt.Errorf("%q comes back as %q", table, got)
		}
	})
}
