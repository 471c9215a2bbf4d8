package learn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	pub "github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// rows is a source in memory: values are codes or steps, in the order of the schema.
type rows struct {
	s      schema.Schema
	values [][]int32
}

func (r rows) Scan(_ context.Context, columns []int, _ int, each func(int, *table.Batch) error) error {
	b := &table.Batch{Rows: len(r.values), First: 1}
	for _, c := range columns {
		var v table.Vector
		for _, row := range r.values {
			if r.s.Columns[c].Kind == schema.Categorical {
				v.Codes = append(v.Codes, uint16(row[c]))
			} else {
				v.Steps = append(v.Steps, row[c])
			}
		}
		b.Columns = append(b.Columns, v)
	}
	return each(0, b)
}

// numbers is a schema of so many numeric columns, and a label.
func numbers(columns, classes int) schema.Schema {
	s := schema.Schema{Name: "numbers", Label: "y"}
	for i := range columns {
		s.Columns = append(s.Columns, schema.Column{Name: fmt.Sprint("x", i), Kind: schema.Numeric, Low: -1, High: 1})
	}
	y := schema.Column{Name: "y", Kind: schema.Categorical}
	for k := range classes {
		y.Values = append(y.Values, fmt.Sprint(k))
	}
	s.Columns = append(s.Columns, y)
	return s
}

// mixed is a schema with all kinds of columns.
func mixed(classes int) schema.Schema {
	s := numbers(2, classes)
	s.Columns = append(s.Columns, schema.Column{Name: "c", Kind: schema.Categorical, Values: []string{"r", "g", "b"}})
	s.Columns = append(s.Columns, schema.Column{Name: "d", Kind: schema.Numeric, Low: 0, High: 10, Edges: []float64{3, 7}})
	return s
}

// fixed is a table of 60 rows made of remainders.
func fixed(classes int) rows {
	r := rows{s: mixed(classes)}
	for i := range int32(60) {
		r.values = append(r.values, []int32{(i%7 - 3) * table.Steps / 3, (i%5 - 2) * table.Steps / 2, (i*i/3 + i%7/4) % int32(classes), i % 3, (i % 11) * table.Steps / 11})
	}
	return r
}

// profileOf makes a profile for naive Bayes, with noise of one multiplier for all.
func profileOf(t *testing.T, r rows, form *pub.Form, by []schema.Group, multiplier float64) global.Profile {
	t.Helper()
	statistics := map[string]global.Statistic{}
	for _, in := range form.Inputs() {
		statistics[r.s.Columns[in.Place].Name] = global.Moments
		if in.Discrete {
			statistics[r.s.Columns[in.Place].Name] = global.Histogram
		}
	}
	s := global.Settings{Groups: append([]schema.Group{{Column: r.s.Label}}, by...), Count: multiplier, Noise: global.None}
	if multiplier > 0 {
		s.Noise = global.Laplace
	} else {
		s.Count = 1
	}
	given, err := global.Determined(r.s, s.Groups)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range r.s.Columns {
		col := global.Column{Name: c.Name, Statistic: statistics[c.Name], Multiplier: s.Count}
		if given[i] {
			col = global.Column{Name: c.Name, Statistic: global.Given}
		} else if col.Statistic == global.Moments {
			col.Squares = s.Count
		}
		s.Columns = append(s.Columns, col)
	}
	m, err := global.New(r.s, s)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := m.Collect(context.Background(), r, noise.KeyFromSeed(1), 1)
	if err != nil {
		t.Fatal(err)
	}
	released, err := m.Release(sums, noise.KeyFromSeed(2))
	if err != nil {
		t.Fatal(err)
	}
	return released.Profile()
}

// seenRows are the same rows, for those who may see them.
func seenRows(r rows) []schema.Row {
	var out []schema.Row
	for _, values := range r.values {
		row := make(schema.Row, len(values))
		for i, v := range values {
			row[i] = schema.Value{Number: table.NewScale(r.s.Columns[i]).Value(float64(v))}
			if r.s.Columns[i].Kind == schema.Categorical {
				row[i] = schema.Value{Code: int(v), Discrete: true}
			}
		}
		out = append(out, row)
	}
	return out
}

