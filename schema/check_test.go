package schema_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/schema"
)

// whole is a file without a problem; tests put one in by replacing a line.
const whole = `
title = "Loans"
label = "repaid"
template = "They are {age} years old. {sex.subject} is {sex} and lives in {town}."
question = "Was the loan repaid?"

[[column]]
name = "age"
kind = "numeric"
low = 18
high = 90
clamp = true
edges = [40]

[[column]]
name = "sex"
kind = "categorical"
values = ["f", "m"]
phrases = { f = "female", m = "male" }
forms.subject = { f = "She", m = "He" }

[[column]]
name = "town"
kind = "categorical"
values = ["Ayton", "Beeford", "elsewhere"]
aliases = { "Ayton-on-Sea" = "Ayton" }
other = "elsewhere"
missing = "elsewhere"

[[column]]
name = "repaid"
kind = "categorical"
values = ["0", "1"]
phrases = { 0 = "No", 1 = "Yes" }

[groups]
2 = [{ column = "repaid" }]
4 = [{ column = "repaid" }, { column = "age", cuts = [30] }]
`

func TestWhole(t *testing.T) {
	s, found := schema.Examine("loans", []byte(whole))
	if len(found) > 0 {
		t.Fatal(found)
	}
	expect.Equal(t, "s.Name", s.Name, "loans")
	expect.Equal(t, "s.Cells", s.Cells(), 2*2*3*2)
	expect.Equal(t, "s.LabelColumn", s.LabelColumn(), 3)
	row := schema.Row{{Number: 53.7}, {Code: 0, Discrete: true}, {Code: 2, Discrete: true}, {Code: 1, Discrete: true}}
	if got, want := s.Text(row), "They are 54 years old. She is female and lives in elsewhere. Was the loan repaid?"; got != want {
		t.Error(got)
	}
	if got := s.Answer(row); got != "Yes" {
		t.Error(got)
	}
}

