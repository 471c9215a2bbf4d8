package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/draw/drawtest"
	"github.com/sotto-dp/sotto/internal/private/internal/grader"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// mechanism is what a measurement does with drawn grades, in a form whose distribution is known
// exactly: cells, and the scale of their noise.
type mechanism struct {
	tables func(grades [][]int64) [][]int64
	scale  float64
	// also is released besides, without noise.
	also func(grades [][]int64) string
}

func runs(m Measure) mechanism {
	return mechanism{scale: m.Noise(), tables: func(v [][]int64) [][]int64 {
		if m.Labels == 0 {
			return tables(v)
		}
		return append(tables(v), byLabel(labelled(v), m.Labels))
	}}
}

// labelled are labels of records that say something of a last prompt: the first label, or the second.
func labelled(v [][]int64) (labels []int) {
	for _, g := range v[len(v)-1] {
		labels = append(labels, int(g/grader.One))
	}
	return labels
}

// counting counts records by two labels too.
func counting(m Measure) Measure {
	m.Labels = 2
	return m
}

// below is the probability that a cell of so many steps comes out below a whole number: its
// noise is continuous, rounded to steps, and the sum is rounded to whole numbers.
func below(cell, k int64, scale float64) float64 {
	// whole(cell + y) < k, where y is a step: y < k·One − One/2 − cell.
	x := (float64(k*grader.One-grader.One/2-cell) - 0.5) / grader.One / scale
	if x < 0 {
		return math.Exp(x) / 2
	}
	return 1 - math.Exp(-x)/2
}

// cellDistribution is that of a noisy cell, all below low and above high taken together: exact, as
// post-processing of what is released.
func cellDistribution(cell int64, scale float64) []float64 {
	const low, high = -1, 4
	out := []float64{below(cell, low+1, scale)}
	for k := int64(low + 1); k < high; k++ {
		out = append(out, below(cell, k+1, scale)-below(cell, k, scale))
	}
	return append(out, 1-below(cell, high, scale))
}

// distribution is that of what is released from units with these grades: grades[prompt][unit].
func (m mechanism) distribution(l scheme.Scheme, grades [][]int64) map[string]float64 {
	out := map[string]float64{}
	for _, o := range drawtest.Outcomes(l, len(grades[0])) {
		drawn := make([][]int64, len(grades))
		for p := range grades {
			drawn[p] = []int64{}
			for _, units := range o.Prompts {
				for _, u := range units {
					drawn[p] = append(drawn[p], grades[p][u])
				}
			}
		}
		name := ""
		if m.also != nil {
			name = m.also(drawn)
		}
		partial := map[string]float64{name: o.Probability}
		for _, table := range m.tables(drawn) {
			for _, cell := range table {
				next := make(map[string]float64, 8*len(partial))
				for at, p := range cellDistribution(cell, m.scale) {
					for name, q := range partial {
						next[name+string(rune('a'+at))] += p * q
					}
				}
				partial = next
			}
		}
		for name, p := range partial {
			out[name] += p
		}
	}
	return out
}

// excess is the least δ at which p and q are (ε,δ)-indistinguishable.
func excess(p, q map[string]float64, epsilon float64) float64 {
	one := func(p, q map[string]float64) (sum float64) {
		for x, px := range p {
			sum += max(0, px-math.Exp(epsilon)*q[x])
		}
		return sum
	}
	return max(one(p, q), one(q, p))
}

// world is what a few records say: others, and one that comes, or is exchanged.
func world(prompts, others int, fractional bool, random *rand.Rand) (with, without, instead [][]int64) {
	say := func() int64 {
		if fractional && random.IntN(2) == 0 {
			return random.Int64N(grader.One + 1)
		}
		return grader.One * random.Int64N(2)
	}
	for range prompts {
		var of []int64
		for range others {
			of = append(of, say())
		}
		g := say()
		without = append(without, of)
		with = append(with, append(append([]int64{}, of...), g))
		instead = append(instead, append(append([]int64{}, of...), grader.One-g))
	}
	return with, without, instead
}

