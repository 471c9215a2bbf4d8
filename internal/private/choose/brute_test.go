package choose

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/draw/drawtest"
	"github.com/sotto-dp/sotto/internal/private/internal/grader"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// one and half are grades.
const (
	one  = grader.One
	half = grader.One / 2
)

// views are what a record says about the candidates of the first round, and then, by the
// first winner, about those of the second.
type views [][]int64

// unit has records of which one stands for it in a draw.
type unit []views

// distribution has the probability of each thing that may be released: winners, one after the
// other. A name with ! at its end has no further round.
type distribution map[string]float64

// trial is what runs. The zero value of all but Choice is what package choose does;
// planted bugs change a part.
type trial struct {
	Choice
	// release is the distribution of what a round lets out.
	release func(c Choice, candidates int, drawn [][]int64) distribution
	// whole units are drawn, not one record of each.
	whole bool
	// kept draws serve both rounds.
	kept bool
	// drawing is what draws, if it is not what is declared.
	drawing scheme.Scheme
	// known are the distributions of rounds so far.
	known map[string]distribution
}

// exponential is the distribution of a round's winner: the sum, rate and grid are the program's.
func exponential(c Choice, candidates int, drawn [][]int64) distribution {
	return softmax(c.rate(), sums(turned(candidates, drawn)))
}

// turned lists grades by candidate.
func turned(candidates int, drawn [][]int64) [][]int64 {
	out := make([][]int64, candidates)
	for i := range out {
		for _, d := range drawn {
			out[i] = append(out[i], d[i])
		}
	}
	return out
}

func softmax(rate float64, utilities []int64) distribution {
	out, total := distribution{}, 0.0
	top := slices.Max(utilities)
	for i, u := range utilities {
		w := math.Exp(rate * float64(u-top) / one)
		out[fmt.Sprint(i)], total = w, total+w
	}
	for name := range out {
		out[name] /= total
	}
	return out
}

// outcome is what a draw may give: the records that stand for units.
type outcome struct {
	probability float64
	records     []views
}

func (m trial) draws(units []unit) []outcome {
	var out []outcome
	drawing := m.Draw
	if m.drawing != (scheme.Scheme{}) {
		drawing = m.drawing
	}
	for _, o := range drawtest.Outcomes(drawing, len(units)) {
		list := []outcome{{probability: o.Probability}}
		for _, at := range slices.Concat(o.Prompts...) {
			var next []outcome
			for _, d := range list {
				if m.whole {
					next = append(next, outcome{d.probability, slices.Concat(d.records, units[at])})
					continue
				}
				for _, r := range units[at] {
					next = append(next, outcome{d.probability / float64(len(units[at])), append(slices.Clone(d.records), r)})
				}
			}
			list = next
		}
		out = append(out, list...)
	}
	return out
}

// seen are the grades in a round.
func (d outcome) seen(view int) [][]int64 {
	var out [][]int64
	for _, r := range d.records {
		out = append(out, r[view])
	}
	return out
}

func (m trial) released(candidates int, grades [][]int64) distribution {
	if m.release == nil {
		return exponential(m.Choice, candidates, grades)
	}
	return m.release(m.Choice, candidates, grades)
}

// round is the distribution of what a round with a draw of its own lets out.
func (m trial) round(candidates int, units []unit, view int) distribution {
	var key []byte
	for _, u := range units {
		key = append(key, byte(len(u)))
		for _, r := range u {
			for _, g := range r[view] {
				key = binary.LittleEndian.AppendUint32(key, uint32(g))
			}
		}
	}
	if out, ok := m.known[string(key)]; ok {
		return out
	}
	out := distribution{}
	for _, d := range m.draws(units) {
		for name, p := range m.released(candidates, d.seen(view)) {
			out[name] += d.probability * p
		}
	}
	m.known[string(key)] = out
	return out
}

