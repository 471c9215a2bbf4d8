package rows

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/schema"
)

// of is a built-in schema, and its encoder.
func of(t testing.TB, name string) (schema.Schema, *Encoder) {
	t.Helper()
	s, err := schema.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(s)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s, e
}

func embed(t testing.TB, e *Encoder, texts ...string) [][]float32 {
	t.Helper()
	out, err := e.Embed(context.Background(), texts)
	if err != nil || len(out) != len(texts) {
		t.Fatal(len(out), err)
	}
	return out
}

// rowsOf are rows of a schema in words: any values, numbers at the bounds and between, and values that are not said.
func rowsOf(s schema.Schema, n int) (out []string) {
	r := rand.New(rand.NewPCG(uint64(n), 0))
	for range n {
		row := make(schema.Row, len(s.Columns))
		for i, c := range s.Columns {
			switch {
			case r.IntN(10) == 0:
				row[i] = schema.Unsaid
			case c.Discrete() && (c.Kind == schema.Categorical || r.IntN(2) == 0):
				row[i] = schema.Value{Code: r.IntN(len(c.Domain())), Discrete: true}
			default:
				row[i] = schema.Value{Number: c.Low + []float64{0, 1, 0.5, r.Float64()}[r.IntN(4)]*(c.High-c.Low)}
			}
		}
		out = append(out, s.Text(row))
	}
	return out
}

// TestLengthIsOne: whatever a text is, its vector has the length one but for rounding to 32 bits, and no number of
// it is negative or none: two records never take away from each other.
func TestLengthIsOne(t *testing.T) {
	for _, name := range schema.Builtins() {
		s, e := of(t, name)
		texts := append(rowsOf(s, 300), "", "no row", "\xff\x00", strings.Repeat("x", 1<<16))
		for i, v := range embed(t, e, texts...) {
			if len(v) != e.Dimension() {
				t.Fatalf("%s: %d numbers of %d", name, len(v), e.Dimension())
			}
			var square float64
			for _, x := range v {
				if !(x >= 0) {
					t.Fatalf("%s: %v in the vector of %q", name, x, texts[i])
				}
				square += float64(x) * float64(x)
			}
			// Each number is off by 2^-24 of itself at most.
			if math.Abs(square-1) > 1e-6 {
				t.Fatalf("%s: a square of %v for %q", name, square, texts[i])
			}
		}
	}
}

// TestVectorIsOfItsRowAlone: a row has the same vector, bit for bit, by itself, among others, again, and from
// another encoder of the schema.
func TestVectorIsOfItsRowAlone(t *testing.T) {
	for _, name := range []string{"adult", "calhousing-local", "jungle"} {
		s, e := of(t, name)
		texts := rowsOf(s, 50)
		all := embed(t, e, texts...)
		_, other := of(t, name)
		for i, text := range texts {
			for _, e := range []*Encoder{e, other} {
				if !slices.Equal(embed(t, e, text)[0], all[i]) {
					t.Fatalf("%s: row %d has another vector by itself", name, i)
				}
			}
		}
		for i, v := range embed(t, other, reversed(texts)...) {
			if !slices.Equal(v, all[len(all)-1-i]) {
				t.Fatalf("%s: row %d has another vector among others", name, len(all)-1-i)
			}
		}
	}
}

// TestColumnsHavePartsOfTheirOwn: another value of a column changes its own features and no others.
func TestColumnsHavePartsOfTheirOwn(t *testing.T) {
	s, e := of(t, "adult")
	row := s.Example()
	before := embed(t, e, s.Text(row))[0]
	for _, in := range e.inputs {
		changed := slices.Clone(row)
		end := in.offset + 2*knots
		if in.values > 0 {
			changed[in.place].Code, end = (row[in.place].Code+1)%in.values, in.offset+in.values
		} else {
			changed[in.place].Number = in.column.Low
		}
		after := embed(t, e, s.Text(changed))[0]
		for i := range after {
			if i >= in.offset && i < end {
				continue
			}
			if after[i] != before[i] {
				t.Errorf("%s changes feature %d", in.column.Name, i)
			}
		}
		if slices.Equal(after, before) {
			t.Errorf("%s changes nothing", in.column.Name)
		}
	}
}

// TestNoRow: what is no row has a vector that says so, and nothing else; what is not said is so much of it.
func TestNoRow(t *testing.T) {
	s, e := of(t, "heart")
	want := make([]float32, e.Dimension())
	want[Unsaid] = 1
	if v := embed(t, e, "no row")[0]; !slices.Equal(v, want) || e.Reads("no row") {
		t.Errorf("%v", v)
	}
	row := s.Example()
	if v := embed(t, e, s.Text(row))[0]; v[Unsaid] != 0 || !e.Reads(s.Text(row)) {
		t.Errorf("a row does not say %v", v[Unsaid])
	}
	row[e.inputs[0].place] = schema.Unsaid
	if v := embed(t, e, s.Text(row))[0]; v[Unsaid] != v[constant] || !e.Reads(s.Text(row)) {
		t.Errorf("one column is not said: %v, not %v", v[Unsaid], v[constant])
	}
}

