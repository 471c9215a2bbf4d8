package global_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/schema"
)

// model is the law of what is released, computed exactly: which rows are used, what is
// added up of them (by the code that runs), and the noise on each number. Its outcomes are
// those of all numbers together, put into bins: post-processing, so that what the bins
// reveal is a lower bound on what the numbers do. Mutants change one part of it.
type model struct {
	settings global.Settings
	m        *global.Mechanism
	// event is what is claimed.
	event privacy.Event
	// cells adds up the rows that are used.
	cells func(rows []record) []int64
	// noise is how much there is on a number with a multiplier, as a multiple of what one
	// row can do; and whether there is some on a count of n.
	noise   func(multiplier float64) float64
	noiseOn func(n int64) bool
	// samples is the law of which units are used; bound that of a unit's rows.
	samples func(units [][]record) []chance
	bound   func(rows []record) []chance
	// together: the groups' counts have the same noise.
	together bool
	// exact is released without noise.
	exact func(cells []int64) int
}

// chance is a set of rows with its probability.
type chance struct {
	rows []record
	p    float64
}

func newModel(t *testing.T, s global.Settings) *model {
	m := newMechanism(t, s)
	out := &model{settings: m.Settings(), m: m, event: m.Event()}
	c := max(1, s.RowsPerUnit)
	out.cells = func(rows []record) []int64 { return global.CellsOf(sumsOf(t, m, rows)) }
	out.noise = func(multiplier float64) float64 { return multiplier * float64(c) }
	out.noiseOn = func(int64) bool { return true }
	out.samples = func(units [][]record) []chance { return poisson(units, m.Settings().Rate, out.bound) }
	out.bound = func(rows []record) []chance { return subsets(rows, c) }
	return out
}

// poisson keeps each unit with probability q, and then some of its rows.
func poisson(units [][]record, q float64, bound func([]record) []chance) []chance {
	out := []chance{{p: 1}}
	for _, u := range units {
		var next []chance
		for _, so := range out {
			if q < 1 {
				next = append(next, chance{so.rows, so.p * (1 - q)})
			}
			for _, b := range bound(u) {
				next = append(next, chance{append(slices.Clone(so.rows), b.rows...), so.p * q * b.p})
			}
		}
		out = next
	}
	return out
}

// subsets of c of the rows, all alike likely; all of them if there are no more.
func subsets(rows []record, c int) []chance {
	if len(rows) <= c {
		return []chance{{rows, 1}}
	}
	var out []chance
	for mask := range 1 << len(rows) {
		var pick []record
		for i, r := range rows {
			if mask>>i&1 == 1 {
				pick = append(pick, r)
			}
		}
		if len(pick) == c {
			out = append(out, chance{rows: pick})
		}
	}
	for i := range out {
		out[i].p = 1 / float64(len(out))
	}
	return out
}

// cdf of noise.
func cdf(n global.Noise, x, scale float64) float64 {
	if n == global.Gaussian {
		return math.Erfc(-x/scale/math.Sqrt2) / 2
	}
	if x < 0 {
		return math.Exp(x/scale) / 2
	}
	return 1 - math.Exp(-x/scale)/2
}

// binned is the law of a noisy number over bins whose right ends are width·k + ½, for k
// from −reach to reach, and one bin beyond.
func (mo *model) binned(at int64, scale float64, width, reach int64) []float64 {
	var out []float64
	before := 0.
	for k := -reach; k <= reach+1; k++ {
		upTo := 1.
		if k <= reach {
			x := float64(width*k-at) + 0.5
			if scale > 0 {
				upTo = cdf(mo.settings.Noise, x, scale)
			} else if x < 0 {
				upTo = 0
			}
		}
		out = append(out, upTo-before)
		before = upTo
	}
	return out
}

