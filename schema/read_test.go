package schema_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/schema"
	"pgregory.net/rapid"
)

// anyRow draws a row of a schema: values, bins, numbers within bounds, and values that stand for nothing.
func anyRow(s schema.Schema, r *rand.Rand) schema.Row {
	row := make(schema.Row, len(s.Columns))
	for i, c := range s.Columns {
		switch n := len(c.Domain()); {
		case r.IntN(20) == 0:
			row[i] = schema.Unsaid
		case n > 0 && (c.Kind == schema.Categorical || r.IntN(2) == 0):
			row[i] = schema.Value{Code: r.IntN(n), Discrete: true}
		default:
			row[i] = schema.Value{Number: []float64{c.Low, c.High, c.Low + r.Float64()*(c.High-c.Low)}[r.IntN(3)]}
		}
	}
	return row
}

// TestReadBuiltins: rows of the schemas that come with the program are read as they are, but for the label and for
// digits that words do not show.
func TestReadBuiltins(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range schema.Builtins() {
		s, err := schema.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		words := s.Wording()
		for range 200 {
			row := anyRow(s, r)
			text := words.Text(row)
			got, ok := words.Row(text)
			if !ok {
				t.Fatalf("%s: %q is no row", name, text)
			}
			for i, c := range s.Columns {
				want := row[i]
				if c.Name == s.Label {
					want = schema.Unsaid
				}
				at := expect.At(t, "%s, %s", name, c.Name)
				expect.Equal(at, "got[i].Discrete", got[i].Discrete, want.Discrete)
				if want.Discrete {
					expect.Equal(at, "got[i].Code", got[i].Code, want.Code)
				}
				expect.Equal(at, "c.Show(got[i].Number)", c.Show(got[i].Number), c.Show(want.Number))
			}
			bare := strings.TrimSuffix(text, s.WithDefaults().Question)
			if again, ok := words.Row("  " + strings.ReplaceAll(bare, " ", " \n\t")); !ok || words.Text(again) != text {
				t.Fatalf("%s: %q without the question and with other white space: %v", name, bare, ok)
			}
		}
	}
}

// piecesOf are texts that are hard to tell apart: empty, prefixes of each other, numbers, braces, white space.
var piecesOf = []string{"", "a", "a b", "b", "ab", " ", "1", "1.5", "-", ".", "{{", "}}", "é", "unknown", "  x\ty ", "less than 4", "4 or more", "e5"}

// anySchema draws a schema whose words are hard to read.
func anySchema(t *rapid.T) schema.Schema {
	word := rapid.SampledFrom(piecesOf)
	s := schema.Schema{Name: "any", Label: "y", Question: rapid.SampledFrom([]string{"", "Which?", "1 or 2?"}).Draw(t, "question")}
	var template strings.Builder
	for i := range rapid.IntRange(1, 4).Draw(t, "columns") {
		c := schema.Column{Name: string(rune('a' + i))}
		if rapid.Bool().Draw(t, "numeric") {
			c.Kind, c.Low, c.High = schema.Numeric, rapid.SampledFrom([]float64{-5, 0.4999, 2}).Draw(t, "low"), rapid.SampledFrom([]float64{7, 15.0001, 20000}).Draw(t, "high")
			c.Digits = rapid.IntRange(0, 3).Draw(t, "digits")
			c.Format = rapid.SampledFrom([]string{"", "", "YYYY-MM-DD", "DD.MM.YYYY", "MM DD  YYYY", "1.234,56"}).Draw(t, "format")
			if rapid.Bool().Draw(t, "bins") {
				c.Edges = []float64{4}
			}
		} else {
			c.Kind, c.Values = schema.Categorical, []string{"p", "q", "1", "p q"}[:rapid.IntRange(2, 4).Draw(t, "values")]
			c.Phrases, c.Forms = map[string]string{}, map[string]map[string]string{"form": {}}
			for _, v := range c.Values {
				if rapid.Bool().Draw(t, "phrase") {
					c.Phrases[v] = strings.NewReplacer("{{", "{", "}}", "}").Replace(word.Draw(t, "words"))
				}
				c.Forms["form"][v] = strings.NewReplacer("{{", "{", "}}", "}").Replace(word.Draw(t, "form"))
			}
		}
		s.Columns = append(s.Columns, c)
		for range rapid.IntRange(0, 2).Draw(t, "times") {
			template.WriteString(word.Draw(t, "before") + "{" + c.Name)
			if c.Kind == schema.Categorical && rapid.Bool().Draw(t, "as a form") {
				template.WriteString(".form")
			}
			template.WriteString("}")
		}
	}
	template.WriteString(word.Draw(t, "after"))
	s.Template = template.String()
	s.Columns = append(s.Columns, schema.Column{Name: "y", Kind: schema.Categorical, Values: []string{"1", "2"}})
	return s.WithDefaults()
}

// TestReadAnything: whatever a schema is, what it writes is read, and the row that is read has the same words.
func TestReadAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySchema(t)
		words := s.Wording()
		row := anyRow(s, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		text := words.Text(row)
		got, ok := words.Row(text)
		if !ok {
			t.Fatalf("template %q: %q is no row", s.Template, text)
		}
		if again := words.Text(got); again != text && again != strings.Join(strings.Fields(text+" "+s.Question), " ") {
			t.Fatalf("template %q: %q is read as %q", s.Template, text, again)
		}
	})
}

// TestNoRow: other texts are none, and take no longer.
func TestNoRow(t *testing.T) {
	s, err := schema.Find("adult")
	if err != nil {
		t.Fatal(err)
	}
	words := s.Wording()
	text := words.Text(s.Example())
	for _, other := range []string{
		"", " ", "hello", text + " And?", text[1:], text[:len(text)/2], strings.ReplaceAll(text, "She ", "He "), strings.Repeat(text, 2), strings.Replace(text, "54", "fifty", 1), "\xff" + text,
		strings.Repeat("a", 1<<20),
	} {
		if row, ok := words.Row(other); ok {
			t.Errorf("%.80q is %v", other, row)
		}
	}
	// Words that can be read in very many ways.
	hard := schema.Schema{Name: "hard", Label: "y", Columns: []schema.Column{{Name: "y", Kind: schema.Categorical, Values: []string{"1", "2"}}}}
	for i := range 60 {
		name := "c" + string(rune('A'+i))
		hard.Columns = append(hard.Columns, schema.Column{Name: name, Kind: schema.Categorical, Values: []string{"a", "aa", "aaa"}})
		hard.Template += "{" + name + "}"
	}
	if _, ok := hard.Wording().Row(strings.Repeat("a", 100) + "b"); ok {
		t.Error("it ends otherwise")
	}
}