// distribution of all that is released about some units.
func (m trial) distribution(candidates int, units []unit) distribution {
	if m.kept && m.Rounds == 2 {
		out := distribution{}
		for _, d := range m.draws(units) {
			m.then(out, d.probability, m.released(candidates, d.seen(0)), func(view int) distribution { return m.released(candidates, d.seen(view)) })
		}
		return out
	}
	first := m.round(candidates, units, 0)
	if m.Rounds == 1 {
		return first
	}
	out := distribution{}
	m.then(out, 1, first, func(view int) distribution { return m.round(candidates, units, view) })
	return out
}

// then resumes after a first round.
func (m trial) then(out distribution, probability float64, first distribution, second func(view int) distribution) {
	for name, p := range first {
		if strings.HasSuffix(name, "!") {
			out[name] += probability * p
			continue
		}
		for last, q := range second(1 + int(name[0]-'0')) {
			out[name+last] += probability * p * q
		}
	}
}

// world is a small set of units that data sets are made of: all of them.
type world struct {
	candidates int
	units      []unit
	// others that a data set has beside the unit that comes and goes, at most; exactly so
	// many where it is exchanged.
	others int
}

// levels of ε at which divergences are compared.
var levels = []float64{0, 0.1, 0.3, 0.7, 1.2, 2, 3}

// declared has δ by ε: of the levels, and for some δ what the accountant gives as ε.
func (m trial) declared(t testing.TB) map[float64]float64 {
	t.Helper()
	a, out := accountant.Auto{Tolerance: 0.005}, map[float64]float64{}
	for _, epsilon := range levels {
		d, err := a.Delta(m.Event(), m.Draw.Adjacency(), epsilon)
		if err != nil {
			t.Fatal(err)
		}
		out[epsilon] = d.Upper
	}
	for _, delta := range []float64{1e-6, 1e-2} {
		e, err := a.Epsilon(m.Event(), m.Draw.Adjacency(), delta)
		if err != nil {
			t.Fatal(err)
		}
		out[e.Upper] = delta
	}
	return out
}

// worst is the largest ratio of what is revealed to what is declared, over all pairs of
// adjacent data sets and levels: what was declared is exceeded when it is above one.
// Divergences below 1e-12 are rounding.
func (m trial) worst(t testing.TB, w world) float64 {
	t.Helper()
	m.known = map[string]distribution{}
	exchange := m.Draw.Adjacency() == privacy.ReplaceOne
	bounds := m.declared(t)
	worst := 0.0
	compare := func(p, q distribution) {
		for epsilon, delta := range bounds {
			worst = max(worst, (max(divergence(p, q, epsilon), divergence(q, p, epsilon))-1e-12)/delta)
		}
	}
	lowest := 0
	if exchange {
		lowest = w.others
	}
	for n := lowest; n <= w.others; n++ {
		for others := range multisets(len(w.units), n) {
			units := make([]unit, 0, n+1)
			for _, at := range others {
				units = append(units, w.units[at])
			}
			var distributions []distribution
			for _, u := range w.units {
				distributions = append(distributions, m.distribution(w.candidates, append(units, u)))
			}
			if !exchange {
				distributions = append(distributions, m.distribution(w.candidates, units))
			}
			last := distributions[len(distributions)-1]
			total := 0.0
			for _, p := range last {
				total += p
			}
			if math.Abs(total-1) > 1e-9 {
				t.Fatalf("probabilities add up to %v", total)
			}
			for i, p := range distributions {
				if !exchange {
					compare(p, last)
					continue
				}
				for _, q := range distributions[:i] {
					compare(p, q)
				}
			}
		}
	}
	return worst
}

func divergence(p, q distribution, epsilon float64) float64 {
	sum := 0.0
	for name, x := range p {
		sum += max(0, x-math.Exp(epsilon)*q[name])
	}
	return sum
}

// multisets of n of the numbers below kinds, in ascending order.
func multisets(kinds, n int) func(func([]int) bool) {
	return func(yield func([]int) bool) {
		list := make([]int, n)
		for {
			if !yield(list) {
				return
			}
			at := n - 1
			for at >= 0 && list[at] == kinds-1 {
				at--
			}
			if at < 0 {
				return
			}
			next := list[at] + 1
			for ; at < n; at++ {
				list[at] = next
			}
		}
	}
}

