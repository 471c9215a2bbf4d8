package schema

import (
	"math"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestFormats: numbers and dates as people write them, and nothing that could be another number.
func TestFormats(t *testing.T) {
	const refused = math.MaxFloat64
	for format, texts := range map[string]map[string]float64{
		"1,234.56": {
			"54,013": 54013, "€51593": 51593, "€ 51,593.50": 51593.5, "-$1,234": -1234, "$-1,234": -1234, "12.5%": 12.5, "USD 7": 7, "7 USD": 7,
			"1234567": 1234567, "1,234,567.8": 1234567.8, "0": 0, "+5": 5, "\u22125": -5, "1.234": 1.234,
			"1,23": refused, "1234,567": refused, "1,2345": refused, ",123": refused, "1,,234": refused, "1.234,56": refused, "1.": refused,
			"--5": refused, "-$-5": refused, "5 dollars": refused, "1 234": refused, "1e5": refused, "€": refused, "abc": refused, "12,345,": refused,
		},
		"1.234,56": {"1.234,56": 1234.56, "1234,5": 1234.5, "54.013 €": 54013, "1,234": 1.234, "1.23": refused, "1.2340": refused, "1,234.56": refused},
		"1 234,56": {"1 234,56": 1234.56, "1\u00a0234": 1234, "1\u202f234\u00a0€": 1234, "12 34": refused},
		"1'234.56": {"1'234.56": 1234.56, "CHF 1’234": 1234, "1,5": refused},
		"DD.MM.YYYY": {
			"05.03.2024": 19787, "5.3.2024": 19787, "2024-03-05": 19787, "2024-03-05T12:00:00": 19787.5, "01.01.1970": 0, "31.12.1969": -1,
			"30.02.2024": refused, "03/05/2024": refused, "5.3.24": refused, "19787": refused, "inf": refused,
		},
		"MM/DD/YYYY": {"03/05/2024": 19787, "13/01/2024": refused},
		"":           {"54,013": refused, "54013": 54013, "2024-03-05": refused},
	} {
		t.Run(format, func(t *testing.T) {
			c := Column{Name: "x", Kind: Numeric, Format: format, Low: -1e9, High: 1e9}
			e := c.Encoder()
			for text, want := range texts {
				got, o := e.Number(" " + text + "\t")
				if o != OK {
					got = refused
				}
				if got != want {
					t.Errorf("%s as %q is %v, want %v", text, format, got, want)
				}
			}
			if _, o := e.Number("nan"); o != MissingValue {
				t.Errorf("nan is %v", o)
			}
		})
	}
}

// TestDatesInFiles: bounds, edges and rules of a column of dates are dates, and so are its words.
func TestDatesInFiles(t *testing.T) {
	s, err := Parse("visits", []byte(`
title = "Visits"
label = "kind"
[[column]]
name = "kind"
kind = "categorical"
values = ["a", "b"]
[[column]]
name = "day"
kind = "numeric"
format = "DD.MM.YYYY"
low = 2020-01-01
high = "31.12.2025"
edges = [2022-01-01]
clamp = true
missing = "01.07.2021"
[[column]]
name = "price"
kind = "numeric"
format = "1,234.56"
low = 0
high = 1000
aliases = { "free" = "0" }
`))
	if err != nil {
		t.Fatal(err)
	}
	day := s.Columns[1]
	expect.Equal(t, "day.Low", day.Low, 18262)
	expect.Equal(t, "day.High", day.High, 20453)
	expect.Equal(t, "day.Show(day.High)", day.Show(day.High), "31.12.2025")
	expect.Equal(t, "day.Domain()[0]", day.Domain()[0], "less than 01.01.2022")
	e := day.Encoder()
	for text, want := range map[string]float64{"": 18809, "1.1.1999": day.Low, "02.01.2020": 18263} {
		t.Run(text, func(t *testing.T) {
			if got, o := e.Number(text); got != want || o != OK {
				t.Errorf("%q is %v (%v), want %v", text, got, o, want)
			}
		})
	}
	if x, o := s.Columns[2].Encoder().Number("free"); x != 0 || o != OK {
		t.Errorf("free is %v, %v", x, o)
	}
	if got := s.Text(Row{{Code: 0, Discrete: true}, {Number: 19787.2}, {Number: 3}}); !strings.Contains(got, "05.03.2024") {
		t.Errorf("in words: %s", got)
	}
	cuts, err := s.Partition("", []string{"day:2021-01-01"})
	if err != nil || cuts[0].Cuts[0] != 18628 {
		t.Errorf("cuts %v: %v", cuts, err)
	}
	for _, wrong := range []string{"format = \"DD.MM\"\nlow = 0\nhigh = 1", "format = \"1-2\"\nlow = 0\nhigh = 1", "low = \"x\"\nhigh = 1", "low = 2020-01-01\nhigh = 2021-01-01"} {
		if _, err := Parse("x", []byte("title = \"x\"\n[[column]]\nname = \"d\"\nkind = \"numeric\"\n"+wrong+"\n")); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// FuzzFormats: no text is read as a number that is not finite, and none makes a parser panic.
func FuzzFormats(f *testing.F) {
	for _, text := range []string{"54,013", "€51593", "1.234,56", "05.03.2024", "2024-03-05T00:00:00", "-$1", "%", "EUR"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range []string{"1,234.56", "1.234,56", "1 234,56", "1'234.56", "DD.MM.YYYY", "MM/DD/YYYY"} {
			c := Column{Kind: Numeric, Format: format, Low: -10, High: 1e6, Clamp: true}
			if x, o := c.Encoder().Number(text); o == OK && !(x >= -10 && x <= 1e6) {
				t.Errorf("%q as %s is %v", text, format, x)
			}
		}
	})
}
