package sums

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence/rows"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

// tables are the schemas that come with the program, with their encoders.
func tables(t testing.TB) map[*schema.Schema]*rows.Encoder {
	t.Helper()
	out := map[*schema.Schema]*rows.Encoder{}
	for _, name := range schema.Builtins() {
		s, err := schema.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if out[&s], err = rows.New(s); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestPlainRowsOnTheGrid: vectors of rows are on the grid no longer than one, in whole numbers, nothing is where a row has
// nothing, and one row more or less moves a sum by at most one, an exchanged one by two.
func TestPlainRowsOnTheGrid(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for s, e := range tables(t) {
		texts := []string{"no row"}
		for _, made := range s.RandomExamples(100, 5) {
			texts = append(texts, made.Input)
		}
		all, err := e.Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		var units []unit
		for i, v := range all {
			got, err := onGrid(v, e.Dimension())
			if err != nil {
				t.Fatalf("%s, row %d: %v", s.Name, i, err)
			}
			var square int64
			for j, x := range got {
				square += int64(x) * int64(x)
				if (x == 0) != (v[j]*one < 1) {
					t.Fatalf("%s: %v becomes %d", s.Name, v[j], x)
				}
			}
			// Each of at most forty numbers is rounded down by less than a step.
			if square > one*one || square < one*one*998/1000 {
				t.Fatalf("%s: row %d has a square of %v", s.Name, i, float64(square)/one/one)
			}
			units = append(units, unit{recordVector{random.IntN(3) - 1, got}})
		}
		for _, sums := range []int64{1, 8} {
			summer := &Summer{Options{Sums: settings(sums, 1), Encoder: trust(t, e)}}
			vectors := make([][]float64, 2)
			for l := range vectors {
				vectors[l] = make([]float64, e.Dimension())
				for j := range vectors[l] {
					vectors[l][j] = 10 * random.NormFloat64()
				}
			}
			with := added(t, summer, units, vectors)
			if d := moved(with, added(t, summer, units[1:], vectors)); d.Cmp(whole(1)) > 0 {
				t.Errorf("%s: one row less moves a sum by the root of %v", s.Name, d)
			}
			for i := range units[1:] {
				exchanged := append(append([]unit{}, units[1:]...), units[i])
				if d := moved(with, added(t, summer, exchanged, vectors)); d.Cmp(whole(2)) > 0 {
					t.Errorf("%s: an exchanged row moves a sum by the root of %v", s.Name, d)
				}
			}
		}
	}
}

// TestSumsForRows: there are several sums with short steps, and they cost no more than one.
func TestSumsForRows(t *testing.T) {
	for _, size := range []int64{1, 449, 5000, 35000, math.MaxInt64} {
		for _, sigma := range []float64{1e-9, 0.5, 5.9, 13, 1000} {
			for _, adjacency := range []privacy.Adjacency{privacy.AddRemove, privacy.ReplaceOne} {
				before := Sums{Encoder: toyName, Size: size, Adjacency: adjacency, Each: 1}
				s := before.ForRows(sigma)
				if err := s.Check(); err != nil {
					t.Errorf("%d rows at %v: %v", size, sigma, err)
				}
				way := s.Step * float64(s.Sums)
				at := expect.At(t, "%d rows at %v", size, sigma)
				expect.Equal(at, "s.Names", s.Names, 0)
				expect.Min(at, "s.Sums", s.Sums, 2)
				expect.Max(at, "s.Sums", s.Sums, 240)
				expect.Max(at, "s.Step", s.Step, 12.5)
				if s.Step > 6.25 {
					expect.Min(at, "s.Sums", s.Sums, 240)
				}
				expect.Max(at, "way", way, 3000+1e-9)
				expect.Max(at, "way*sigma*s.sensitivity", way*sigma*s.sensitivity(), 1.5*float64(size)*(1+1e-9))
				if cost := ratio(float64(s.Sums), s.Sigma, s.Sigma); cost.Cmp(ratio(1, sigma, sigma)) > 0 {
					t.Errorf("%d rows at %v: %d sums cost more than one", size, sigma, s.Sums)
				}
			}
		}
	}
	if err := (Sums{Encoder: toyName, Size: 10, Adjacency: privacy.AddRemove, Each: 1}).ForRows(math.NaN()).Check(); err == nil {
		t.Error("noise of no scale has settings")
	}
}

// TestEvidenceOfRows: evidence of rows has their schema, and tells labels that follow from two columns which none of
// them tells alone. What is no row has no part in it.
func TestEvidenceOfRows(t *testing.T) {
	s := schema.Schema{Name: "pets", Label: "ill", Columns: []schema.Column{
		{Name: "age", Kind: schema.Numeric, High: 20},
		{Name: "pet", Kind: schema.Categorical, Values: []string{"cat", "dog"}},
		{Name: "ill", Kind: schema.Categorical, Values: []string{"no", "yes"}},
	}}
	e, err := rows.New(s)
	if err != nil {
		t.Fatal(err)
	}
	task, err := s.Task()
	if err != nil {
		t.Fatal(err)
	}
	text := func(age float64, pet int) string {
		return s.Text(schema.Row{{Number: age}, {Code: pet, Discrete: true}, schema.Unsaid})
	}
	ill := func(age float64, pet int) int {
		if age+float64(6*pet) >= 12.5 { // dogs from 7 years on, cats from 13
			return 1
		}
		return 0
	}
	const n = 4000
	data := newScene(e.Dimension(), 1)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		age, pet := float64(random.IntN(21)), random.IntN(2)
		words := text(age, pet)
		if i%50 == 0 {
			words = fmt.Sprintf("no row %d", i)
		}
		data.unit(0, seal.NewRecord(int64(i+1), task.Labels[ill(age, pet)], words))
	}
	o := data.options(t, 2, Sums{Encoder: e.Name(), Size: n, Adjacency: privacy.AddRemove, Each: 1}.ForRows(5))
	o.Encoder, o.Task, o.Schema = trust(t, e), task, &s
	got := released(t, o).Evidence
	if got.Schema != &s || got.Encoder != e.Name() {
		t.Errorf("%s, %v", got.Encoder, got.Schema)
	}
	right := 0
	for age := range 21 {
		for pet := range 2 {
			v, err := e.Embed(t.Context(), []string{text(float64(age), pet)})
			if err != nil {
				t.Fatal(err)
			}
			logs, err := got.Logs(v[0])
			if err != nil {
				t.Fatal(err)
			}
			if (logs[1] > logs[0]) == (ill(float64(age), pet) == 1) {
				right++
			}
		}
	}
	if right < 38 {
		t.Errorf("%d of 42 are right", right)
	}
	v, err := e.Embed(t.Context(), []string{"no row at all"})
	if err != nil {
		t.Fatal(err)
	}
	if logs, err := got.Logs(v[0]); err != nil || logs[0] != logs[1] {
		t.Errorf("of no row it says %v, %v", logs, err)
	}
	o.Schema = nil
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "schema is missing") {
		t.Errorf("%v", err)
	}
}
