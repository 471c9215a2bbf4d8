package reconstruct

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

// loans returns a made-up schema, with values that need care in files.
func loans() schema.Schema {
	return schema.Schema{
		Name: "loans", Label: "repaid",
		Columns: []schema.Column{
			{Name: "age", Kind: schema.Numeric, Low: 18, High: 100, Clamp: true, Edges: []float64{30, 50}},
			{Name: "the purpose", Kind: schema.Categorical, Values: []string{"car", "house, or flat", `a "treat"`, "<none>"}},
			{Name: "repaid", Kind: schema.Categorical, Values: []string{"No", "Yes"}},
		},
	}.WithDefaults()
}

// TestFilesRoundTrip: rows come back as they were written, in batches of any size.
func TestFilesRoundTrip(t *testing.T) {
	sc := loans()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom([]Format{CSV, JSONL}).Draw(t, "format")
		n := rapid.IntRange(0, 20).Draw(t, "rows")
		var rows Rows
		rows.Reset(3, n)
		for i, c := range sc.Columns {
			for j := range n {
				rows.Columns[i][j] = uint16(rapid.IntRange(0, len(c.Domain())-1).Draw(t, "code"))
			}
		}
		var b bytes.Buffer
		w, err := NewWriter(&b, sc, f)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(&rows), w.Flush()); err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(&b, sc, f)
		if err != nil {
			t.Fatal(err)
		}
		got := make([][]uint16, 3)
		for {
			var some Rows
			if err := r.Read(&some, rapid.IntRange(1, 7).Draw(t, "at a time")); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i] = append(got[i], some.Columns[i]...)
			}
		}
		for i := range got {
			if !slices.Equal(got[i], rows.Columns[i]) {
				t.Fatalf("column %d: %v came back as %v", i, rows.Columns[i], got[i])
			}
		}
	})
}

// TestFilesAsWritten shows what others will read.
func TestFilesAsWritten(t *testing.T) {
	rows := Rows{Count: 2, Columns: [][]uint16{{0, 2}, {1, 2}, {1, 0}}}
	for f, want := range map[Format]string{
		CSV:   "age,the purpose,repaid\nless than 30,\"house, or flat\",Yes\n50 or more,\"a \"\"treat\"\"\",No\n",
		JSONL: `{"age":"less than 30","the purpose":"house, or flat","repaid":"Yes"}` + "\n" + `{"age":"50 or more","the purpose":"a \"treat\"","repaid":"No"}` + "\n",
	} {
		t.Run(string(f), func(t *testing.T) {
			var b bytes.Buffer
			w, err := NewWriter(&b, loans(), f)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Write(&rows), w.Flush()); err != nil {
				t.Fatal(err)
			}
			if b.String() != want {
				t.Errorf("%s:\n%swant\n%s", f, b.String(), want)
			}
		})
	}
	for name, want := range map[string]Format{"a.csv": CSV, "a": CSV, "x.JSONL": JSONL, "b.ndjson": JSONL} {
		t.Run(name, func(t *testing.T) {
			if FormatOf(name) != want {
				t.Errorf("%s is read as %s", name, FormatOf(name))
			}
		})
	}
}

// TestReaderRefuses: files that perturb did not write. A raw file that is named by mistake
// shows nothing of what is in it.
func TestReaderRefuses(t *testing.T) {
	read := func(f Format, text string) error {
		r, err := NewReader(strings.NewReader(text), loans(), f)
		for rows := (Rows{}); err == nil; {
			err = r.Read(&rows, 2)
		}
		return err
	}
	const head = "age,the purpose,repaid\n"
	for name, test := range map[string]struct {
		f    Format
		text string
	}{
		"empty":            {CSV, ""},
		"other columns":    {CSV, "age,purpose,repaid\n"},
		"raw rows":         {CSV, head + "less than 30,car,No\n4711,car,Yes\n"},
		"short row":        {CSV, head + "less than 30,car\n"},
		"raw JSON":         {JSONL, `{"age":"4711","the purpose":"car","repaid":"No"}`},
		"numbers":          {JSONL, `{"age":4711,"the purpose":"car","repaid":"No"}`},
		"a column missing": {JSONL, `{"age":"less than 30","repaid":"No"}`},
		"no JSON":          {JSONL, `4711`},
	} {
		t.Run(name, func(t *testing.T) {
			err := read(test.f, test.text)
			expect.True(t, "an error", err != nil)
			expect.True(t, "not errors.Is(err, io.EOF)", !errors.Is(err, io.EOF), err)
			expect.True(t, "no 4711 in the error", !strings.Contains(fmt.Sprint(err), "4711"), fmt.Sprint(err))
		})
	}
	if err := read(CSV, "repaid,more,the purpose,age\nYes,x,car,less than 30\n"); !errors.Is(err, io.EOF) {
		t.Errorf("columns in another order: %v", err)
	}
	if err := read(CSV, head); !errors.Is(err, io.EOF) {
		t.Errorf("no rows: %v", err)
	}
	numeric := loans()
	numeric.Columns[0].Edges, numeric.Columns[0].Values = nil, nil
	if _, err := NewReader(strings.NewReader(head), numeric, CSV); err == nil || !strings.Contains(err.Error(), `"age"`) {
		t.Errorf("a column without bins: %v", err)
	}
	w, err := NewWriter(io.Discard, loans(), CSV)
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []Rows{{Count: 1, Columns: [][]uint16{{0}}}, {Count: 1, Columns: [][]uint16{{3}, {0}, {0}}}} {
		if err := w.Write(&rows); err == nil {
			t.Errorf("%v was written", rows)
		}
	}
}

