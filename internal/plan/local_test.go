package plan

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/schema"
)

// tableOf is a made-up schema with columns of so many values; the last is the label.
func tableOf(domains ...int) schema.Schema {
	s := schema.Schema{Name: "made-up"}
	for i, d := range domains {
		c := schema.Column{Name: "column" + string(rune('a'+i)), Kind: schema.Categorical}
		for v := range d {
			c.Values = append(c.Values, "v"+string(rune('a'+v/26))+string(rune('a'+v%26)))
		}
		s.Columns = append(s.Columns, c)
		s.Label = c.Name
	}
	return s
}

func TestLocalKeepsToEpsilon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		domains := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 14).Draw(t, "domains")
		domains = append(domains, 2)
		r := LocalRequest{Schema: tableOf(domains...), Epsilon: rapid.Float64Range(0.01, 60).Draw(t, "ε"), Rows: 1000}
		switch rapid.SampledFrom([]string{SplitEqual, SplitWeights, SplitOptimal}).Draw(t, "split") {
		case SplitOptimal:
			r.Split = SplitOptimal
		case SplitWeights:
			r.Weights = map[string]float64{"columna": rapid.Float64Range(0.1, 10).Draw(t, "weight")}
		}
		l, err := NewLocal(r)
		if err != nil {
			t.Fatal(err)
		}
		cost, err := accountant.Auto{}.Epsilon(l.Event(), privacy.ReplaceOne, 0)
		if err != nil {
			t.Fatal(err)
		}
		if cost.Upper > r.Epsilon || cost.Upper < r.Epsilon*(1-1e-9) {
			t.Fatalf("ε = %v is planned as %v", r.Epsilon, cost.Upper)
		}
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var again Local
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if err := again.Check(); err != nil || again.Event().String() != l.Event().String() {
			t.Fatalf("%s came back as %s: %v", l.Event(), again.Event(), err)
		}
	})
}

func TestLocalSplits(t *testing.T) {
	equal, err := NewLocal(LocalRequest{Schema: tableOf(2, 1, 5, 2), Epsilon: 3})
	if err != nil {
		t.Fatal(err)
	}
	if got := equal.Settings.Epsilons; !slices.Equal(got, []float64{1, 0, 1, 1}) || equal.Split != SplitEqual {
		t.Errorf("equal parts: %v", got)
	}
	weighted, err := NewLocal(LocalRequest{Schema: tableOf(2, 1, 5, 2), Epsilon: 4, Weights: map[string]float64{"columnd": 2, "columnb": 7}})
	if err != nil {
		t.Fatal(err)
	}
	if got := weighted.Settings.Epsilons; !slices.Equal(got, []float64{1, 0, 1, 2}) || weighted.Split != SplitWeights {
		t.Errorf("weights: %v", got)
	}
}