func TestProblems(t *testing.T) {
	for _, test := range []struct {
		name, from, to string
		// want is where the problem is and a part of what is said.
		where, what string
		line        int
	}{
		{"no TOML", `title = "Loans"`, `title = Loans`, "file", "", 2},
		{"unknown key", `clamp = true`, `clmap = true`, "column[1].clmap", "did you mean clamp?", 12},
		{"key of another table", `title = "Loans"`, `clamp = true`, "clamp", "it belongs under [[column]]", 2},
		{"key after the tables", `clamp = true`, `template = ""`, "column[1].template", "it belongs above the first [[column]]", 12},
		{"wrong type", `values = ["0", "1"]`, `values = [0, 1]`, "column[4].values[1]", "it is a whole number", 33},
		{"no columns", whole, `title = "x"`, "column", "there is none", 0},
		{"blank title", `title = "Loans"`, `title = " "`, "title", "blank", 2},
		{"unknown label", `label = "repaid"`, `label = "repayed"`, "label", "did you mean repaid?", 3},
		{"one label", `values = ["0", "1"]`, `values = ["1"]`, "label", "nothing to predict", 3},
		{"labels that read the same", `1 = "Yes"`, `1 = "no"`, "column[4].phrases", "have the same phrase", 34},
		{"label without a phrase", `1 = "Yes"`, `1 = ""`, "column[4].phrases", "cannot be an answer", 34},
		{"unknown placeholder", `{town}`, `{twon}`, "template", "{twon} is no column; did you mean town?", 4},
		{"unknown form", `{sex.subject}`, `{sex.object}`, "template", `has no form "object"`, 4},
		{"open brace", `{town}`, `{town`, "template", "not closed", 4},
		{"stray brace", `{town}`, `town}`, "template", "closes nothing", 4},
		{"label in the template", `{town}`, `{town} {repaid}`, "template", "it has the label", 4},
		{"unused column", ` and lives in {town}`, ``, "template", "does not say \"town\"", 4},
		{"twice the same column", `name = "town"`, `name = "age"`, "column[3].name", "has the same name", 23},
		{"column without a name", `name = "town"`, ``, "column[3].name", "missing", 22},
		{"brace in a name", `name = "town"`, `name = "to{wn"`, "column[3].name", "brace", 23},
		{"kind", `kind = "numeric"`, `kind = "number"`, "column[1].kind", "no kind of column", 9},
		{"no kind", `kind = "numeric"`, ``, "column[1].kind", "missing", 7},
		{"no bounds", "low = 18\nhigh = 90\n", "\n\n", "column[1].low", "bounds are missing", 7},
		{"one bound", "low = 18\n", "\n", "column[1].low", "missing", 7},
		{"bounds the wrong way", "low = 18\n", "low = 180\n", "column[1].low", "not below", 10},
		{"infinite bound", "high = 90\n", "high = inf\n", "column[1].high", "finite", 11},
		{"nan", "low = 18\n", "low = nan\n", "column[1].low", "finite", 10},
		{"bounds too far apart", "low = 18\nhigh = 90", "low = -1e308\nhigh = 1e308", "column[1].low", "distance", 10},
		{"edge outside", "edges = [40]", "edges = [90]", "column[1].edges[1]", "not between", 13},
		{"edge that is no number", "edges = [40]", "edges = [nan]", "column[1].edges[1]", "not between", 13},
		{"edges out of order", "edges = [40]", "edges = [50, 40]", "column[1].edges[2]", "does not come after", 13},
		{"edge twice", "edges = [40]", "edges = [40, 40]", "column[1].edges[2]", "does not come after", 13},
		{"bins not named", "edges = [40]", "edges = [40]\nvalues = [\"a\"]", "column[1].values", "1 names for 2 bins", 14},
		{"values of numbers", "edges = [40]", "values = [\"a\"]", "column[1].values", "no list of values", 13},
		{"other for numbers", "clamp = true", "other = \"18\"", "column[1].other", "categorical", 12},
		{"missing outside", "clamp = true", "missing = \"17\"", "column[1].missing", "within the bounds", 12},
		{"missing that is no number", "clamp = true", "missing = \"nan\"", "column[1].missing", "within the bounds", 12},
		{"alias of a number", "clamp = true", `aliases = { 30 = "20" }`, `column[1].aliases."30"`, "stands for itself", 12},
		{"alias to no number", "clamp = true", `aliases = { old = "91" }`, `column[1].aliases."old"`, "within the bounds", 12},
		{"digits", "clamp = true", "digits = 99", "column[1].digits", "99 is not from 0 to", 12},
		{"phrases of numbers", "edges = [40]", `phrases = { a = "b" }`, "column[1].phrases", "numbers have no phrases", 13},
		{"no values", `values = ["f", "m"]`, ``, "column[2].values", "missing", 15},
		{"value twice", `values = ["f", "m"]`, `values = ["f", "m", "f"]`, "column[2].values[3]", "listed twice", 18},
		{"blank value", `values = ["f", "m"]`, `values = ["f", "m", " "]`, "column[2].values[3]", "blank", 18},
		{"spaces around a value", `values = ["f", "m"]`, `values = ["f", "m", " x"]`, "column[2].values[3]", "spaces around", 18},
		{"bounds of words", `values = ["f", "m"]`, "values = [\"f\", \"m\"]\nlow = 3", "column[2].kind", "has no format, low", 17},
		{"other is no value", `other = "elsewhere"`, `other = "Ceeton"`, "column[3].other", "not one of the values", 27},
		{"missing is no value", `missing = "elsewhere"`, `missing = "?"`, "column[3].missing", "not one of the values", 28},
		{"alias to no value", `"Ayton-on-Sea" = "Ayton"`, `"Ayton-on-Sea" = "Aytn"`, `column[3].aliases."Ayton-on-Sea"`, "not one of the values", 26},
		{"alias that is a value", `"Ayton-on-Sea" = "Ayton"`, `Beeford = "Ayton"`, `column[3].aliases."Beeford"`, "a value itself", 26},
		{"alias with spaces", `"Ayton-on-Sea" = "Ayton"`, `" A" = "Ayton"`, `column[3].aliases." A"`, "spaces around", 26},
		{"phrase of nothing", `m = "male"`, `m = "male", x = "other"`, "column[2].phrases", "not one of the values", 19},
		{"phrase of two lines", `m = "male"`, `m = "ma\nle"`, "column[2].phrases", "line break", 19},
		{"form lacks a value", `forms.subject = { f = "She", m = "He" }`, `forms.subject = { f = "She" }`, "column[2].forms.subject", `"m" is missing`, 20},
		{"group of nothing", `2 = [{ column = "repaid" }]`, `2 = [{ column = "paid" }]`, "groups.2[1]", "no column", 37},
		{"group twice", `2 = [{ column = "repaid" }]`, `4x = [{ column = "repaid" }, { column = "repaid" }]`, "groups.4x[2]", "twice", 37},
		{"wrong number of groups", `2 = [`, `3 = [`, "groups.3", "it has 2 groups", 37},
		{"cuts outside", `cuts = [30]`, `cuts = [3]`, "groups.4[2]", "within the bounds", 38},
		{"cuts of words", `{ column = "age", cuts = [30] }`, `{ column = "sex", cuts = [30] }`, "groups.4[2]", "cuts are for numeric", 38},
		{"both", `cuts = [30]`, `cuts = [30], classes = [["less than 40"], []]`, "groups.4[2]", "both cuts and classes", 38},
		{"overlapping classes", `{ column = "age", cuts = [30] }`, `{ column = "town", classes = [["Ayton"], ["Ayton", "Beeford", "elsewhere"]] }`, "groups.4[2]", "in two classes", 38},
		{"classes that do not cover", `{ column = "age", cuts = [30] }`, `{ column = "town", classes = [["Ayton"], ["Beeford"]] }`, "groups.4[2]", "in no class", 38},
		{"empty class in front", `{ column = "age", cuts = [30] }`, `{ column = "town", classes = [[], ["Ayton"]] }`, "groups.4[2]", "class 1 is empty", 38},
		{"nothing left", `{ column = "age", cuts = [30] }`, `{ column = "sex", classes = [["f"], ["m"], []] }`, "groups.4[2]", "no value is left", 38},
		{"unknown in a group", `cuts = [30]`, `cut = [30]`, "groups.4[2].cut", "did you mean cuts?", 38},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(whole, test.from, test.to, 1)
			if text == whole {
				t.Fatal("nothing was replaced")
			}
			_, found := schema.Examine("loans", []byte(text))
			for _, p := range found {
				if strings.HasPrefix(p.Where, test.where) && strings.Contains(p.What+"; "+p.Fix, test.what) {
					if p.Line != test.line {
						t.Errorf("line %d instead of %d: %v", p.Line, test.line, p)
					}
					if p.Fix == "" {
						t.Error("it does not say what to do")
					}
					return
				}
			}
			t.Errorf("not found among %v", found)
		})
	}
}