// sidecar returns what package internal/private/table/local says of rows of loans at ε = 3.
func sidecar() Sidecar {
	s := Sidecar{
		Format: SidecarFormat, Schema: "loans", SchemaHash: SchemaHash(loans()), Rows: 5, Epsilon: 3, Private: true,
		Adjacency: privacy.ReplaceOne, Event: "compose(rr(1, 2), rr(1, 3), rr(1, 4))",
	}
	for i, c := range loans().Columns {
		d := []int{3, 4, 2}[i]
		keep := math.E / (math.E + float64(d-1))
		s.Columns = append(s.Columns, SidecarColumn{Name: c.Name, Values: d, Epsilon: 1, Keep: keep, Other: (1 - keep) / float64(d-1), Threshold: uint64(keep * 0x1p64)})
	}
	return s
}

// TestSidecars: what does not fit the schema, the ε or itself is refused.
func TestSidecars(t *testing.T) {
	if err := sidecar().CheckSchema(loans()); err != nil {
		t.Fatal(err)
	}
	if err := sidecar().CheckEpsilon(3); err != nil {
		t.Error(err)
	}
	if err := sidecar().CheckEpsilon(3.1); err == nil {
		t.Error("another ε is accepted")
	}
	for name, change := range map[string]func(*Sidecar){
		"format":    func(s *Sidecar) { s.Format = "sotto-perturbed/0" },
		"hash":      func(s *Sidecar) { s.SchemaHash = "00" },
		"columns":   func(s *Sidecar) { s.Columns = s.Columns[:2] },
		"name":      func(s *Sidecar) { s.Columns[1].Name = "purpose" },
		"values":    func(s *Sidecar) { s.Columns[1].Values = 3 },
		"keep":      func(s *Sidecar) { s.Columns[0].Keep += 1e-6 },
		"other":     func(s *Sidecar) { s.Columns[0].Other *= 1.001 },
		"threshold": func(s *Sidecar) { s.Columns[0].Threshold -= 1 << 40 },
		"ε":         func(s *Sidecar) { s.Columns[2].Epsilon = 1.1 },
		"sum":       func(s *Sidecar) { s.Epsilon = 2.9 },
		"NaN":       func(s *Sidecar) { s.Epsilon = math.NaN() },
		"event":     func(s *Sidecar) { s.Event = "compose(rr(1, 2), rr(1, 3))" },
		"adjacency": func(s *Sidecar) { s.Adjacency = privacy.AddRemove },
	} {
		t.Run(name, func(t *testing.T) {
			s := sidecar()
			change(&s)
			if err := s.CheckSchema(loans()); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
	other := loans()
	other.Columns[0].Edges = []float64{30, 51}
	other.Columns[0].Values = nil
	if err := sidecar().CheckSchema(other.WithDefaults()); err == nil {
		t.Error("a schema with other bins is accepted")
	}
	if _, err := ReadSidecar(strings.NewReader("{"), loans()); err == nil {
		t.Error("half a sidecar is accepted")
	}
}

func FuzzReader(f *testing.F) {
	f.Add("age,the purpose,repaid\nless than 30,car,No\n", false)
	f.Add(`{"age":"less than 30","the purpose":"car","repaid":"No"}`, true)
	f.Add("age,the purpose,repaid\n\"", false)
	sc := loans()
	f.Fuzz(func(t *testing.T, text string, lines bool) {
		format := CSV
		if lines {
			format = JSONL
		}
		r, err := NewReader(strings.NewReader(text), sc, format)
		for rows := (Rows{}); err == nil; {
			if err = r.Read(&rows, 3); err != nil {
				break
			}
			for i, c := range sc.Columns {
				for _, code := range rows.Columns[i] {
					if int(code) >= len(c.Domain()) {
						t.Fatalf("code %d of %q", code, c.Name)
					}
				}
			}
		}
	})
}
