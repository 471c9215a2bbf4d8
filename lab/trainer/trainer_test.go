package trainer_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/lab/trainer"
	"github.com/sotto-dp/sotto/schema"
)

// toy has two discrete columns, a number and a label of so many classes.
func toy(classes int) schema.Schema {
	return schema.Schema{
		Name: "toy", Label: "y",
		Columns: []schema.Column{
			{Name: "a", Kind: schema.Categorical, Values: []string{"r", "g", "b"}},
			{Name: "b", Kind: schema.Categorical, Values: []string{"n", "e", "s", "w"}},
			{Name: "x", Kind: schema.Numeric, Low: 0, High: 1, Edges: []float64{0.5}},
			{Name: "y", Kind: schema.Categorical, Values: []string{"0", "1", "2", "3"}[:classes]},
		},
	}
}

func row(a, b int, x float64, y int) schema.Row {
	return schema.Row{{Code: a, Discrete: true}, {Code: b, Discrete: true}, {Number: x}, {Code: y, Discrete: true}}
}

// remainders is a table of 200 rows made of remainders, with two or three classes.
func remainders(t *testing.T, classes int, weighted bool) *trainer.Table {
	t.Helper()
	out := trainer.NewTable(form(t, toy(classes), false))
	for i := range 200 {
		a, b, x := (7*i+3+i/5)%3, (i*i+i/7)%4, float64((37*i)%101)/100
		y := 0
		if classes == 2 && float64((13*i)%17+5*a)+8*x > 14 || classes == 3 && float64((11*i)%7+2*a)+3*x > 5 {
			y++
		}
		if classes == 3 && (11*i)%7+2*a+b > 8 {
			y++
		}
		w := 1.0
		if weighted {
			w += float64(i % 3)
		}
		if err := out.Add(row(a, b, x, y), w); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func form(t *testing.T, s schema.Schema, discrete bool) *learn.Form {
	t.Helper()
	f, err := learn.NewForm(s, discrete)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func fit(t *testing.T, table *trainer.Table, o trainer.LogisticOptions) *trainer.Logistic {
	t.Helper()
	m, err := trainer.FitLogistic(context.Background(), table, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func bayes(t *testing.T, table *trainer.Table, o learn.NaiveBayesOptions) *learn.NaiveBayes {
	t.Helper()
	m, err := learn.NewNaiveBayes(table.Form(), table.Moments(), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func probabilities(t *testing.T, c trainer.Classifier, r schema.Row) []float64 {
	t.Helper()
	p, err := c.Probabilities(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAgainstScikitLearn: numbers are those of scikit-learn 1.9.1 on the same rows, of
// LogisticRegression(C=1/0.7, tol=1e-13) with and without weights.
func TestAgainstScikitLearn(t *testing.T) {
	// Rows 0, 17 and 199 of the table; the label is not looked at.
	rows := []schema.Row{row(0, 0, 0, 0), row(2, 3, .23, 0), row(1, 1, .91, 0)}
	for _, c := range []struct {
		classes  int
		weighted bool
		logit    [3][]float64
	}{
		{
			2, false,
			[3][]float64{{.89445051, .10554949}, {.11135255, .88864745}, {.10520608, .89479392}},
		},
		{
			2, true,
			[3][]float64{{.9006645, .0993355}, {.10164697, .89835303}, {.14238224, .85761776}},
		},
		{
			3, false,
			[3][]float64{{9.63671514e-01, 3.62015043e-02, 1.26981803e-04}, {4.70007598e-04, 2.38512469e-02, 9.75678745e-01}, {.00548967, .74233556, .25217477}},
		},
		{
			3, true,
			[3][]float64{{9.73333305e-01, 2.66488013e-02, 1.78940804e-05}, {9.18309005e-05, 8.10009405e-03, 9.91808075e-01}, {.00394281, .76944412, .22661307}},
		},
	} {
		table := remainders(t, c.classes, c.weighted)
		model := fit(t, table, trainer.LogisticOptions{Ridge: 0.7})
		for i, r := range rows {
			near(t, "logistic regression", probabilities(t, model, r), c.logit[i], 1e-6)
		}
	}
}

func near(t *testing.T, what string, got, want []float64, within float64) {
	t.Helper()
	for k := range want {
		if !(math.Abs(got[k]-want[k]) <= within) {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

// TestCoefficients are scikit-learn's too (see above).
func TestCoefficients(t *testing.T) {
	w := fit(t, remainders(t, 2, false), trainer.LogisticOptions{Ridge: 0.7}).Weights()
	want := []float64{1.18166839, -1.46570912, -0.29184058, 1.75754971, -0.46090956, 0.10933945, 0.46206602, -0.11049591, 1.39207939}
	near(t, "coefficients", w[1], want, 1e-6)
	near(t, "coefficients of the first class", w[0], make([]float64, 9), 0)
}

// TestWeightsAreRows: a row of weight 3 is three rows, equal rows may be merged, and a
// distribution is a table with a total.
func TestWeightsAreRows(t *testing.T) {
	f := form(t, toy(2), false)
	weighted, repeated, shares := trainer.NewTable(f), trainer.NewTable(f), trainer.NewTable(f)
	for i := range 60 {
		r := row(i%3, i%4, float64(i%5)/5, (i*i/3)%2)
		for range 1 + i%3 {
			must(t, repeated.Add(r, 1))
		}
		must(t, weighted.Add(r, float64(1+i%3)))
		must(t, shares.Add(r, float64(1+i%3)/120))
		must(t, shares.Add(r, 0))
	}
	merged := repeated.Merged()
	if merged.Len() >= repeated.Len() || shares.Len() != 60 {
		t.Fatalf("%d rows merged to %d", repeated.Len(), merged.Len())
	}
	want := fit(t, repeated, trainer.LogisticOptions{}).Weights()[1]
	near(t, "with weights", fit(t, weighted, trainer.LogisticOptions{}).Weights()[1], want, 1e-8)
	near(t, "merged", fit(t, merged, trainer.LogisticOptions{}).Weights()[1], want, 1e-8)
	near(t, "shares", fit(t, shares, trainer.LogisticOptions{Total: 120}).Weights()[1], want, 1e-8)
	r := row(1, 2, .3, 0)
	for _, gaussian := range []bool{false, true} {
		o := learn.NaiveBayesOptions{Gaussian: gaussian}
		near(t, "naive Bayes", probabilities(t, bayes(t, merged, o), r), probabilities(t, bayes(t, repeated, o), r), 1e-12)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestOneClass: a class without rows is not expected, and one alone is certain.
func TestOneClass(t *testing.T) {
	one, two := trainer.NewTable(form(t, toy(3), false)), trainer.NewTable(form(t, toy(3), false))
	for i := range 30 {
		must(t, one.Add(row(i%3, i%4, .5, 1), 1))
		must(t, two.Add(row(i%3, i%4, .5, 2*((i*i/3)%2)), 1))
	}
	near(t, "one class", probabilities(t, fit(t, one, trainer.LogisticOptions{}), row(0, 0, 0, 0)), []float64{0, 1, 0}, 0)
	p := probabilities(t, fit(t, two, trainer.LogisticOptions{}), row(0, 0, 0, 0))
	if p[1] != 0 || !(p[0] > 0 && p[2] > 0) {
		t.Errorf("of two classes with rows: %v", p)
	}
}

// TestMoments: the moments of a table are the sums over its rows.
func TestMoments(t *testing.T) {
	f := form(t, toy(2), false)
	table := trainer.NewTable(f)
	must(t, table.Add(row(1, 3, 1, 0), 2))
	must(t, table.Add(row(1, 0, .75, 0), 3))
	must(t, table.Add(row(2, 3, 0, 1), 1))
	m := table.Moments()
	near(t, "counts", m.Counts, []float64{5, 1}, 0)
	near(t, "the histogram of a", m.Histograms[0][0], []float64{0, 5, 0}, 0)
	near(t, "the histogram of b", m.Histograms[0][1], []float64{3, 0, 0, 2}, 0)
	near(t, "the histogram of b", m.Histograms[1][1], []float64{0, 0, 0, 1}, 0)
	// From -1 to 1.
	near(t, "sums and squares of x", []float64{m.Sums[0][2], m.Squares[0][2], m.Sums[1][2], m.Squares[1][2]}, []float64{3.5, 2.75, -1, 1}, 1e-12)
}

// TestRefusals: what cannot be used is refused in words.
func TestRefusals(t *testing.T) {
	f := form(t, toy(2), false)
	table := trainer.NewTable(f)
	full := remainders(t, 2, false)
	for _, c := range []struct {
		words string
		do    func() error
	}{
		{"one for each", func() error { return table.Add(schema.Row{}, 1) }},
		{"weights are 0 or more", func() error { return table.Add(row(0, 0, 0, 0), -1) }},
		{"weights are 0 or more", func() error { return table.Add(row(0, 0, 0, 0), math.NaN()) }},
		{"not one of its 2 values", func() error { return table.Add(row(0, 0, 0, 2), 1) }},
		{"no row", func() error {
			_, err := trainer.FitLogistic(context.Background(), table, trainer.LogisticOptions{})
			return err
		}},
		{"ridge above 0", func() error {
			_, err := trainer.FitLogistic(context.Background(), full, trainer.LogisticOptions{Ridge: -1})
			return err
		}},
		{"a list for each", func() error { _, err := trainer.NewLogistic(f, nil); return err }},
		{"one for each", func() error { _, err := trainer.NewLogistic(f, [][]float64{nil, {1}}); return err }},
		{"no class", func() error { _, err := trainer.NewLogistic(f, [][]float64{nil, nil}); return err }},
		{"finite", func() error {
			w := make([]float64, f.Width())
			w[2] = math.NaN()
			_, err := trainer.NewLogistic(f, [][]float64{w, nil})
			return err
		}},
	} {
		if err := c.do(); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("want an error with %q, got %v", c.words, err)
		}
	}
	if table.Len() != 0 {
		t.Errorf("%d rows were kept of those that were refused", table.Len())
	}
}