// TestAllAtOnce: one reading finds everything.
func TestAllAtOnce(t *testing.T) {
	text := strings.NewReplacer("low = 18", "low = 180", `other = "elsewhere"`, `other = "x"`, "{town}", "{twon}").Replace(whole)
	_, err := schema.Parse("loans", []byte(text))
	var invalid *schema.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Problems) < 3 {
		t.Fatal(err)
	}
	for _, want := range []string{"schema loans: ", "line 4, template", "line 10, column[1].low", "line 27, column[3].other"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestLabelWithoutBins(t *testing.T) {
	text := strings.NewReplacer(`label = "repaid"`, `label = "age"`, "edges = [40]", "").Replace(whole)
	_, found := schema.Examine("loans", []byte(text))
	expect.True(t, "len(found) != 0", len(found) != 0)
	expect.Equal(t, "found[0].Where", found[0].Where, "label")
	expect.Contains(t, "found[0].What", found[0].What, "numbers without bins")
}

func TestManyValues(t *testing.T) {
	c := schema.Column{Name: "x", Kind: schema.Categorical}
	for i := range 1<<16 - 1 {
		c.Values = append(c.Values, fmt.Sprint(i))
	}
	s := schema.Schema{Name: "many", Columns: []schema.Column{c}}
	if found := s.Check(); len(found) != 1 || !found[0].Warning { // no label
		t.Fatal(found)
	}
	if code, o := c.Encoder().Code("65534"); code != 65534 || o != schema.OK {
		t.Error(code, o)
	}
	s.Columns[0].Values = append(s.Columns[0].Values, "one more")
	if found := s.Check(); len(found) != 2 || !strings.Contains(found[1].What, "65536 are more than 65535") {
		t.Error(found)
	}
}

// TestCheckOfAnything: no schema, however wrong, makes the check, the words or the encoders
// panic.
func TestCheckOfAnything(t *testing.T) {
	word := rapid.SampledFrom([]string{"", "a", "b", " ", "age", "{", "a.b", "\xff", "1", "-1"})
	words := rapid.SliceOfN(word, 0, 4)
	numbers := rapid.SliceOfN(rapid.SampledFrom([]float64{0, -1, 1, math.NaN(), math.Inf(1), 5e-324, 1e308}), 0, 3)
	pairs := rapid.MapOfN(word, word, 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		s := schema.Schema{
			Name: word.Draw(t, "name"), Label: word.Draw(t, "label"), Title: word.Draw(t, "title"),
			Template: strings.Join(words.Draw(t, "template"), "{"), Question: word.Draw(t, "question"),
			Groups: map[string][]schema.Group{word.Draw(t, "group"): {{Column: word.Draw(t, "of"), Cuts: numbers.Draw(t, "cuts"), Classes: [][]string{words.Draw(t, "classes"), nil}}}},
		}
		for range rapid.IntRange(0, 3).Draw(t, "columns") {
			bounds := append(numbers.Draw(t, "bounds"), 0, 0)
			s.Columns = append(s.Columns, schema.Column{
				Name: word.Draw(t, "column"), Kind: rapid.SampledFrom([]schema.Kind{"", schema.Numeric, schema.Categorical, "x"}).Draw(t, "kind"),
				Low: bounds[0], High: bounds[1], Digits: rapid.IntRange(-3, 400).Draw(t, "digits"), Edges: numbers.Draw(t, "edges"),
				Values: words.Draw(t, "values"), Aliases: pairs.Draw(t, "aliases"), Other: word.Draw(t, "other"), Missing: word.Draw(t, "missing"),
				Phrases: pairs.Draw(t, "phrases"), Forms: map[string]map[string]string{word.Draw(t, "form"): pairs.Draw(t, "forms")},
			})
		}
		found := s.Check()
		bad := 0
		for _, p := range found {
			if !p.Warning {
				bad++
			}
		}
		row := s.Example()
		s.Text(row)
		s.Text(nil)
		s.Answer(row)
		if _, err := s.Task(); err == nil && bad > 0 {
			t.Fatal("a task of a schema that is wrong")
		}
		for _, c := range s.Columns {
			e := c.Encoder()
			for _, text := range []string{"", "a", "1", "nan"} {
				code, o := e.Code(text)
				if bad == 0 && o == schema.OK && int(code) >= len(c.Domain()) {
					t.Fatalf("code %d of %d", code, len(c.Domain()))
				}
			}
		}
		if bad == 0 && s.Canonical() == nil {
			t.Fatal("a schema without a canonical form passes the check")
		}
	})
}

