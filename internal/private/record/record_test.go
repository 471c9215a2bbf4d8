package record

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// sample is a record as tests write it.
type sample struct {
	text, label, user string
}

func encodeJSONL(t testing.TB, records []sample) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, r := range records {
		line, err := json.Marshal(map[string]any{"text": r.text, "label": r.label, "user": r.user, "other": []any{1, nil, "}"}})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

func encodeCSV(t testing.TB, records []sample) []byte {
	t.Helper()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{"user", "text", "other", "label"}}
	for _, r := range records {
		rows = append(rows, []string{r.user, r.text, "x,\"\n", r.label})
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipBytes(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdBytes(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(data, nil)
}

// write puts a file into a fresh folder.
func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	return writeIn(t, t.TempDir(), name, data)
}

func writeIn(t testing.TB, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, location string, o Options) *Data {
	t.Helper()
	d, err := tryOpen(t, location, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func tryOpen(t testing.TB, location string, o Options) (*Data, error) {
	t.Helper()
	if o.Private == "" {
		o.Private = filepath.Join(t.TempDir(), "private")
	}
	if o.Text == "" {
		o.Text = "text"
	}
	return Open(context.Background(), location, o)
}

// all fetches a record of every unit of every part.
func all(t testing.TB, d *Data) (out [][]seal.Record) {
	t.Helper()
	s := noise.KeyFromSeed(1).Stream("test")
	for part := range d.Parts() {
		var refs []seal.Ref
		for u := range seal.Exactly(d.Size(part)) {
			ref, err := d.Choose(part, u, s)
			if err != nil {
				t.Fatal(err)
			}
			refs = append(refs, ref)
		}
		records, err := d.Fetch(context.Background(), refs)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, records)
	}
	return out
}

var few = []sample{
	{"a first text", "World", "ann"},
	{"a second\ntext, with \"quotes\"", "Sports", "bob"},
	{"träumend ☃ \U0001f600 text", "World", "ann"},
	{"  spaces  around ", "Sports", "ann"},
	{"the last", "Business", "cyd"},
}

func TestRecordsComeBack(t *testing.T) {
	for name, data := range map[string][]byte{
		"a.jsonl": encodeJSONL(t, few), "a.csv": encodeCSV(t, few),
		"a.jsonl.gz": gzipBytes(t, encodeJSONL(t, few)), "a.csv.zst": zstdBytes(t, encodeCSV(t, few)),
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, write(t, name, data), Options{Condition: "label"})
			got := all(t, d)[0]
			if len(got) != len(few) {
				t.Fatalf("%d records", len(got))
			}
			for i, r := range got {
				at := expect.At(t, "record %d", i+1)
				expect.Equal(at, "seal.Ordinal(r)", seal.Ordinal(r), int64(i+1))
				expect.Equal(at, "seal.Text(r)", seal.Text(r), few[i].text)
				expect.Equal(at, "seal.Condition(r)", seal.Condition(r), few[i].label)
			}
			i := 0
			err := d.Scan(context.Background(), func(r seal.Record) error {
				if seal.Text(r) != few[i].text {
					t.Errorf("scan gives %q", seal.Text(r))
				}
				i++
				return nil
			})
			if err != nil || i != len(few) {
				t.Errorf("scan: %d records, %v", i, err)
			}
		})
	}
}

func TestPartsAndUnits(t *testing.T) {
	path := write(t, "a.jsonl", encodeJSONL(t, few))
	d := open(t, path, Options{Condition: "label", Labels: []string{"Sports", "World", "Business"}})
	got := all(t, d)
	for part, want := range [][]int64{{2, 4}, {1, 3}, {5}} {
		if len(got[part]) != len(want) {
			t.Fatalf("part %d has %d units, want %v", part, len(got[part]), want)
		}
		for i, o := range want {
			if seal.Ordinal(got[part][i]) != o {
				t.Errorf("part %d: record %d, want %d", part, seal.Ordinal(got[part][i]), o)
			}
		}
	}
	d = open(t, path, Options{Condition: "label", Labels: []string{"Sports", "World", "Business"}, Unit: "user"})
	total := 0
	for part, records := range all(t, d) {
		for _, r := range records {
			total++
			if want := []string{"Sports", "World", "Business"}[part]; seal.Condition(r) != want {
				t.Errorf("a record with label %s is in part %s", seal.Condition(r), want)
			}
		}
	}
	if total != 3 || d.Unit() != "user:user" {
		t.Errorf("%d units of %s, want 3", total, d.Unit())
	}
}

// TestTogether: labels of a closed list in one part, in which a unit keeps all its records;
// a label that is not of the list is still malformed.
func TestTogether(t *testing.T) {
	path := write(t, "a.jsonl", encodeJSONL(t, few))
	o := Options{Condition: "label", Labels: []string{"Sports", "World", "Business"}, Together: true, Private: t.TempDir()}
	d := open(t, path, o)
	got := all(t, d)
	expect.Len(t, "got", got, 1)
	expect.Len(t, "got[0]", got[0], len(few))
	expect.True(t, "d.Labels() is nil", d.Labels() == nil, d.Labels())
	apart := o
	apart.Together = false
	if other := open(t, path, apart); other.Parts() != 3 || other.Fingerprint() != d.Fingerprint() {
		t.Errorf("apart there are %d parts, and the fingerprints are equal: %v", other.Parts(), other.Fingerprint() == d.Fingerprint())
	}
	users := o
	users.Unit = "user"
	want := []string{"[the last]", "[a second\ntext, with \"quotes\"]", "[  spaces  around  a first text träumend ☃ \U0001f600 text]"}
	slices.Sort(want)
	if got := parties(t, open(t, path, users)); !slices.Equal(got[0], want) {
		t.Errorf("units %q, want %q", got, want)
	}
	o.Labels, o.Text = o.Labels[:2], "text"
	if _, err := Open(t.Context(), path, o); !errors.As(err, new(*MalformedError)) {
		t.Errorf("a label that is not on the list: %v", err)
	}
}
