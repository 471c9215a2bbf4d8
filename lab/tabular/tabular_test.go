package tabular_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/tabular"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

const trained = 3000

// loans reads the demo's table, as bins or as numbers.
func loans(t testing.TB, discrete bool) *tabular.Table {
	t.Helper()
	path, s := loansFile(t, trained+500)
	table, err := tabular.ReadTable(path, s, discrete, tabular.Split{First: trained})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestLocalWithoutNoise: what is learned is how often each combination is there.
func TestLocalWithoutNoise(t *testing.T) {
	table := loans(t, true)
	l, err := tabular.NewLocal(t.Context(), table, tabular.LocalOptions{Epsilon: math.Inf(1)})
	if err != nil {
		t.Fatal(err)
	}
	if l.Guarantee != nil {
		t.Errorf("a guarantee of nothing: %+v", l.Guarantee)
	}
	want := make([]float64, len(l.Estimate.Cells))
	for _, row := range table.Train {
		var codes []uint16
		for _, v := range row {
			codes = append(codes, uint16(v.Code))
		}
		want[l.Estimate.Cell(codes)] += 1. / trained
	}
	for i := range want {
		if math.Abs(want[i]-l.Estimate.Cells[i]) > 1e-12 {
			t.Fatalf("cell %d has %v instead of %v", i, l.Estimate.Cells[i], want[i])
		}
	}
}

// TestLocal: the guarantee is what was asked for, and demonstrations of a question depend on
// the seed and its number alone.
func TestLocal(t *testing.T) {
	table := loans(t, true)
	for _, method := range []string{"ibu", "inverse"} {
		o := tabular.LocalOptions{Epsilon: 8, Reconstruct: method, Seed: 3}
		l, err := tabular.NewLocal(t.Context(), table, o)
		if err != nil {
			t.Fatal(err)
		}
		g := l.Guarantee
		at := expect.At(t, "%s", method)
		expect.Within(at, "g.Epsilon", g.Epsilon, 7.99, 8+1e-9)
		expect.Equal(at, "g.Delta", g.Delta, 0)
		expect.Equal(at, "g.Adjacency", g.Adjacency, "replace-one")
		expect.Contains(at, "g.Event", g.Event, "rr(")
		if l.Estimate.Method != method {
			t.Errorf("%s was used, not %s", l.Estimate.Method, method)
		}
		many := l.Demos(20, 8)
		again, err := tabular.NewLocal(t.Context(), table, o)
		if err != nil {
			t.Fatal(err)
		}
		few := again.Demos(5, 2)
		for i := range few {
			if !slices.Equal(few[i], many[i][:2]) {
				t.Errorf("%s: question %d has other demonstrations", method, i)
			}
		}
		if slices.Equal(many[0], many[1]) {
			t.Errorf("%s: two questions have the same demonstrations", method)
		}
	}
	if _, err := tabular.NewLocal(t.Context(), loans(t, false), tabular.LocalOptions{Epsilon: math.Inf(1)}); err == nil {
		t.Error("numbers were taken for codes")
	}
}

// means of a column over rows by their label, exactly.
func means(rows []schema.Row, column, label int) map[int]float64 {
	sum, n := map[int]float64{}, map[int]float64{}
	for _, row := range rows {
		sum[row[label].Code] += row[column].Number
		n[row[label].Code]++
	}
	for k := range sum {
		sum[k] /= n[k]
	}
	return sum
}

// profile makes demonstrations, and tells what they cost.
func profile(t *testing.T, table *tabular.Table, o tabular.GlobalOptions) ([]prompt.Example, *tabular.Guarantee) {
	t.Helper()
	g, err := tabular.NewGlobal(table.Schema, o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.Demos(t.Context(), table, 5)
	if err != nil {
		t.Fatal(err)
	}
	return got, g.Guarantee
}

// TestGlobalWithoutNoise: each label's demonstration has the means of its rows.
func TestGlobalWithoutNoise(t *testing.T) {
	table := loans(t, false)
	table.Schema.Template = "It is {amount}."
	got, g := profile(t, table, tabular.GlobalOptions{Epsilon: math.Inf(1), Groups: 2, Size: trained})
	if g != nil {
		t.Fatal(g)
	}
	s := table.Schema
	label := s.LabelColumn()
	column, _ := s.Column("amount")
	words := s.Wording()
	want := means(table.Train, column, label)
	if len(got) != 2 {
		t.Fatalf("%d demonstrations", len(got))
	}
	for k, d := range got {
		row := make(schema.Row, len(s.Columns))
		row[column], row[label] = schema.Value{Number: want[k]}, schema.Value{Code: k, Discrete: true}
		if d.Output != words.Answer(row) || d.Input != words.Text(row) {
			t.Errorf("%+v instead of %q", d, words.Text(row))
		}
	}
}

// TestGlobal: profiles keep to the ε that was asked for, and that of the paper is less once
// rows are sampled.
func TestGlobal(t *testing.T) {
	table := loans(t, false)
	for _, groups := range []int{1, 2, 4, 8} {
		o := tabular.GlobalOptions{Epsilon: 2, Groups: groups, Size: trained}
		got, g := profile(t, table, o)
		at := expect.At(t, "%d groups", groups)
		expect.Len(at, "profile", got, groups)
		expect.Within(at, "g.Epsilon", g.Epsilon, 1.99, 2+1e-9)
		expect.Equal(at, "g.Delta", g.Delta, 0)
		expect.Equal(at, "g.Adjacency", g.Adjacency, "add-remove")
		if again, _ := profile(t, table, o); !slices.Equal(got, again) {
			t.Errorf("%d groups: another profile from the same seed", groups)
		}
		o.Published, o.Rate = true, 0.1
		_, g = profile(t, table, o)
		// Theorem 5 of Carey et al. 2024.
		if want := math.Log(1 + 0.1*(math.Exp(2)-1)); math.Abs(g.Epsilon-want) > 1e-3 {
			t.Errorf("%d groups as published: ε = %v instead of %v", groups, g.Epsilon, want)
		}
	}
	if _, err := tabular.NewGlobal(table.Schema, tabular.GlobalOptions{Epsilon: 1, Groups: 2, Noise: "pink"}); err == nil || !strings.Contains(err.Error(), "pink") {
		t.Error(err)
	}
	if _, err := tabular.NewGlobal(table.Schema, tabular.GlobalOptions{Epsilon: 1, Groups: 3}); err == nil || !strings.Contains(err.Error(), "no partition into 3 groups") {
		t.Error(err)
	}
}

func TestReal(t *testing.T) {
	table := loans(t, false)
	got, err := tabular.Real(table, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, row := range table.Train {
		known[table.Schema.Text(row)+table.Schema.Answer(row)] = true
	}
	for _, d := range got {
		if !known[d.Input+d.Output] {
			t.Errorf("%+v is no training row", d)
		}
	}
	if other, err := tabular.Real(table, 4, 2); err != nil || slices.Equal(got, other) {
		t.Errorf("two seeds draw the same rows, %v", err)
	}
	if _, err := tabular.Real(table, trained+1, 1); err == nil {
		t.Error("more rows than there are")
	}
}

// right returns the share of answers that are.
func right(table *tabular.Table, got []string) float64 {
	n := 0.
	for i, item := range table.Items() {
		if got[i] == item.Output {
			n++
		}
	}
	return n / float64(len(got))
}

// TestLearn: baselines learn something, and with a large ε nearly as much as without.
func TestLearn(t *testing.T) {
	score := func(discrete bool, o tabular.LearnOptions) (float64, *tabular.Guarantee) {
		t.Helper()
		table := loans(t, discrete)
		if strings.HasSuffix(o.Model, "-local") {
			l, err := tabular.NewLocal(t.Context(), table, tabular.LocalOptions{Epsilon: o.Epsilon})
			if err != nil {
				t.Fatal(err)
			}
			o.Local = l
		}
		o.Size = trained
		got, err := tabular.Learn(t.Context(), table, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range got.Probabilities {
			if len(p) != 2 || math.Abs(p[0]+p[1]-1) > 1e-9 {
				t.Fatalf("%s: probabilities %v", o.Model, p)
			}
		}
		return right(table, got.Answers), got.Guarantee
	}
	majority, g := score(false, tabular.LearnOptions{Model: "majority"})
	if g != nil || majority < 0.5 {
		t.Errorf("the most common answer is right for %v, %+v", majority, g)
	}
	for _, model := range []string{"lr", "gnb", "nb"} {
		raw, g := score(false, tabular.LearnOptions{Model: model})
		if g != nil || raw < majority+0.03 {
			t.Errorf("%s is right for %v, the most common answer for %v, %+v", model, raw, majority, g)
		}
		for _, kind := range map[string][]string{"lr": {"-private", "-local"}, "gnb": {"-local"}, "nb": {"-private"}}[model] {
			near, g := score(kind == "-local", tabular.LearnOptions{Model: model + kind, Epsilon: 200, Seed: 1})
			at := expect.At(t, "%s%s is right", model, kind)
			if g == nil {
				at.Fatalf("score: got none")
			}
			expect.Within(at, "g.Epsilon", g.Epsilon, 199, 200+1e-6)
			expect.Min(at, "near", near, raw-0.05)
			far, _ := score(kind == "-local", tabular.LearnOptions{Model: model + kind, Epsilon: 0.001, Seed: 1})
			if far > near+0.02 {
				t.Errorf("%s%s is right for %v at ε = 0.001, for %v at 200", model, kind, far, near)
			}
		}
	}
	for _, model := range []string{"svm", "svm-private"} {
		if _, err := tabular.Learn(t.Context(), loans(t, false), tabular.LearnOptions{Model: model, Epsilon: 1, Size: trained}); err == nil || !strings.Contains(err.Error(), "use ") {
			t.Errorf("%s: %v", model, err)
		}
	}
}
