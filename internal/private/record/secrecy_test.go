package record

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// marker is planted in every field. It has a form that no format escapes.
const marker = "4711-leak"

// TestNothingLeaks plants a marker in every field of good and malformed records and
// looks for it in every error, every formatted value and every file that is written.
func TestNothingLeaks(t *testing.T) {
	m := marker
	jsonl := strings.Join([]string{
		`{"text":"` + m + `","label":"` + m + `","user":"` + m + `","x":"` + m + `"}`,
		`{"text":"` + m + `","label":"` + m + `","user":"` + m + ` 2"}`,
		`{"text":"` + m + `","label":["` + m + `"],"user":"` + m + `"}`,
		`{"text":["` + m + `"],"label":"` + m + `","user":"` + m + `"}`,
		`{"text":"` + m + `","label":"` + m + `","user":{"` + m + `":1}}`,
		`{"text":"` + m + `\ud800","label":"` + m + `","user":"` + m + `"}`,
		`{"text":"` + m + `","text":"` + m + `"}`,
		`{"` + m, m, `"` + m + `"`, "\xff" + m,
	}, "\n")
	csv := strings.Join([]string{
		"text,label,user,x",
		strings.Repeat(m+",", 3) + m,
		strings.Repeat(m+",", 3) + m,
		m + `"` + m, m + "," + m, `"` + m + `" ` + m, "\xff" + m + "," + m + "," + m + "," + m, `"` + m,
	}, "\n")
	for name, data := range map[string][]byte{
		"a.jsonl": []byte(jsonl), "a.csv": []byte(csv), "a.jsonl.gz": gzipBytes(t, []byte(jsonl)),
		"headless.csv":     []byte(m + "!," + m + "\n" + csv),
		"headless.jsonl":   []byte(`{"` + m + `":"` + m + `"}`),
		"a.parquet":        encodeParquet(t, []sample{{m, m, m}, {m, m, m}, {"", m, m}, {m + "\xff", m, m}}),
		"damaged.parquet":  bytes.ReplaceAll(encodeParquet(t, []sample{{m, m, m}, {m + "x", m, m}}), []byte(m), []byte(m[:len(m)-1]+"\xff")),
		"damaged2.parquet": overwrite(encodeParquet(t, []sample{{m, m, m}, {m, m, m}})),
	} {
		for _, o := range []Options{
			{},
			{Unit: "user"},
			{OnError: Skip, Unit: "user"},
			{Labels: []string{"World"}},
			{Labels: []string{"World"}, OnError: Skip},
			{Text: "nothing"},
			{Labels: []string{"World"}, Aliases: map[string]string{m: "World"}, OnError: Skip, Unit: "user", memory: 1},
		} {
			o.Condition, o.Private = "label", t.TempDir()
			path := write(t, name, data)
			lookFor(t, name, func(out *bytes.Buffer) {
				d, err := tryOpen(t, path, o)
				show(out, err)
				if d != nil {
					use(t, out, d, path)
				}
			}, o.Private)
		}
	}
}

// overwrite damages the pages of a file and leaves its footer.
func overwrite(b []byte) []byte {
	for i := 8; i < len(b)/3; i++ {
		b[i] ^= byte(i)
	}
	return b
}

// use shows everything that an open source can be asked for, and changes it.
func use(t *testing.T, out *bytes.Buffer, d *Data, path string) {
	t.Helper()
	ctx := context.Background()
	show(out, d, *d, []*Data{d}, d.Problems(), d.Size(0), d.Unit())
	conditions, err := d.Conditions(ctx, func(seal.Count) bool { return true })
	show(out, conditions, err)
	show(out, d.Scan(ctx, func(r seal.Record) error { show(out, r); return nil }))
	if seal.Exactly(d.Size(0)) > 0 {
		got := all(t, d)
		show(out, got)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.ReplaceAll(data, []byte("leak"), []byte("LEAK")), 0o600); err != nil {
			t.Fatal(err)
		}
		ref, err := d.Choose(0, 0, noise.KeyFromSeed(1).Stream("one"))
		records, errFetch := d.Fetch(ctx, []seal.Ref{ref})
		show(out, ref, err, records, errFetch)
		show(out, d.Scan(ctx, func(seal.Record) error { return nil }))
	}
	show(out, d.Close())
}

// show prints values in all ways that the standard library has.
func show(out *bytes.Buffer, values ...any) {
	for _, v := range values {
		fmt.Fprintf(out, "%v %+v %#v %s %q\n", v, v, v, v, v)
		encoded, err := json.Marshal(v)
		fmt.Fprintln(out, string(encoded), err)
		slog.New(slog.NewJSONHandler(out, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(out, nil)).Info("x", "v", v)
		if e, ok := v.(error); ok {
			fmt.Fprintln(out, e.Error())
		}
	}
}

// lookFor runs something and looks for the marker in what it shows, and in the files
// that it leaves.
func lookFor(t *testing.T, name string, do func(*bytes.Buffer), dir string) {
	t.Helper()
	var out bytes.Buffer
	do(&out)
	hunt := func(where string, data []byte) {
		for _, form := range []string{marker, strings.ToUpper(marker), fmt.Sprintf("%x", marker)} {
			if i := bytes.Index(data, []byte(form)); i >= 0 {
				t.Errorf("%s: content in %s: ...%q...", name, where, data[max(0, i-80):min(len(data), i+40)])
			}
		}
	}
	hunt("what is shown", out.Bytes())
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		hunt("a file name", []byte(e.Name()))
		data, err := os.ReadFile(path)
		hunt("a file", data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDatabasesDoNotLeak: databases quote values in their errors; ours do not.
func TestDatabasesDoNotLeak(t *testing.T) {
	records := []sample{{marker, marker, marker}, {marker, marker, marker}}
	for _, f := range allFormats {
		if f.name != "sqlite" && f.name != "postgres" {
			continue
		}
		location, _ := f.put(t, t.TempDir(), records)
		for _, query := range []string{
			"SELECT text::int AS text, label FROM records ORDER BY id",
			"SELECT json_extract(text, label) AS text, label FROM records ORDER BY id",
			"SELECT text, 1/(id-1) AS label FROM records ORDER BY id",
			"SELECT text, label FROM records ORDER BY nothing",
			"SELECT text, label ORDER BY",
			"DELETE FROM records RETURNING text, label -- ORDER BY id",
			"SELECT usr FROM records ORDER BY id",
			"SELECT text, label FROM records ORDER BY id; SELECT 1",
			"SELECT text, usr AS label FROM records ORDER BY id",
		} {
			o := Options{Condition: "label", Query: query, Private: t.TempDir()}
			lookFor(t, f.name+": "+query, func(out *bytes.Buffer) {
				d, err := tryOpen(t, location, o)
				show(out, err)
				if d != nil {
					records, err := d.Conditions(context.Background(), func(seal.Count) bool { return true })
					show(out, records, err, d, d.Close())
				}
			}, o.Private)
		}
		d := open(t, location, Options{Query: "SELECT text FROM records ORDER BY id -- all of them"})
		if n := len(all(t, d)[0]); n != len(records) {
			t.Errorf("%s: %d records are left", f.name, n)
		}
	}
}
