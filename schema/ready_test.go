package schema_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/reference"
	"github.com/sotto-dp/sotto/schema"
)

// rewrite writes golden files anew.
var rewrite = reference.Rewrite

// ready are the data sets with ready-made schemas, and what tells that their labels are
// read as the paper does: rows that answer Yes, of how many.
var ready = []struct {
	name      string
	yes, rows int
}{
	{"adult", 11687, 48842},
	{"bank", 5289, 45211},
	{"blood", 178, 748},
	{"calhousing", 10317, 20640},
	{"car", 384 + 69 + 65, 1728},
	{"diabetes", 268, 768},
	{"heart", 508, 918},
	{"jungle", 23062, 44819},
}

func find(t testing.TB, name string) schema.Schema {
	t.Helper()
	s, err := schema.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReadyMade(t *testing.T) {
	var want []string
	for _, r := range ready {
		want = append(want, r.name, r.name+"-local")
		for _, name := range []string{r.name, r.name + "-local"} {
			data, err := schema.Source(name)
			if err != nil {
				t.Fatal(err)
			}
			s, found := schema.Examine(name, data)
			if len(found) > 0 {
				t.Errorf("%s: %v", name, found)
			}
			if _, err := s.Task(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		global, local := find(t, r.name), find(t, r.name+"-local")
		for name, n := range map[string]int{"2": 2, "4": 4, "8": 8} {
			t.Run(name, func(t *testing.T) {
				if got := global.GroupCount(global.Groups[name]); got != n {
					t.Errorf("%s: %d groups instead of %d", r.name, got, n)
				}
			})
		}
		if cells := local.Cells(); cells > 1<<14 {
			t.Errorf("%s: %d cells", local.Name, cells)
		}
		for _, c := range local.Columns {
			if !c.Discrete() {
				t.Errorf("%s: column %s has no codes", local.Name, c.Name)
			}
		}
	}
	slices.Sort(want)
	if got := schema.Builtins(); !slices.Equal(got, want) {
		t.Errorf("built in are %v", got)
	}
}

// TestWords shows how rows of every ready-made schema read: the middle of every column,
// then rows that go through all values.
func TestWords(t *testing.T) {
	var b bytes.Buffer
	for _, name := range schema.Builtins() {
		s := find(t, name)
		fmt.Fprintf(&b, "== %s\n", name)
		say := func(r schema.Row) { fmt.Fprintf(&b, "%s Answer: %s\n", s.Text(r), s.Answer(r)) }
		say(s.Example())
		longest := 0
		for _, c := range s.Columns {
			longest = max(longest, len(c.Domain()))
		}
		for i := range longest {
			r := s.Example()
			for j, c := range s.Columns {
				if d := len(c.Domain()); d > 0 {
					r[j] = schema.Value{Code: i % d, Discrete: true}
				}
			}
			say(r)
		}
	}
	golden := filepath.Join("testdata", "words.txt")
	if *rewrite {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("rows read otherwise than in %s; look at the difference, and write it anew with -rewrite if it is meant", golden)
	}
}

// TestRealRows reads the data sets themselves, where they are: every value of every row has
// a place in both schemas, and labels are those that the data set is known to have.
func TestRealRows(t *testing.T) {
	for _, r := range ready {
		for _, name := range []string{r.name, r.name + "-local"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				header, rows := open(t, r.name)
				s := find(t, name)
				yes, n, words := 0, 0, s.Wording()
				encoders, places := make([]*schema.Encoder, len(s.Columns)), make([]int, len(s.Columns))
				for i, c := range s.Columns {
					encoders[i] = c.Encoder()
					if places[i] = slices.Index(header, c.Name); places[i] < 0 {
						t.Fatalf("there is no column %s", c.Name)
					}
				}
				for {
					record, err := rows.Read()
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					n++
					for i, c := range s.Columns {
						text := record[places[i]]
						var o schema.Outcome
						var code uint16
						if c.Discrete() {
							code, o = encoders[i].Code(text)
						} else {
							_, o = encoders[i].Number(text)
						}
						if o != schema.OK {
							t.Fatalf("row %d, %s: %s", n, c.Name, o)
						}
						if i == s.LabelColumn() && words.Answer(labelled(s, code)) == "Yes" {
							yes++
						}
					}
				}
				if n != r.rows || yes != r.yes {
					t.Errorf("%d of %d rows answer yes, instead of %d of %d", yes, n, r.yes, r.rows)
				}
			})
		}
	}
}

// labelled returns a row of which only the label is known.
func labelled(s schema.Schema, code uint16) schema.Row {
	r := make(schema.Row, len(s.Columns))
	r[s.LabelColumn()] = schema.Value{Code: int(code), Discrete: true}
	return r
}

func open(t *testing.T, set string) (header []string, rows *csv.Reader) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "shared", "data", set, "data.csv.gz"))
	if os.IsNotExist(err) {
		t.Skip("the data set is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows = csv.NewReader(z)
	rows.ReuseRecord = true
	header, err = rows.Read()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.Join(header, "\x00"), "\x00"), rows
}