// vectors are all lists of so many of some grades.
func vectors(candidates int, grades ...int64) [][]int64 {
	out := [][]int64{nil}
	for range candidates {
		var next [][]int64
		for _, v := range out {
			for _, g := range grades {
				next = append(next, append(slices.Clone(v), g))
			}
		}
		out = next
	}
	return out
}

// records are all that say one of these vectors in each of so many views.
func records(n int, vectors [][]int64) []views {
	out := []views{nil}
	for range n {
		var next []views
		for _, r := range out {
			for _, v := range vectors {
				next = append(next, append(slices.Clone(r), v))
			}
		}
		out = next
	}
	return out
}

// alone are units of one record each, and paired those of one or two.
func alone(list []views) (out []unit) {
	for _, r := range list {
		out = append(out, unit{r})
	}
	return out
}

func paired(list []views) []unit {
	out := alone(list)
	for i, a := range list {
		for _, b := range list[:i+1] {
			out = append(out, unit{a, b})
		}
	}
	return out
}

var (
	poisson = scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.4}
	often   = scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 1}
	exact   = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 2, Of: 3}
	all     = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 3, Of: 3}

	// Of two candidates, and what a record may say of them in two rounds.
	yesNo  = vectors(2, 0, one)
	sides  = [][]int64{{one, 0}, {0, one}, {0, 0}}
	single = world{candidates: 2, units: alone(records(1, yesNo)), others: 2}
	double = world{candidates: 2, units: alone(records(3, sides)), others: 2}
)

func choice(l scheme.Scheme, rounds int64, c float64) Choice {
	return Choice{Draw: l, Rounds: rounds, Range: c, Utility: Hard}
}

// TestPlainWholeMechanism computes the exact distribution of the winners of one and two rounds for all
// adjacent data sets of tiny worlds, draws included, and holds their divergence against
// what the accountant makes of the declared event.
func TestPlainWholeMechanism(t *testing.T) {
	three := world{candidates: 3, units: alone(records(1, vectors(3, 0, half, one))), others: 2}
	for name, c := range map[string]struct {
		Choice
		world
	}{
		"one round":                           {choice(poisson, 1, 1.2), single},
		"one round, everybody":                {choice(often, 1, 1.2), single},
		"one round, three candidates":         {choice(poisson, 1, 1.2), three},
		"one round, hardly any noise":         {choice(poisson, 1, 9), three},
		"one round, fixed size":               {choice(exact, 1, 1.2), three},
		"one round, units of several records": {choice(poisson, 1, 1.2), world{candidates: 2, units: paired(records(1, yesNo)), others: 2}},
		"one round, units and finer grades":   {choice(poisson, 1, 1.2), world{candidates: 2, units: paired(records(1, vectors(2, 0, half, one))), others: 1}},
		"one round, exchanged units":          {choice(exact, 1, 1.2), world{candidates: 2, units: paired(records(1, yesNo)), others: 2}},
		"two rounds":                          {choice(poisson, 2, 1.2), double},
		"two rounds, seldom":                  {choice(scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.05}, 2, 3), double},
		"two rounds, fixed size":              {choice(exact, 2, 1.2), double},
		"two rounds, everybody, exchanged":    {choice(all, 2, 1.2), double},
		"two rounds, units":                   {choice(poisson, 2, 1.2), world{candidates: 2, units: paired(records(3, sides[:2])), others: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.Choice.Check(); err != nil {
				t.Fatal(err)
			}
			worst := trial{Choice: c.Choice}.worst(t, c.world)
			t.Logf("reaches %.3f of what is declared", worst)
			if worst > 1 {
				t.Errorf("winners reveal %.3f times what is declared", worst)
			}
			// A check that nothing could fail would prove nothing.
			if worst < 0.4 {
				t.Errorf("winners reveal %.3f of what is declared: the worlds are too kind", worst)
			}
		})
	}
}