// violation is by how much the distribution of a mechanism exceeds the event of a measurement, over
// worlds and ε; at most 0 if the event holds.
func violation(t *testing.T, m Measure, does mechanism, worlds int) float64 {
	t.Helper()
	worst := math.Inf(-1)
	adjacency := m.Draw.Adjacency()
	epsilons := []float64{0, 0.1, 0.5, 1, 2}
	var allowed []float64
	for _, epsilon := range epsilons {
		delta, err := accountant.Auto{}.Delta(m.Event(), adjacency, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		allowed = append(allowed, delta.Upper)
	}
	for seed := range worlds {
		random := rand.New(rand.NewPCG(uint64(seed), 3))
		others := 2
		with, without, instead := world(m.Prompts, others, m.Grade != Right, random)
		neighbour := without
		if adjacency == privacy.ReplaceOne {
			neighbour = instead
		}
		p, q := does.distribution(m.Draw, with), does.distribution(m.Draw, neighbour)
		for i, epsilon := range epsilons {
			worst = max(worst, excess(p, q, epsilon)-allowed[i])
		}
	}
	return worst
}

func settings(prompts int, scale float64, v Grade) Measure {
	return Measure{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.4}, Scale: scale, Prompts: prompts, Grade: v}
}

func exchanging(m Measure) Measure {
	m.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 2, Of: 3}
	return m
}

func always(m Measure) Measure {
	m.Draw.Rate = 1
	return m
}

const tiny = 1e-9 // rounding of sums

// TestDistribution compares exact distributions of what neighbouring data sets release with the event, with
// the code that fills the tables.
func TestDistribution(t *testing.T) { compare(t, 8) }

// TestLongDistribution has more data sets.
func TestLongDistribution(t *testing.T) { compare(t, 24) }

// compare tries so many data sets with each way of measuring.
func compare(t *testing.T, worlds int) {
	t.Helper()
	for _, m := range []Measure{
		settings(1, 1, Right), settings(1, 0.4, Right), always(settings(1, 1, Right)), settings(1, 1, Written), always(settings(1, 0.4, Written)),
		settings(2, 1, Right), settings(2, 0.5, Written), always(settings(2, 1, Written)),
		exchanging(settings(1, 1, Right)), exchanging(settings(2, 0.5, Written)),
		settings(3, 1, Right),
		counting(settings(1, 1, Right)), always(counting(settings(1, 0.7, Right))), counting(settings(2, 1, Right)), exchanging(counting(settings(1, 1, Right))),
	} {
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		n := worlds
		if m.Prompts == 3 {
			n = 3
		}
		if x := violation(t, m, runs(m), n); x > tiny {
			t.Errorf("%+v: the distribution needs %v more δ than its event %v", m, x, m.Event())
		}
	}
}

// TestTheEventIsTight: with a little less noise the event would not hold. (Where units are
// exchanged it is not tight: two cells that move by one each are distinguished less well than
// one that moves by two.)
func TestTheEventIsTight(t *testing.T) {
	for _, m := range []Measure{settings(1, 1, Right), always(settings(2, 1, Right))} {
		less := runs(m)
		less.scale *= 0.95
		if x := violation(t, m, less, 24); x <= tiny {
			t.Errorf("%+v: noise of scale ×0.95 would do", m)
		}
	}
}