// numbers are the laws of all that is released of the rows that are used, each over its
// outcomes.
func (mo *model) numbers(rows []record) [][]float64 {
	var out [][]float64
	all := mo.cells(rows)
	n := mo.m.Cells()
	const reach = 4
	count := func(at int64, multiplier float64) {
		scale := mo.noise(multiplier)
		if !mo.noiseOn(at) {
			scale = 0
		}
		out = append(out, mo.binned(at, scale, 1, reach))
	}
	sum := func(at int64, multiplier float64) {
		out = append(out, mo.binned(at, mo.noise(multiplier)*global.Unit, global.Unit/2, 2*reach))
	}
	if mo.together {
		out = append(out, mo.shared(all[0], all[n], mo.noise(mo.settings.Count)))
	}
	for g := 0; g < len(all); g += n {
		cells := all[g : g+n]
		if mo.settings.Count > 0 && !mo.together {
			count(cells[0], mo.settings.Count)
		}
		next := 1
		l := mo.m.Layout()
		for _, i := range l.Sums {
			sum(mo.m.Sum(i, cells[next], cells[0]), mo.settings.Columns[i].Multiplier)
			if c := mo.settings.Columns[i].Count; c > 0 {
				count(cells[0], c)
			}
			next++
		}
		for _, i := range l.Squares {
			sum(global.Coarse(cells[next]), mo.settings.Columns[i].Squares)
			next++
		}
		for _, h := range l.Histograms {
			c := mo.settings.Columns[h.Column]
			counts := cells[next : next+h.Cells]
			next += h.Cells
			if c.Statistic == global.Mode && c.Range > 0 {
				out = append(out, mo.drawn(counts, c.Range/mo.noise(1)))
				continue
			}
			if c.Statistic != global.Quantiles {
				for _, k := range counts {
					count(k, c.Multiplier)
				}
				continue
			}
			for _, q := range c.Quantiles {
				share := int64(math.Round(1000 * q))
				rate := c.Range / (2 * float64(max(share, 1000-share)) * mo.noise(1))
				out = append(out, softmax(global.RankScores(counts, share), rate))
			}
		}
	}
	if mo.exact != nil {
		law := make([]float64, 2)
		law[mo.exact(all)] = 1
		out = append(out, law)
	}
	return out
}

// shared is the joint law of two counts with the same noise.
func (mo *model) shared(a, b int64, scale float64) []float64 {
	const reach = 8
	out := make([]float64, (2*reach+1)*(2*reach+1))
	for y := int64(-reach); y <= reach; y++ {
		x, z := a+y, b+y
		if max(x, -x, z, -z) <= reach {
			out[(x+reach)*(2*reach+1)+z+reach] = cdf(mo.settings.Noise, float64(y)+0.5, scale) - cdf(mo.settings.Noise, float64(y)-0.5, scale)
		}
	}
	return out
}

// drawn is the law of a value that is drawn by counts: uniform among those whose coin
// shows heads, or ∝ exp beside Gaussian noise.
func (mo *model) drawn(counts []int64, rate float64) []float64 {
	if mo.settings.Noise == global.Gaussian {
		return softmax(counts, rate)
	}
	highest, out := slices.Max(counts), make([]float64, len(counts))
	for heads := range 1 << len(counts) {
		p, n := 1., 0.
		for i, k := range counts {
			if h := math.Exp(rate * float64(k-highest)); heads>>i&1 == 1 {
				p *= h
				n++
			} else {
				p *= 1 - h
			}
		}
		for i := range counts {
			if heads>>i&1 == 1 {
				out[i] += p / n
			}
		}
	}
	return out
}

func softmax(scores []int64, rate float64) []float64 {
	out, total := make([]float64, len(scores)), 0.
	for i, s := range scores {
		out[i] = math.Exp(rate * float64(s))
		total += out[i]
	}
	for i := range out {
		out[i] /= total
	}
	return out
}

// law is the joint law of all numbers.
func (mo *model) law(units [][]record) []float64 {
	var out []float64
	for _, so := range mo.samples(units) {
		joint := []float64{so.p}
		for _, one := range mo.numbers(so.rows) {
			next := make([]float64, 0, len(joint)*len(one))
			for _, p := range joint {
				for _, q := range one {
					next = append(next, p*q)
				}
			}
			joint = next
		}
		if out == nil {
			out = make([]float64, len(joint))
		}
		for i, p := range joint {
			out[i] += p
		}
	}
	return out
}