// exactMoments are the moments of rows.
func exactMoments(t *testing.T, form *pub.Form, rows []schema.Row) pub.Moments {
	t.Helper()
	m := pub.NewMoments(form)
	for _, row := range rows {
		class, err := form.Class(row)
		if err != nil {
			t.Fatal(err)
		}
		m.Counts[class]++
		in := form.Inputs()
		err = form.Entries(row, func(feature int, x float64) {
			if c := in[0]; c.Discrete {
				m.Histograms[class][c.Place][feature-c.Offset]++
			} else {
				m.Sums[class][c.Place] += x
				m.Squares[class][c.Place] += x * x
			}
			in = in[1:]
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// TestBayesOfAProfile: without noise, a profile gives the model that the rows give, also
// if it has more groups than there are classes.
func TestBayesOfAProfile(t *testing.T) {
	r := fixed(3)
	form, err := pub.NewForm(r.s, false)
	if err != nil {
		t.Fatal(err)
	}
	exact := exactMoments(t, form, seenRows(r))
	for _, gaussian := range []bool{false, true} {
		o := pub.NaiveBayesOptions{Gaussian: gaussian, Floor: 1e-3}
		want, err := pub.NewNaiveBayes(form, exact, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, by := range [][]schema.Group{nil, {{Column: "c"}}} {
			got, err := Bayes(form, profileOf(t, r, form, by, 0), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range seenRows(r) {
				a, errA := want.Probabilities(row, nil)
				b, errB := got.Probabilities(row, nil)
				if errA != nil || errB != nil {
					t.Fatal(errA, errB)
				}
				for k := range a {
					if math.Abs(a[k]-b[k]) > 1e-6 {
						t.Fatalf("grouped by %d more columns: %v, by rows %v", len(by), b, a)
					}
				}
			}
		}
	}
}

// TestNoiseWidensVariances: what noise may have done to a mean is in the model.
func TestNoiseWidensVariances(t *testing.T) {
	r := fixed(2)
	for _, values := range r.values {
		values[0] = 0 // no variance at all
	}
	form, err := pub.NewForm(r.s, false)
	if err != nil {
		t.Fatal(err)
	}
	m, err := momentsOf(form, profileOf(t, r, form, nil, 1))
	if err != nil {
		t.Fatal(err)
	}
	for k, count := range m.Counts {
		// Laplace noise of scale 1 on a sum of numbers from -1 to 1.
		if bound := math.Sqrt2 / max(count, 1); m.Errors[k][0] < bound*0.99 {
			t.Errorf("class %d of about %.0f rows: an error of %v, at least %v", k, count, m.Errors[k][0], bound)
		}
	}
	if _, err := Bayes(form, profileOf(t, r, form, nil, 100), pub.NaiveBayesOptions{}); err != nil {
		t.Errorf("much noise: %v", err)
	}
}

// TestBayesOfANumericLabel: bins of the label are its classes.
func TestBayesOfANumericLabel(t *testing.T) {
	s := numbers(1, 2)
	s.Columns[1] = schema.Column{Name: "y", Kind: schema.Numeric, Low: 0, High: 10, Edges: []float64{5}}
	r := rows{s: s}
	for i := range int32(40) {
		r.values = append(r.values, []int32{(2*(i%2) - 1) * (table.Steps/2 + i), (2*(i%2) - 1) * (table.Steps / 4)})
	}
	form, err := pub.NewForm(s, false)
	if err != nil {
		t.Fatal(err)
	}
	model, err := Bayes(form, profileOf(t, r, form, nil, 0.1), pub.NaiveBayesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for y, x := range []float64{-.5, .5} {
		if got, err := model.Probabilities(schema.Row{{Number: x}, {}}, nil); err != nil || got[y] != slices.Max(got) {
			t.Errorf("%v is taken for class %v: %v", x, got, err)
		}
	}
}

// TestOtherProfiles are refused in words.
func TestOtherProfiles(t *testing.T) {
	r := fixed(2)
	form, err := pub.NewForm(r.s, false)
	if err != nil {
		t.Fatal(err)
	}
	for words, change := range map[string]func(*global.Group){
		"another schema":      func(g *global.Group) { g.Columns = g.Columns[1:] },
		"not grouped":         func(g *global.Group) { g.Columns[2].Statistic = global.Mode },
		"needs moments":       func(g *global.Group) { g.Columns[0].Statistic = global.Mean },
		"histograms of other": func(g *global.Group) { g.Columns[3].Statistic = global.Mode },
	} {
		p := profileOf(t, r, form, nil, 1)
		change(&p.Groups[0])
		if _, err := Bayes(form, p, pub.NaiveBayesOptions{}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want an error with %q, got %v", words, err)
		}
	}
}
