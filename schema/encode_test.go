package schema_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/schema"
)

func number(change func(*schema.Column)) schema.Column {
	c := schema.Column{Name: "x", Kind: schema.Numeric, Low: -10, High: 1000}
	if change != nil {
		change(&c)
	}
	return c
}

func TestNumbers(t *testing.T) {
	plain := number(nil)
	clamp := number(func(c *schema.Column) { c.Clamp = true })
	missing := number(func(c *schema.Column) {
		c.Missing, c.Aliases = "7", map[string]string{"?": "", "none": "0", "ten": "10"}
	})
	for _, test := range []struct {
		name   string
		column schema.Column
		text   string
		want   float64
		o      schema.Outcome
	}{
		{"whole", plain, "39", 39, schema.OK},
		{"spaces around", plain, " \t39\r\n", 39, schema.OK},
		{"exponent", plain, "1e2", 100, schema.OK},
		{"signs", plain, "+5", 5, schema.OK},
		{"fraction", plain, "-0.5", -0.5, schema.OK},
		{"at the bound", plain, "1000", 1000, schema.OK},
		{"no digits before the point", plain, ".5", 0.5, schema.OK},
		{"beyond", plain, "1e3000", 0, schema.Outside},
		{"a digit beyond", plain, "1000.0001", 0, schema.Outside},
		{"beyond, clamped", clamp, "1e3000", 1000, schema.OK},
		{"a long whole number", clamp, "-" + strings.Repeat("9", 400), -10, schema.OK},
		{"infinite", plain, "inf", 0, schema.Outside},
		{"infinite, clamped", clamp, "-Infinity", -10, schema.OK},
		{"comma", plain, "1,5", 0, schema.NotANumber},
		{"thousands", plain, "1_000", 0, schema.NotANumber},
		{"hexadecimal", plain, "0x10", 0, schema.NotANumber},
		{"spaces within", plain, "1 5", 0, schema.NotANumber},
		{"word", clamp, "?", 0, schema.NotANumber},
		{"true", clamp, "true", 0, schema.NotANumber},
		{"only an exponent", plain, "e", 0, schema.NotANumber},
		{"a no-break space is no number", plain, "\u00a05", 0, schema.NotANumber},
		{"empty", clamp, "", 0, schema.MissingValue},
		{"blank", plain, "  ", 0, schema.MissingValue},
		{"not a number", clamp, "NaN", 0, schema.MissingValue},
		{"empty, with a rule", missing, "", 7, schema.OK},
		{"not a number, with a rule", missing, "nan", 7, schema.OK},
		{"alias of a missing value", missing, " ? ", 7, schema.OK},
		{"alias of a number", missing, "none", 0, schema.OK},
		{"another", missing, "ten", 10, schema.OK},
		{"capitals count", missing, "Ten", 0, schema.NotANumber},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, c := range (schema.Schema{Name: "x", Columns: []schema.Column{test.column}}).Check() {
				if !c.Warning {
					t.Fatal(c)
				}
			}
			e := test.column.Encoder()
			got, o := e.Number(test.text)
			if got != test.want || o != test.o {
				t.Errorf("%q: %v, %v instead of %v, %v", test.text, got, o, test.want, test.o)
			}
			if b, ob := e.NumberBytes([]byte(test.text)); b != got || ob != o {
				t.Error("bytes are read otherwise")
			}
		})
	}
	if x, _ := clamp.Encoder().Number("-0"); math.Signbit(x) {
		t.Error("there is a -0")
	}
	if x, _ := number(func(c *schema.Column) { c.Low, c.High, c.Clamp = math.Copysign(0, -1), 1, true }).Encoder().Number("-3"); math.Signbit(x) {
		t.Error("a bound of -0 comes through")
	}
}

func TestBins(t *testing.T) {
	c := number(func(c *schema.Column) { c.Edges = []float64{0, 40, 65.5} })
	if got, want := strings.Join(c.Domain(), "|"), "less than 0|0 to less than 40|40 to less than 65.5|65.5 or more"; got != want {
		t.Errorf("%s", got)
	}
	e := c.Encoder()
	for text, want := range map[string]uint16{"-10": 0, "-1e-9": 0, "0": 1, "-0": 1, "39.999": 1, "40": 2, "65.5": 3, "1000": 3} {
		t.Run(text, func(t *testing.T) {
			if got, o := e.Code(text); got != want || o != schema.OK {
				t.Errorf("%s is in bin %d (%v)", text, got, o)
			}
		})
	}
	for text, want := range map[string]schema.Outcome{"1001": schema.Outside, "": schema.MissingValue, "40 to less than 65.5": schema.NotANumber} {
		t.Run(text, func(t *testing.T) {
			if _, got := e.Code(text); got != want {
				t.Errorf("%v", got)
			}
		})
	}
	if code, ok := e.Place("40 to less than 65.5"); code != 2 || !ok {
		t.Error("a bin is not found by its name")
	}
	if _, o := number(nil).Encoder().Code("5"); o == schema.OK {
		t.Error("a column without bins gives codes")
	}
}

