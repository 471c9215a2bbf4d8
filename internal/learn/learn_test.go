package learn_test

import (
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

// table has sums over rows, by weight.
type table struct {
	form    *learn.Form
	moments learn.Moments
}

func empty(f *learn.Form) *table { return &table{form: f, moments: learn.NewMoments(f)} }

func (t *table) add(r schema.Row, weight float64) error {
	class, err := t.form.Class(r)
	if err != nil {
		return err
	}
	t.moments.Counts[class] += weight
	in := t.form.Inputs()
	return t.form.Entries(r, func(feature int, x float64) {
		c := in[0]
		in = in[1:]
		if c.Discrete {
			t.moments.Histograms[class][c.Place][feature-c.Offset] += weight
			return
		}
		t.moments.Sums[class][c.Place] += weight * x
		t.moments.Squares[class][c.Place] += weight * x * x
	})
}

// remainders is a table of 200 rows made of remainders, with two or three classes.
func remainders(t *testing.T, classes int, weighted bool) *table {
	t.Helper()
	out := empty(form(t, toy(classes), false))
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
		if err := out.add(row(a, b, x, y), w); err != nil {
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

func bayes(t *testing.T, table *table, o learn.NaiveBayesOptions) *learn.NaiveBayes {
	t.Helper()
	m, err := learn.NewNaiveBayes(table.form, table.moments, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func probabilities(t *testing.T, c *learn.NaiveBayes, r schema.Row) []float64 {
	t.Helper()
	p, err := c.Probabilities(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAgainstScikitLearn: numbers are those of scikit-learn 1.9.1 on the same rows, of
// GaussianNB(), with and without weights.
func TestAgainstScikitLearn(t *testing.T) {
	// Rows 0, 17 and 199 of the table; the label is not looked at.
	rows := []schema.Row{row(0, 0, 0, 0), row(2, 3, .23, 0), row(1, 1, .91, 0)}
	for _, c := range []struct {
		classes  int
		weighted bool
		nb       [3][]float64
	}{
		{
			2, false,
			[3][]float64{{.962358129559255, .037641870440745184}, {1.6101464366767782e-07, .9999998389853563}, {.164269049988319, .8357309500116809}},
		},
		{
			2, true,
			[3][]float64{{.9437961414535784, .05620385854642159}, {2.0365744051361708e-07, .9999997963425592}, {.3299944966011212, .6700055033988792}},
		},
		{
			3, false,
			[3][]float64{{.9905073119315941, .009492688068405735, 0}, {2.4332643496139465e-19, 1.1518680939136408e-07, .999999884813191}, {1.8988075698173935e-11, .00017842519104434648, .9998215747899676}},
		},
		{
			3, true,
			[3][]float64{{.985428703428506, .014571296571493872, 0}, {7.433532714907138e-18, 8.079546624822028e-08, .9999999192045333}, {1.988412652688046e-11, .00014804799276302028, .999851951987353}},
		},
	} {
		table := remainders(t, c.classes, c.weighted)
		gaussian := bayes(t, table, learn.NaiveBayesOptions{Gaussian: true})
		for i, r := range rows {
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
	table := empty(form(t, s, false))
	for _, c := range [][3]int{{0, 0, 6}, {1, 0, 2}, {0, 1, 1}, {1, 1, 3}} {
		must(t, table.add(schema.Row{{Code: c[0], Discrete: true}, {Code: c[1], Discrete: true}}, float64(c[2])))
	}
	// Shares 8/12 and 4/12; frequencies of r with one more of each: 7/10 and 2/6.
	zero, one := 8.0/12*7/10, 4.0/12*2/6
	got := probabilities(t, bayes(t, table, learn.NaiveBayesOptions{}), schema.Row{{Discrete: true}, {Discrete: true}})
	near(t, "Bayes' rule", got, []float64{zero / (zero + one), one / (zero + one)}, 1e-12)
}

// TestOneClass: one class alone is certain.
func TestOneClass(t *testing.T) {
	one := empty(form(t, toy(3), false))
	for i := range 30 {
		must(t, one.add(row(i%3, i%4, .5, 1), 1))
	}
	near(t, "one class", probabilities(t, bayes(t, one, learn.NaiveBayesOptions{}), row(0, 0, 0, 0)), []float64{0, 1, 0}, 0)
}

// TestBinsAndNumbers: a discrete form takes a number for its bin; a form of numbers
// refuses a bin.
func TestBinsAndNumbers(t *testing.T) {
	bins, numbers := form(t, toy(2), true), form(t, toy(2), false)
	if bins.Width() != 1+3+4+2 || numbers.Width() != 1+3+4+1 {
		t.Fatalf("%d and %d features", bins.Width(), numbers.Width())
	}
	table := empty(bins)
	must(t, table.add(row(0, 0, .7, 0), 1))
	if h := table.moments.Histograms[0][2]; h[0] != 0 || h[1] != 1 {
		t.Errorf("0.7 is in a bin of %v", h)
	}
	r := row(0, 0, 0, 0)
	r[2] = schema.Value{Code: 1, Discrete: true}
	if err := empty(numbers).add(r, 1); err == nil || !strings.Contains(err.Error(), "discrete") {
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
		m := learn.NewMoments(f)
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
	table := empty(f)
	full, short, infinite := remainders(t, 2, false).moments, remainders(t, 2, false).moments, remainders(t, 2, false).moments
	short.Histograms[1][0] = nil
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
		{"one for each", func() error { return table.add(schema.Row{}, 1) }},
		{"not one of its 3 values", func() error { return table.add(row(3, 0, 0, 0), 1) }},
		{"not one of its 2 values", func() error { return table.add(row(0, 0, 0, 2), 1) }},
		{"outside", func() error { return table.add(row(0, 0, 1.5, 0), 1) }},
		{"missing", func() error { return table.add(row(0, 0, math.NaN(), 0), 1) }},
		{"2 classes", func() error { _, err := learn.NewNaiveBayes(f, learn.Moments{}, learn.NaiveBayesOptions{}); return err }},
		{"3 values", func() error { _, err := learn.NewNaiveBayes(f, short, learn.NaiveBayesOptions{}); return err }},
		{"finite", func() error { _, err := learn.NewNaiveBayes(f, infinite, learn.NaiveBayesOptions{}); return err }},
		{"0 or more", func() error {
			_, err := learn.NewNaiveBayes(f, full, learn.NaiveBayesOptions{Floor: -1})
			return err
		}},
	} {
		if err := c.do(); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("want an error with %q, got %v", c.words, err)
		}
	}
}