func TestCanonical(t *testing.T) {
	s, err := schema.Parse("loans", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.Canonical(), s.WithDefaults().WithDefaults().Canonical()) {
		t.Error("defaults change what is filled in")
	}
	// The same, written otherwise.
	other := strings.NewReplacer("template = \"They", "template = \"\"\"\nThey", "lives in {town}.\"", "lives\n   in {town}.\n\"\"\"",
		"edges = [40]", "values = [\"less than 40\", \"40 or more\"]\nedges = [40.0]", "low = 18", "low = 18.0").Replace(whole)
	same, err := schema.Parse("loans", []byte(other))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.Canonical(), same.Canonical()) {
		t.Errorf("the same schema, other bytes:\n%s\n%s", s.Canonical(), same.Canonical())
	}
	different := s.WithDefaults()
	different.Columns[0].High++
	if bytes.Equal(s.Canonical(), different.Canonical()) {
		t.Error("another schema, the same bytes")
	}
	reworded := s.WithDefaults()
	reworded.Template, reworded.Title, reworded.Groups = "{age} {sex} {town}", "", nil
	if bytes.Equal(s.Canonical(), reworded.Canonical()) {
		t.Error("other words, the same bytes")
	}
	if s.Columns[0].High != 90 {
		t.Error("defaults share memory with what they were made from")
	}
}

func TestFind(t *testing.T) {
	_, err := schema.Find("adutl")
	expect.As[*schema.UnknownError](t, err)
	expect.Contains(t, "err.Error", err.Error(), "did you mean adult?")
	expect.Contains(t, "err.Error", err.Error(), "jungle-local")
	path := filepath.Join(t.TempDir(), "mine.toml")
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := schema.Find(path)
	if err != nil || s.Name != "mine" {
		t.Error(s.Name, err)
	}
	if err := os.WriteFile(path, []byte(`label = "x"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := schema.Find(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if _, err := schema.Find(path + "x/"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := schema.Find(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	for _, name := range []string{"adult-local", "calhousing"} {
		data, err := schema.Source(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := schema.Parse("x", data)
		if err != nil {
			return
		}
		for _, p := range s.Check() {
			if !p.Warning {
				t.Fatalf("it was read without a problem, and then: %v", p)
			}
		}
		if s.Canonical() == nil {
			t.Fatal("it has no canonical form")
		}
		if strings.Contains(s.Text(s.Example()), "\n") {
			t.Fatal("a row takes several lines")
		}
	})
}