// TestLocalOptimal: no other split that moves ε from one column to another is predicted
// to do better, and with columns alike it is the equal one.
func TestLocalOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		domains := rapid.SliceOfN(rapid.IntRange(1, 30), 2, 6).Draw(t, "domains")
		domains = append(domains, 2)
		l, err := NewLocal(LocalRequest{Schema: tableOf(domains...), Epsilon: rapid.Float64Range(0.2, 30).Draw(t, "ε"), Split: SplitOptimal, Rows: 1000})
		if err != nil {
			t.Fatal(err)
		}
		best := l.CellError()
		for i, d := range domains {
			for j, e := range domains {
				move := 0.03 * l.Settings.Epsilons[i]
				if i == j || d == 1 || e == 1 {
					continue
				}
				other := l
				other.Settings.Epsilons = slices.Clone(l.Settings.Epsilons)
				other.Settings.Epsilons[i] -= move
				other.Settings.Epsilons[j] += move
				if got := other.CellError(); got < best*(1-1e-9) {
					t.Fatalf("%v: %v is better than %v: %v and %v", domains, other.Settings.Epsilons, l.Settings.Epsilons, got, best)
				}
			}
		}
	})
	l, err := NewLocal(LocalRequest{Schema: tableOf(3, 3, 3), Epsilon: 3, Split: SplitOptimal})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l.Settings.Epsilons {
		if math.Abs(e-1) > 1e-9 {
			t.Errorf("columns alike get %v", l.Settings.Epsilons)
		}
	}
	wide, err := NewLocal(LocalRequest{Schema: tableOf(2, 20), Epsilon: 2, Split: SplitOptimal, Rows: 1000})
	if err != nil {
		t.Fatal(err)
	}
	equal, err := NewLocal(LocalRequest{Schema: tableOf(2, 20), Epsilon: 2, Rows: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if !(wide.Settings.Epsilons[1] > wide.Settings.Epsilons[0]) || !(wide.CellError() < equal.CellError()) {
		t.Errorf("%v with an error of %v, equal parts with %v", wide.Settings.Epsilons, wide.CellError(), equal.CellError())
	}
}

// TestLocalErrors: what is predicted is what the channel says, and warnings come where it
// is much.
func TestLocalErrors(t *testing.T) {
	l, err := NewLocal(LocalRequest{Schema: tableOf(2, 1, 4), Epsilon: 2, Rows: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	c := reconstruct.Channel{Domains: []int{2, 1, 4}, Keep: []float64{math.E / (math.E + 1), 1, math.E / (math.E + 3)}}
	for i, e := range l.Errors() {
		at := expect.At(t, "%+v", e)
		expect.Equal(at, "e.Column", e.Column, l.Schema.Columns[i].Name)
		expect.Max(at, "math.Abs(e.Worst-c.WorstError(i, 10_000))", math.Abs(e.Worst-c.WorstError(i, 10_000)), 1e-12)
		expect.Max(at, "math.Abs(e.Even-c.ShareError(i, 1/float64(e.Values), 10_000))", math.Abs(e.Even-c.ShareError(i, 1/float64(e.Values), 10_000)), 1e-12)
	}
	expect.Equal(t, "l.Cells()", l.Cells(), 8)
	expect.True(t, "l.CellError() above 0", l.CellError() > 0, l.CellError())
	expect.True(t, "no l.Warnings()", l.Warnings() == nil)
	for name, test := range map[string]struct {
		r    LocalRequest
		want string
	}{
		"few rows":   {LocalRequest{Schema: tableOf(2, 2), Epsilon: 0.1, Rows: 100}, "hardly be known"},
		"many cells": {LocalRequest{Schema: tableOf(2, 2, 2, 2, 2, 2, 2, 2), Epsilon: 4, Rows: 10_000}, "combinations"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := NewLocal(test.r)
			if err != nil {
				t.Fatal(err)
			}
			if w := l.Warnings(); len(w) == 0 || !strings.Contains(w[0], test.want) {
				t.Errorf("%v", w)
			}
		})
	}
	undeclared, err := NewLocal(LocalRequest{Schema: tableOf(2, 2), Epsilon: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	at := expect.At(t, "no number of rows")
	expect.True(at, "no undeclared.Warnings()", undeclared.Warnings() == nil)
	expect.Equal(at, "undeclared.CellError()", undeclared.CellError(), 0)
	expect.Equal(at, "undeclared.Errors()[0].Worst", undeclared.Errors()[0].Worst, 0)
}

// TestLocalExposed: a large ε of rows is said in plain words, with how often values stay as they are.
func TestLocalExposed(t *testing.T) {
	for epsilon, want := range map[float64]string{5: "", 8: "at ε = 8 a row is hardly protected: each value stays as it is with a chance of 95 to 98 %, and 93 % of rows"} {
		l, err := NewLocal(LocalRequest{Schema: tableOf(2, 4), Epsilon: epsilon})
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Exposed(); (want == "") != (got == "") || !strings.HasPrefix(got, want) {
			t.Errorf("ε = %v: %q, want %q", epsilon, got, want)
		}
	}
}

func TestLocalRefuses(t *testing.T) {
	numeric := tableOf(2, 2)
	numeric.Columns[0] = schema.Column{Name: "columna", Kind: schema.Numeric, Low: 0, High: 1}
	for name, r := range map[string]LocalRequest{
		"no schema":       {Epsilon: 1},
		"no ε":            {Schema: tableOf(2, 2)},
		"infinite ε":      {Schema: tableOf(2, 2), Epsilon: math.Inf(1)},
		"tiny ε":          {Schema: tableOf(2, 2), Epsilon: 1e-9},
		"huge ε":          {Schema: tableOf(2, 2), Epsilon: 1e9},
		"unknown column":  {Schema: tableOf(2, 2), Epsilon: 1, Weights: map[string]float64{"colunma": 1}},
		"weight 0":        {Schema: tableOf(2, 2), Epsilon: 1, Weights: map[string]float64{"columna": 0}},
		"weight NaN":      {Schema: tableOf(2, 2), Epsilon: 1, Weights: map[string]float64{"columna": math.NaN()}},
		"two splits":      {Schema: tableOf(2, 2), Epsilon: 1, Weights: map[string]float64{"columna": 1}, Split: SplitOptimal},
		"unknown split":   {Schema: tableOf(2, 2), Epsilon: 1, Split: "fair"},
		"negative rows":   {Schema: tableOf(2, 2), Epsilon: 1, Rows: -1},
		"not discrete":    {Schema: numeric, Epsilon: 1},
		"nothing to hide": {Schema: tableOf(1, 1), Epsilon: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewLocal(r); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
	_, err := NewLocal(LocalRequest{Schema: tableOf(2, 2), Epsilon: 1, Weights: map[string]float64{"colunma": 1}})
	if err == nil || !strings.Contains(err.Error(), "did you mean columna?") {
		t.Errorf("a name that is misspelt: %v", err)
	}
	l, err := NewLocal(LocalRequest{Schema: tableOf(2, 2), Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	l.Epsilon = 0.9
	if err := l.Check(); err == nil {
		t.Error("a plan that costs more than it says is accepted")
	}
}