func TestValues(t *testing.T) {
	strict := schema.Column{Name: "x", Kind: schema.Categorical, Values: []string{"0", "1", "red", "-7", "9007199254740993"}, Aliases: map[string]string{"Red": "red"}}
	kind := strict
	kind.Other, kind.Missing = "0", "1"
	for _, test := range []struct {
		column schema.Column
		text   string
		want   uint16
		o      schema.Outcome
	}{
		{strict, "red", 2, schema.OK},
		{strict, "Red", 2, schema.OK},
		{strict, " red\t", 2, schema.OK},
		{strict, "RED", 0, schema.Outside},
		{strict, "1.0", 0, schema.Outside},
		{strict, "", 0, schema.MissingValue},
		{strict, " ", 0, schema.MissingValue},
		{strict, "?", 0, schema.Outside},
		{kind, "?", 0, schema.OK},
		{kind, "", 1, schema.OK},
		{kind, "nan", 0, schema.OK}, // a word like any other, where words are expected
	} {
		got, o := test.column.Encoder().Code(test.text)
		if got != test.want || o != test.o {
			t.Errorf("%q: %d, %v", test.text, got, o)
		}
		if b, ob := test.column.Encoder().CodeBytes([]byte(test.text)); b != got || ob != o {
			t.Errorf("%q as bytes: %d, %v", test.text, b, ob)
		}
	}
	e := strict.Encoder()
	for _, test := range []struct {
		x    float64
		want uint16
		o    schema.Outcome
	}{{1, 1, schema.OK}, {math.Copysign(0, -1), 0, schema.OK}, {-7, 3, schema.OK}, {1.5, 0, schema.Outside}, {math.NaN(), 0, schema.MissingValue}, {math.Inf(1), 0, schema.Outside}} {
		if got, o := e.CodeNumber(test.x); got != test.want || o != test.o {
			t.Errorf("%v: %d, %v", test.x, got, o)
		}
	}
	if got, o := e.CodeInt(9007199254740993); got != 4 || o != schema.OK { // no float64 has this value
		t.Errorf("a large whole number: %d, %v", got, o)
	}
	if _, o := e.CodeMissing(); o != schema.MissingValue {
		t.Error(o)
	}
	if got, o := kind.Encoder().CodeMissing(); got != 1 || o != schema.OK {
		t.Error(got, o)
	}
}

// TestOneValue: a domain of one value has one code, and still refuses others.
func TestOneValue(t *testing.T) {
	e := schema.Column{Name: "x", Kind: schema.Categorical, Values: []string{"a"}}.Encoder()
	if code, o := e.Code("a"); code != 0 || o != schema.OK {
		t.Error(code, o)
	}
	if _, o := e.Code("b"); o != schema.Outside {
		t.Error(o)
	}
}