// audit compares the laws of all neighbouring tables of up to n units with what the event
// says: at some ε, the δ of the laws must not be above the accountant's. It returns the
// first violation, and the largest log-ratio that it has seen.
func (mo *model) audit(t *testing.T, kinds [][]record, n int) (string, float64) {
	type point struct{ epsilon, delta float64 }
	event, adj := mo.event, mo.settings.Adjacency
	var points []point
	for _, e := range []float64{0, 0.25, 0.5, 1, 1.5, 2, 3} {
		d, err := accountant.PLD{Tolerance: 1e-3}.Delta(event, adj, e)
		if err != nil {
			t.Fatal(err)
		}
		points = append(points, point{e, d.Upper})
	}
	if mo.settings.Noise != global.Gaussian {
		e, err := accountant.Auto{}.Epsilon(event, adj, 0)
		if err != nil {
			t.Fatal(err)
		}
		points = append(points, point{e.Upper, 0})
	}
	largest, wrong := 0., ""
	laws := map[string][]float64{}
	law := func(u [][]record) []float64 {
		key := fmt.Sprint(u)
		if laws[key] == nil {
			laws[key] = mo.law(u)
		}
		return laws[key]
	}
	compare := func(a, b [][]record) {
		p, q := law(a), law(b)
		for i := range p {
			if p[i] > 1e-13 {
				largest = max(largest, math.Log(p[i]/q[i]))
			}
		}
		for _, at := range points {
			delta, factor := 0., math.Exp(at.epsilon)
			for i := range p {
				delta += max(0, p[i]-factor*q[i])
			}
			if delta > at.delta+1e-9 && wrong == "" {
				wrong = fmt.Sprintf("%v against %v: δ = %v at ε = %v, and %v allows %v", a, b, delta, at.epsilon, event, at.delta)
			}
		}
	}
	tables(kinds, n, func(table [][]record) {
		for i := range table {
			without := slices.Delete(slices.Clone(table), i, i+1)
			if adj == privacy.AddRemove {
				compare(table, without)
				compare(without, table)
				continue
			}
			for _, k := range kinds {
				other := append(slices.Clone(without), k)
				compare(table, other)
			}
		}
	})
	return wrong, largest
}

// tables of 1 to n units, of the kinds there are.
func tables(kinds [][]record, n int, visit func([][]record)) {
	var grow func(table [][]record, from int)
	grow = func(table [][]record, from int) {
		if len(table) > 0 {
			visit(table)
		}
		if len(table) == n {
			return
		}
		for k := from; k < len(kinds); k++ {
			grow(append(slices.Clone(table), kinds[k]), k)
		}
	}
	grow(nil, 0)
}

// Rows that are as far from each other as can be.
var (
	yes     = record{0: -table.Steps, 1: -table.Steps, 4: 0}
	yesHigh = record{0: table.Steps, 1: table.Steps, 2: 1, 4: 0}
	no      = record{0: -table.Steps, 1: table.Steps, 4: 1}
	noMid   = record{0: 0, 1: 0, 2: 1, 4: 1}
)

func alone(rows ...record) [][]record {
	var out [][]record
	for _, r := range rows {
		out = append(out, []record{r})
	}
	return out
}

func nothing(count float64, columns ...global.Column) global.Settings {
	s := global.Settings{Count: count}
	for _, name := range []string{"x", "z", "kind", "one", "y"} {
		c := global.Column{Name: name, Statistic: global.Skip}
		for _, o := range columns {
			if o.Name == name {
				c = o
			}
		}
		s.Columns = append(s.Columns, c)
	}
	return s
}

func grouped(s global.Settings, columns ...string) global.Settings {
	for _, c := range columns {
		s.Groups = append(s.Groups, schema.Group{Column: c})
	}
	return s
}

func with(s global.Settings, change func(*global.Settings)) global.Settings {
	change(&s)
	return s
}