// TestNames: a schema has its encoder's name, another one another, whatever it is called and however it is
// grouped; and a schema is refused for another name.
func TestNames(t *testing.T) {
	s, e := of(t, "diabetes")
	renamed := s.WithDefaults()
	renamed.Name, renamed.Title, renamed.Groups = "other", "Other", nil
	if err := Named(&renamed, e.Name()); err != nil {
		t.Error(err)
	}
	seen := map[string]string{e.Name(): "itself"}
	for what, change := range map[string]func(*schema.Schema){
		"a bound": func(s *schema.Schema) { s.Columns[0].High++ },
		"digits":  func(s *schema.Schema) { s.Columns[0].Digits++ },
		"a column": func(s *schema.Schema) {
			s.Columns[0].Name = "Births"
			s.Template = strings.Replace(s.Template, "{Pregnancies}", "{Births}", 1)
		},
		"template":  func(s *schema.Schema) { s.Template += " So it is." },
		"question":  func(s *schema.Schema) { s.Question = "Well?" },
		"edges":     func(s *schema.Schema) { s.Columns[0].Edges, s.Columns[0].Values = []float64{3}, nil },
		"the label": func(s *schema.Schema) { s.Columns[len(s.Columns)-1].Values = []string{"1", "0"} },
	} {
		t.Run(what, func(t *testing.T) {
			other := s.WithDefaults()
			other.Groups = nil
			change(&other)
			made, err := New(other)
			if err != nil {
				t.Fatalf("%v", err)
			}
			if seen[made.Name()] != "" {
				t.Errorf("%s and %s have the name %s", what, seen[made.Name()], made.Name())
			}
			seen[made.Name()] = what
			if Named(&other, e.Name()) == nil {
				t.Errorf("%s: another schema is taken for it", what)
			}
		})
	}
	at := expect.At(t, "an encoder of rows needs its schema, and others have none")
	expect.True(at, "Named(nil, e.Name()) is not nil", Named(nil, e.Name()) != nil, Named(nil, e.Name()))
	expect.True(at, "Named(nil, \"all-MiniLM-L6-v2@1\") is nil", Named(nil, "all-MiniLM-L6-v2@1") == nil, Named(nil, "all-MiniLM-L6-v2@1"))
	expect.True(at, "Named(&s, \"all-MiniLM-L6-v2@1\") is not nil", Named(&s, "all-MiniLM-L6-v2@1") != nil, Named(&s, "all-MiniLM-L6-v2@1"))
}

// TestRefused: schemas without a label, without a column in their template, or with too many features.
func TestRefused(t *testing.T) {
	base, _ := of(t, "heart")
	for what, change := range map[string]func(*schema.Schema){
		"no label":   func(s *schema.Schema) { s.Label, s.Question = "", "" },
		"no columns": func(s *schema.Schema) { s.Template = "A patient." },
		"too wide": func(s *schema.Schema) {
			s.Template = ""
			for i := range 300 {
				s.Columns = append(s.Columns, schema.Column{Name: "more" + string(rune('a'+i/26)) + string(rune('a'+i%26)), Kind: schema.Numeric, High: 1})
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := base.WithDefaults()
			change(&s)
			if _, err := New(s); err == nil {
				t.Errorf("%s is taken", what)
			}
		})
	}
}

// TestManyValues: values beyond those with features of their own share them.
func TestManyValues(t *testing.T) {
	s := schema.Schema{Name: "many", Label: "y", Columns: []schema.Column{{Name: "x", Kind: schema.Categorical}, {Name: "y", Kind: schema.Categorical, Values: []string{"a", "b"}}}}
	for i := range maxValues + 2 {
		s.Columns[0].Values = append(s.Columns[0].Values, "v"+strings.Repeat("i", i))
	}
	e, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	text := func(code int) string { return s.Text(schema.Row{{Code: code, Discrete: true}, {}}) }
	v := embed(t, e, text(1), text(maxValues+1), text(2))
	expect.Equal(t, "e.Dimension", e.Dimension(), first+maxValues)
	expect.True(t, "v[0] equal to v[1]", slices.Equal(v[0], v[1]), v[0], v[1])
	expect.True(t, "not slices.Equal(v[0], v[2])", !slices.Equal(v[0], v[2]), v[0], v[2])
}

func reversed(texts []string) []string {
	out := slices.Clone(texts)
	slices.Reverse(out)
	return out
}