// TestEveryValue: values encode to their places, whatever white space is around them.
func TestEveryValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9?<>=.é-]{1,6}`), 1, 40, rapid.ID[string]).Draw(t, "values")
		e := schema.Column{Name: "x", Kind: schema.Categorical, Values: values}.Encoder()
		around := rapid.StringMatching(`[ \t\r\n]{0,3}`)
		for i, v := range values {
			code, o := e.Code(around.Draw(t, "before") + v + around.Draw(t, "after"))
			if o != schema.OK || int(code) != i {
				t.Fatalf("%q has code %d instead of %d (%v)", v, code, i, o)
			}
			if place, ok := e.Place(v); !ok || place != code {
				t.Fatal("places and codes differ")
			}
		}
	})
}

// TestEveryNumber: what is not refused is within the bounds, and the bin is the one whose
// edges are around it; text and number agree.
func TestEveryNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := rapid.SliceOfNDistinct(rapid.Float64Range(-99, 99), 1, 20, rapid.ID[float64]).Draw(t, "edges")
		slices.Sort(edges)
		c := schema.Column{Name: "x", Kind: schema.Numeric, Low: -100, High: 100, Edges: edges, Clamp: rapid.Bool().Draw(t, "clamp")}
		e := c.Encoder()
		x := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-101, 101), rapid.SampledFrom(edges)).Draw(t, "x")
		got, o := e.Clamped(x)
		inside := x >= -100 && x <= 100
		expect.Equal(t, "o == schema.OK", o == schema.OK, inside || c.Clamp)
		if o == schema.OK {
			expect.Min(t, "got", got, -100)
			expect.Max(t, "got", got, 100)
		}
		if inside {
			expect.Equal(t, "got", got, x)
		}
		text := strconv.FormatFloat(x, 'g', -1, 64)
		if again, oa := e.Number(text); again != got || oa != o {
			t.Fatalf("%s is %v (%v) as text, %v as a number", text, again, oa, got)
		}
		code, oc := e.CodeNumber(x)
		if oc != o {
			t.Fatalf("code and number fare differently: %v, %v", oc, o)
		}
		if o != schema.OK {
			return
		}
		if i := int(code); i > 0 && got < edges[i-1] || i < len(edges) && got >= edges[i] {
			t.Fatalf("%v is not in bin %d of %v", got, i, edges)
		}
	})
}

func TestNoAllocation(t *testing.T) {
	s := find(t, "adult")
	age, country := s.Columns[0].Encoder(), s.Columns[11].Encoder()
	number, known, padded := []byte("39.25"), []byte("United-States"), []byte(" Holand-Netherlands ")
	if n := testing.AllocsPerRun(100, func() {
		age.NumberBytes(number)
		country.CodeBytes(known)
		country.CodeBytes(padded)
		age.Clamped(7)
		country.CodeNumber(3)
		country.CodeInt(3)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzEncoder: no text makes an encoder panic, leave the domain or leave the bounds.
func FuzzEncoder(f *testing.F) {
	for _, s := range []string{"", " ", "39", "-0", "1e3", "1,5", "?", "NaN", "Infinity", "0x1p4", "1_0", "99999999999999999999", "\u00a07", "Male", "less than 40", "\xff"} {
		f.Add(s)
	}
	numbers := schema.Column{Name: "x", Kind: schema.Numeric, Low: -10, High: 1000, Clamp: true, Edges: []float64{40}, Missing: "3", Aliases: map[string]string{"?": ""}}.Encoder()
	words := schema.Column{Name: "x", Kind: schema.Categorical, Values: []string{"a", "b"}, Other: "b", Missing: "a"}.Encoder()
	strict := schema.Column{Name: "x", Kind: schema.Categorical, Values: []string{"a", "39"}}.Encoder()
	f.Fuzz(func(t *testing.T, text string) {
		x, o := numbers.Number(text)
		if o == schema.OK {
			expect.Within(t, "x", x, -10, 1000)
		}
		expect.True(t, "o != schema.Outside", o != schema.Outside)
		expect.True(t, "o != schema.MissingValue", o != schema.MissingValue)
		code, oc := numbers.Code(text)
		if oc != o || o == schema.OK && (code == 1) != (x >= 40) {
			t.Fatalf("%q has code %d (%v) and number %v (%v)", text, code, oc, x, o)
		}
		if code, o := words.Code(text); o != schema.OK || code > 1 {
			t.Fatalf("%q has code %d (%v)", text, code, o)
		}
		code, o = strict.Code(text)
		if (o == schema.OK) != (strings.Trim(text, " \t\r\n") == []string{"a", "39"}[code]) {
			t.Fatalf("%q has code %d (%v)", text, code, o)
		}
		if b, ob := strict.CodeBytes([]byte(text)); b != code || ob != o {
			t.Fatal("bytes are read otherwise")
		}
	})
}

func BenchmarkEncoder(b *testing.B) {
	s := find(b, "adult")
	age, country := s.Columns[0].Encoder(), s.Columns[11].Encoder()
	number, known := []byte("39.25"), []byte("United-States")
	b.Run("number", func(b *testing.B) {
		for b.Loop() {
			age.NumberBytes(number)
		}
	})
	b.Run("value", func(b *testing.B) {
		for b.Loop() {
			country.CodeBytes(known)
		}
	})
}

// TestMissingSpellings: what programs write for no number, and codes that the schema lists, are missing numbers however
// they are written; a number that is no code is itself.
func TestMissingSpellings(t *testing.T) {
	const file = `label = "sick"

[[column]]
name = "age"
kind = "numeric"
format = "1,234.56"
low = -20
high = 100
missing = 40.5
aliases = { "-9" = "", "unknown" = "", "n/k" = "7" }

[[column]]
name = "sick"
kind = "categorical"
values = ["yes", "no"]
`
	s, err := schema.Parse("x", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	e := s.Columns[0].Encoder()
	for text, want := range map[string]float64{
		"": 40.5, "NA": 40.5, "n/a": 40.5, "NULL": 40.5, "None": 40.5, "nan": 40.5, " NA ": 40.5, "unknown": 40.5,
		"-9": 40.5, "-9.0": 40.5, "-9.5": -9.5, "9": 9, "n/k": 7, "$58": 58,
	} {
		t.Run(text, func(t *testing.T) {
			if got, o := e.Number(text); o != schema.OK || got != want {
				t.Errorf("%q is %v, %v, want %v", text, got, o, want)
			}
		})
	}
	for alias, want := range map[string]string{
		`"-9" = "3"`: "stands for itself", `"-9.0" = ""`: `write it as "-9"`, `"NA" = "7"`: "", `"nan" = "7"`: "stands for itself",
	} {
		t.Run(alias, func(t *testing.T) {
			_, err := schema.Parse("x", []byte(strings.Replace(file, `"-9" = ""`, alias, 1)))
			if want == "" {
				expect.NoError(t, err)
			} else if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	if _, err := schema.Parse("x", []byte(strings.Replace(file, "40.5", "true", 1))); err == nil {
		t.Error("missing = true is no number")
	}
}