// TestPlanted: the check of distributions finds each of these.
func TestPlanted(t *testing.T) {
	one, two := settings(1, 1, Right), settings(2, 1, Right)
	halved := runs(one)
	halved.scale /= 2
	counted := runs(one)
	counted.also = func(v [][]int64) string { return fmt.Sprint(len(v[0]), " ") }
	exchanged := runs(exchanging(one))
	exchanged.scale = one.Scale
	apart := mechanism{scale: 1, tables: func(v [][]int64) [][]int64 {
		return append(tables(v[:1]), tables(v[1:])...)
	}}
	above := mechanism{scale: 1, tables: func(v [][]int64) [][]int64 {
		table := make([]int64, 2)
		for _, g := range v[0] {
			table[0] += 2 * g // a grade of 2
			table[1] += grader.One - g
		}
		return [][]int64{table}
	}}
	free := runs(counting(always(one)))
	twice := mechanism{scale: 1, tables: func(v [][]int64) [][]int64 {
		table := byLabel(labelled(v), 2)
		return append(tables(v), []int64{table[0] + table[1], table[1]}) // each label, and those before it
	}}
	both := mechanism{scale: 1, tables: func(v [][]int64) [][]int64 {
		table := tables(v)[0]
		return [][]int64{append(table, table[0]+table[1])} // the number once more
	}}
	quotient := mechanism{scale: 1, tables: func(v [][]int64) [][]int64 {
		// The share of right answers, scaled to what three records would have: one record
		// moves it by more than one where few are drawn.
		table := tables(v)[0]
		if n := table[0] + table[1]; n > 0 {
			table[0], table[1] = 3*table[0]/(n/grader.One), 0
		}
		return [][]int64{table}
	}}
	for name, c := range map[string]struct {
		Measure
		mechanism
	}{
		"noise halved":                       {one, halved},
		"number of drawn records, exactly":   {one, counted},
		"exchange taken for more or less":    {exchanging(one), exchanged},
		"two tables charged as one":          {always(two), apart},
		"a grade of 2":                       {always(one), above},
		"the number released beside a table": {always(one), both},
		"share of the drawn records":         {one, quotient},
		"labels counted for nothing":         {always(one), free},
		"a record in two cells of labels":    {counting(always(one)), twice},
	} {
		if x := violation(t, c.Measure, c.mechanism, 24); x <= tiny {
			t.Errorf("%s is not found: %v", name, x)
		}
	}
}

// TestTablesCountOnce: whatever grades there are, also ones that no model may give, a
// record adds one in all to a table and nothing negative to a cell, and the prompts' grades
// can be read off.
func TestTablesCountOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		wild := func() int64 { return random.Int64N(3*grader.One) - grader.One }
		f, g := wild(), wild()
		for _, grades := range [][][]int64{{{f}}, {{f}, {g}}, {{f}, {g}, {f}}} {
			for p, table := range tables(grades) {
				var sum int64
				for _, cell := range table {
					if cell < 0 {
						t.Fatalf("%v: a cell of %d", grades, cell)
					}
					sum += cell
				}
				if sum != grader.One {
					t.Fatalf("%v: a record counts %d times 2^-20", grades, sum)
				}
				if len(table) == 2 && table[0] != clamp(grades[p][0]) {
					t.Fatalf("%v: %v", grades, table)
				}
				if len(table) == 4 && (table[0]+table[1] != clamp(f) || table[0]+table[2] != clamp(g)) {
					t.Fatalf("%v: %v", grades, table)
				}
			}
		}
	}
}

// TestLabelsCountOnce: a record adds one to the cell of its label, or nothing.
func TestLabelsCountOnce(t *testing.T) {
	for label, want := range map[int][]int64{-1: {0, 0, 0}, 0: {grader.One, 0, 0}, 2: {0, 0, grader.One}, 3: {0, 0, 0}} {
		if got := byLabel([]int{label}, 3); !slices.Equal(got, want) {
			t.Errorf("label %d: %v", label, got)
		}
	}
}

// TestRead: what is released is whole numbers, and of two prompts the counts of each follow
// from the table.
func TestRead(t *testing.T) {
	const half = grader.One / 2
	out, err := read([][]int64{{3*grader.One + half, 2*grader.One - half - 1, -half, -half - 1}}, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "*out.Pair", *out.Pair, (Pair{4, 1, 0, -1}))
	expect.Equal(t, "out.Counts[0]", out.Counts[0], (Count{5, -1}))
	expect.Equal(t, "out.Counts[1]", out.Counts[1], (Count{4, 0}))
	out, err = read([][]int64{{grader.One, 0}, {2 * grader.One, -half - 1, half}}, 1, 3)
	expect.NoError(t, err)
	expect.True(t, "out.Labels equal to []int64{2, -1, 1}", slices.Equal(out.Labels, []int64{2, -1, 1}), out.Labels, []int64{2, -1, 1})
	expect.Equal(t, "out.Counts[0]", out.Counts[0], (Count{1, 0}))
	for _, none := range [][][]int64{{}, {{1, 2}}} {
		if _, err := read(none, 1, 3); err == nil || !strings.Contains(err.Error(), "internal error") {
			t.Error(err)
		}
	}
	if _, err := read([][]int64{{1, 2}}, 3, 0); err == nil || !strings.Contains(err.Error(), "internal error") {
		t.Error(err)
	}
}
