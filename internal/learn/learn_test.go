package learn_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/learn"
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
func remainders(t *testing.T, classes int, weighted bool) *learn.Table {
	t.Helper()
	out := learn.NewTable(form(t, toy(classes), false))
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

func fit(t *testing.T, table *learn.Table, o learn.LogisticOptions) *learn.Logistic {
	t.Helper()
	m, err := learn.FitLogistic(context.Background(), table, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func bayes(t *testing.T, table *learn.Table, o learn.NaiveBayesOptions) *learn.NaiveBayes {
	t.Helper()
	m, err := learn.NewNaiveBayes(table.Form(), table.Moments(), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func probabilities(t *testing.T, c learn.Classifier, r schema.Row) []float64 {
	t.Helper()
	p, err := c.Probabilities(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAgainstScikitLearn: numbers are those of scikit-learn 1.9.1 on the same rows, of
// LogisticRegression(C=1/0.7, tol=1e-13) and GaussianNB(), with and without weights.
func TestAgainstScikitLearn(t *testing.T) {
	// Rows 0, 17 and 199 of the table; the label is not looked at.
	rows := []schema.Row{row(0, 0, 0, 0), row(2, 3, .23, 0), row(1, 1, .91, 0)}
	for _, c := range []struct {
		classes   int
		weighted  bool
		logit, nb [3][]float64
	}{
		{
			2, false,
			[3][]float64{{.89445051, .10554949}, {.11135255, .88864745}, {.10520608, .89479392}},
			[3][]float64{{.962358129559255, .037641870440745184}, {1.6101464366767782e-07, .9999998389853563}, {.164269049988319, .8357309500116809}},
		},
		{
			2, true,
			[3][]float64{{.9006645, .0993355}, {.10164697, .89835303}, {.14238224, .85761776}},
			[3][]float64{{.9437961414535784, .05620385854642159}, {2.0365744051361708e-07, .9999997963425592}, {.3299944966011212, .6700055033988792}},
		},
		{
			3, false,
			[3][]float64{{9.63671514e-01, 3.62015043e-02, 1.26981803e-04}, {4.70007598e-04, 2.38512469e-02, 9.75678745e-01}, {.00548967, .74233556, .25217477}},
			[3][]float64{{.9905073119315941, .009492688068405735, 0}, {2.4332643496139465e-19, 1.1518680939136408e-07, .999999884813191}, {1.8988075698173935e-11, .00017842519104434648, .9998215747899676}},
		},
		{
			3, true,
			[3][]float64{{9.73333305e-01, 2.66488013e-02, 1.78940804e-05}, {9.18309005e-05, 8.10009405e-03, 9.91808075e-01}, {.00394281, .76944412, .22661307}},
			[3][]float64{{.985428703428506, .014571296571493872, 0}, {7.433532714907138e-18, 8.079546624822028e-08, .9999999192045333}, {1.988412652688046e-11, .00014804799276302028, .999851951987353}},
		},
	} {
		table := remainders(t, c.classes, c.weighted)
		model := fit(t, table, learn.LogisticOptions{Ridge: 0.7})
		gaussian := bayes(t, table, learn.NaiveBayesOptions{Gaussian: true})
		for i, r := range rows {
			near(t, "logistic regression", probabilities(t, model, r), c.logit[i], 1e-6)
			within := 1e-9
			if c.weighted {
				within = 1e-5 // its floor is of the variance without weights
			}
			near(t, "naive Bayes", probabilities(t, gaussian, r), c.nb[i], within)
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
	w := fit(t, remainders(t, 2, false), learn.LogisticOptions{Ridge: 0.7}).Weights()
	want := []float64{1.18166839, -1.46570912, -0.29184058, 1.75754971, -0.46090956, 0.10933945, 0.46206602, -0.11049591, 1.39207939}
	near(t, "coefficients", w[1], want, 1e-6)
	near(t, "coefficients of the first class", w[0], make([]float64, 9), 0)
}

// TestWeightsAreRows: a row of weight 3 is three rows, equal rows may be merged, and a
// distribution is a table with a total.
func TestWeightsAreRows(t *testing.T) {
	f := form(t, toy(2), false)
	weighted, repeated, shares := learn.NewTable(f), learn.NewTable(f), learn.NewTable(f)
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
	want := fit(t, repeated, learn.LogisticOptions{}).Weights()[1]
	near(t, "with weights", fit(t, weighted, learn.LogisticOptions{}).Weights()[1], want, 1e-8)
	near(t, "merged", fit(t, merged, learn.LogisticOptions{}).Weights()[1], want, 1e-8)
	near(t, "shares", fit(t, shares, learn.LogisticOptions{Total: 120}).Weights()[1], want, 1e-8)
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

// TestMixedBayesByHand: with one discrete column the model is Bayes' rule on counts.
func TestMixedBayesByHand(t *testing.T) {
	s := schema.Schema{Label: "y", Columns: []schema.Column{
		{Name: "a", Kind: schema.Categorical, Values: []string{"r", "g"}},
		{Name: "y", Kind: schema.Categorical, Values: []string{"0", "1"}},
	}}
	table := learn.NewTable(form(t, s, false))
	for _, c := range [][3]int{{0, 0, 6}, {1, 0, 2}, {0, 1, 1}, {1, 1, 3}} {
		must(t, table.Add(schema.Row{{Code: c[0], Discrete: true}, {Code: c[1], Discrete: true}}, float64(c[2])))
	}
	// Shares 8/12 and 4/12; frequencies of r with one more of each: 7/10 and 2/6.
	zero, one := 8.0/12*7/10, 4.0/12*2/6
	got := probabilities(t, bayes(t, table, learn.NaiveBayesOptions{}), schema.Row{{Discrete: true}, {Discrete: true}})
	near(t, "Bayes' rule", got, []float64{zero / (zero + one), one / (zero + one)}, 1e-12)
}

// TestOneClass: a class without rows is not expected, and one alone is certain.
func TestOneClass(t *testing.T) {
	one, two := learn.NewTable(form(t, toy(3), false)), learn.NewTable(form(t, toy(3), false))
	for i := range 30 {
		must(t, one.Add(row(i%3, i%4, .5, 1), 1))
		must(t, two.Add(row(i%3, i%4, .5, 2*((i*i/3)%2)), 1))
	}
	near(t, "one class", probabilities(t, fit(t, one, learn.LogisticOptions{}), row(0, 0, 0, 0)), []float64{0, 1, 0}, 0)
	near(t, "one class", probabilities(t, bayes(t, one, learn.NaiveBayesOptions{}), row(0, 0, 0, 0)), []float64{0, 1, 0}, 0)
	p := probabilities(t, fit(t, two, learn.LogisticOptions{}), row(0, 0, 0, 0))
	if p[1] != 0 || !(p[0] > 0 && p[2] > 0) {
		t.Errorf("of two classes with rows: %v", p)
	}
}

// TestBinsAndNumbers: a discrete form takes a number for its bin; a form of numbers
// refuses a bin.
func TestBinsAndNumbers(t *testing.T) {
	bins, numbers := form(t, toy(2), true), form(t, toy(2), false)
	if bins.Width() != 1+3+4+2 || numbers.Width() != 1+3+4+1 {
		t.Fatalf("%d and %d features", bins.Width(), numbers.Width())
	}
	table := learn.NewTable(bins)
	must(t, table.Add(row(0, 0, .7, 0), 1))
	if h := table.Moments().Histograms[0][2]; h[0] != 0 || h[1] != 1 {
		t.Errorf("0.7 is in a bin of %v", h)
	}
	r := row(0, 0, 0, 0)
	r[2] = schema.Value{Code: 1, Discrete: true}
	if err := learn.NewTable(numbers).Add(r, 1); err == nil || !strings.Contains(err.Error(), "discrete") {
		t.Errorf("a bin was taken for a number: %v", err)
	}
}

// TestNoiseNeverBreaksBayes: whatever the moments, probabilities are probabilities.
func TestNoiseNeverBreaksBayes(t *testing.T) {
	f, err := learn.NewForm(toy(3), false)
	if err != nil {
		t.Fatal(err)
	}
	number := rapid.OneOf(rapid.Float64Range(-50, 50), rapid.Float64Range(-1e15, 1e15), rapid.Just(0.0))
	rapid.Check(t, func(t *rapid.T) {
		m := learn.NewTable(f).Moments()
		if rapid.Bool().Draw(t, "errors") {
			m.Errors = [][]float64{make([]float64, 4), make([]float64, 4), make([]float64, 4)}
		}
		for k := range m.Counts {
			m.Counts[k] = number.Draw(t, "count")
			for c := range 4 {
				m.Sums[k][c], m.Squares[k][c] = number.Draw(t, "sum"), number.Draw(t, "square")
				for v := range m.Histograms[k][c] {
					m.Histograms[k][c][v] = number.Draw(t, "value")
				}
				if m.Errors != nil {
					m.Errors[k][c] = math.Abs(number.Draw(t, "error"))
				}
			}
		}
		model, err := learn.NewNaiveBayes(f, m, learn.NaiveBayesOptions{
			Gaussian: rapid.Bool().Draw(t, "gaussian"), Floor: rapid.SampledFrom([]float64{0, 1e-3}).Draw(t, "floor"),
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Probabilities(row(1, 2, rapid.Float64Range(0, 1).Draw(t, "x"), 0), nil)
		if err != nil {
			t.Fatal(err)
		}
		var sum float64
		for _, v := range p {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("probabilities %v", p)
			}
			sum += v
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("probabilities %v", p)
		}
	})
}

// TestRefusals: what cannot be used is refused in words.
func TestRefusals(t *testing.T) {
	f := form(t, toy(2), false)
	table := learn.NewTable(f)
	full := remainders(t, 2, false)
	short := full.Moments()
	short.Histograms[1][0] = nil
	infinite := full.Moments()
	infinite.Sums[0][2] = math.Inf(1)
	without := toy(2)
	without.Label = "z"
	same := toy(2)
	same.Columns[3].Values = []string{"0"}
	for _, c := range []struct {
		words string
		do    func() error
	}{
		{"no label", func() error { _, err := learn.NewForm(without, false); return err }},
		{"two classes", func() error { _, err := learn.NewForm(same, false); return err }},
		{"one for each", func() error { return table.Add(schema.Row{}, 1) }},
		{"weights are 0 or more", func() error { return table.Add(row(0, 0, 0, 0), -1) }},
		{"weights are 0 or more", func() error { return table.Add(row(0, 0, 0, 0), math.NaN()) }},
		{"not one of its 3 values", func() error { return table.Add(row(3, 0, 0, 0), 1) }},
		{"not one of its 2 values", func() error { return table.Add(row(0, 0, 0, 2), 1) }},
		{"outside", func() error { return table.Add(row(0, 0, 1.5, 0), 1) }},
		{"missing", func() error { return table.Add(row(0, 0, math.NaN(), 0), 1) }},
		{"no row", func() error {
			_, err := learn.FitLogistic(context.Background(), table, learn.LogisticOptions{})
			return err
		}},
		{"ridge above 0", func() error {
			_, err := learn.FitLogistic(context.Background(), full, learn.LogisticOptions{Ridge: -1})
			return err
		}},
		{"a list for each", func() error { _, err := learn.NewLogistic(f, nil); return err }},
		{"one for each", func() error { _, err := learn.NewLogistic(f, [][]float64{nil, {1}}); return err }},
		{"no class", func() error { _, err := learn.NewLogistic(f, [][]float64{nil, nil}); return err }},
		{"finite", func() error {
			w := make([]float64, f.Width())
			w[2] = math.NaN()
			_, err := learn.NewLogistic(f, [][]float64{w, nil})
			return err
		}},
		{"2 classes", func() error { _, err := learn.NewNaiveBayes(f, learn.Moments{}, learn.NaiveBayesOptions{}); return err }},
		{"3 values", func() error { _, err := learn.NewNaiveBayes(f, short, learn.NaiveBayesOptions{}); return err }},
		{"finite", func() error { _, err := learn.NewNaiveBayes(f, infinite, learn.NaiveBayesOptions{}); return err }},
		{"0 or more", func() error {
			_, err := learn.NewNaiveBayes(f, full.Moments(), learn.NaiveBayesOptions{Floor: -1})
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
