package choose

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/grader"
	"github.com/sotto-dp/sotto/privacy"
)

// The bugs. Each declares what package choose does and does something that costs more.

// shares are utilities over the number of records that were drawn, and not of those that
// are expected.
func shares(expected float64) func(Choice, int, [][]int64) distribution {
	return func(c Choice, candidates int, drawn [][]int64) distribution {
		return softmax(c.rate()*expected/float64(max(1, len(drawn))), sums(turned(candidates, drawn)))
	}
}

// dropped leaves out candidates that have less than half of what the best has.
func dropped(c Choice, candidates int, drawn [][]int64) distribution {
	utilities := sums(turned(candidates, drawn))
	out, total := distribution{}, 0.0
	for name, p := range softmax(c.rate(), utilities) {
		if 2*utilities[name[0]-'0'] >= slices.Max(utilities) {
			out[name], total = p, total+p
		}
	}
	for name := range out {
		out[name] /= total
	}
	return out
}

// early ends the search where a candidate looks good.
func early(c Choice, candidates int, drawn [][]int64) distribution {
	utilities := sums(turned(candidates, drawn))
	out := softmax(c.rate(), utilities)
	if slices.Max(utilities) < 2*one {
		return out
	}
	ended := distribution{}
	for name, p := range out {
		ended[name+"!"] = p
	}
	return ended
}

// tied takes candidates of equal utility for one, the first that a record is for.
func tied(c Choice, candidates int, drawn [][]int64) distribution {
	utilities := sums(turned(candidates, drawn))
	var order []int
	for _, d := range drawn {
		for i, g := range d {
			if g > 0 && !slices.Contains(order, i) {
				order = append(order, i)
			}
		}
	}
	for i := range utilities {
		if !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	var kept []int
	var of []int64
	for _, i := range order {
		if !slices.Contains(of, utilities[i]) {
			kept, of = append(kept, i), append(of, utilities[i])
		}
	}
	out := distribution{}
	for name, p := range softmax(c.rate(), of) {
		out[fmt.Sprint(kept[name[0]-'0'])] = p
	}
	return out
}

// loud lets grades be above one, as a mean of what a model calls probabilities may be.
func loud(c Choice, candidates int, drawn [][]int64) distribution {
	return softmax(1.5*c.rate(), sums(turned(candidates, drawn)))
}

// unhalved takes an exchange for a record more or less.
func unhalved(c Choice, candidates int, drawn [][]int64) distribution {
	return softmax(c.Range, sums(turned(candidates, drawn)))
}

// failing raises an error at a record that does not fit, which says 0 of all.
func failing(c Choice, candidates int, drawn [][]int64) distribution {
	for _, d := range drawn {
		if slices.Max(d) == 0 {
			return distribution{"error!": 1}
		}
	}
	return exponential(c, candidates, drawn)
}

// calibrated takes grades for the probability of one of two labels, and divides it by
// what it is on average over the records that were drawn.
func calibrated(c Choice, candidates int, drawn [][]int64) distribution {
	grades := turned(candidates, drawn)
	for i, utility := range sums(grades) {
		weight := float64(utility) / one / float64(max(1, len(drawn)))
		for r, g := range grades[i] {
			p := float64(g) / one
			yes, no := p*(1-weight), (1-p)*weight
			grades[i][r] = int64(one * yes / max(yes+no, 1e-9))
		}
	}
	return softmax(c.rate(), sums(grades))
}

// counted tells beside the winner whether many records were drawn.
func counted(c Choice, candidates int, drawn [][]int64) distribution {
	out := distribution{}
	for name, p := range exponential(c, candidates, drawn) {
		out[fmt.Sprint(name, " of ", len(drawn), "!")] = p
	}
	return out
}

// twice looks a second time, with other noise, if the winner is not what most are for.
func twice(c Choice, candidates int, drawn [][]int64) distribution {
	utilities := sums(turned(candidates, drawn))
	first := softmax(c.rate(), utilities)
	out := distribution{}
	for name, p := range first {
		if utilities[name[0]-'0'] == slices.Max(utilities) {
			out[name] += p
			continue
		}
		for again, q := range first {
			out[again] += p * q
		}
	}
	return out
}

// TestPlantedMechanisms: the check of whole mechanisms finds every one of these.
func TestPlantedMechanisms(t *testing.T) {
	fine := world{candidates: 2, units: alone(records(1, vectors(2, 0, half, one))), others: 2}
	sure := world{candidates: 2, units: alone(records(1, vectors(2, 0, one/64, half, one-one/64))), others: 2}
	// Of many candidates one is seldom chosen, unless a record is for it in every round.
	many := world{candidates: 8, units: alone([]views{slices.Repeat(views{{one, 0, 0, 0, 0, 0, 0, 0}}, 9)})}
	persons := world{candidates: 2, units: paired(records(1, yesNo)), others: 1}
	seldom := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.1}
	for bug, c := range map[string]struct {
		trial
		world
		// none is the same trial without the bug.
		none func(trial) trial
	}{
		"utilities over the number that was drawn":        {trial{Choice: choice(often, 1, 1.2), release: shares(2)}, single, right},
		"the same, where few are drawn":                   {trial{Choice: choice(poisson, 1, 1.2), release: shares(1.2)}, fine, right},
		"a candidate dropped after looking":               {trial{Choice: choice(poisson, 1, 1.2), release: dropped}, single, right},
		"a search that ends when it looks good":           {trial{Choice: choice(poisson, 2, 1.2), release: early}, double, right},
		"ties in the order of records":                    {trial{Choice: choice(often, 1, 1.2), release: tied}, single, right},
		"grades above one":                                {trial{Choice: choice(poisson, 1, 1.2), release: loud}, single, right},
		"one draw for two rounds":                         {trial{Choice: choice(seldom, 2, 3), kept: true}, many, func(m trial) trial { m.kept = false; return m }},
		"exchange taken for more or less":                 {trial{Choice: choice(all, 1, 1.2), release: unhalved}, world{candidates: 2, units: single.units, others: 2}, right},
		"all records of a unit":                           {trial{Choice: choice(often, 1, 1.2), whole: true}, persons, func(m trial) trial { m.whole = false; return m }},
		"all records of an exchanged unit":                {trial{Choice: choice(all, 1, 1.2), whole: true}, world{candidates: 2, units: persons.units, others: 2}, func(m trial) trial { m.whole = false; return m }},
		"an error about a record that does not fit":       {trial{Choice: choice(poisson, 1, 1.2), release: failing}, single, right},
		"weights of calibration from the records":         {trial{Choice: choice(often, 1, 1.2), release: calibrated}, sure, right},
		"the number of drawn records told":                {trial{Choice: choice(poisson, 1, 1.2), release: counted}, single, right},
		"a second look at a winner that few are for":      {trial{Choice: choice(often, 1, 1.2), release: twice}, single, right},
		"more rounds than were paid for":                  {trial{Choice: choice(poisson, 1, 1.2), release: again(exponential)}, single, right},
		"a rate of sampling above the one that is stated": {trial{Choice: choice(seldom, 1, 1.2), release: nil}, single, nil},
	} {
		if c.none != nil {
			if worst := c.none(c.trial).worst(t, c.world); worst > 1 {
				t.Errorf("%s: without it, %.3f of what is declared is revealed", bug, worst)
			}
		} else {
			c.trial = oversampled(c.trial)
		}
		if worst := c.worst(t, c.world); worst <= 1 {
			t.Errorf("%s: not found, it reaches %.3f of what is declared", bug, worst)
		}
	}
}

// right is the trial with the program's own round.
func right(m trial) trial {
	m.release = nil
	return m
}

// again chooses twice from the same draw and lets out both.
func again(f func(Choice, int, [][]int64) distribution) func(Choice, int, [][]int64) distribution {
	return func(c Choice, candidates int, drawn [][]int64) distribution {
		out := distribution{}
		for a, p := range f(c, candidates, drawn) {
			for b, q := range f(c, candidates, drawn) {
				out[a+b] += p * q
			}
		}
		return out
	}
}

// oversampled draws at four times the rate that is declared.
func oversampled(m trial) trial {
	m.drawing = m.Draw
	m.drawing.Rate *= 4
	return m
}

// TestRange: between drawn records with and without one, or with another in its place, the
// probabilities of any two candidates move against each other by e^Range at most. That is
// bounded range, which the event states.
func TestRange(t *testing.T) {
	for name, l := range map[string]scheme.Scheme{"more or less": poisson, "exchanged": exact} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c := choice(l, 1, rapid.Float64Range(0.01, 20).Draw(t, "range"))
				candidates := rapid.IntRange(2, 6).Draw(t, "candidates")
				grades := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, one), rapid.SampledFrom([]int64{0, one})), candidates, candidates)
				others := rapid.SliceOfN(grades, 0, 5).Draw(t, "others")
				with, without := append(slices.Clone(others), grades.Draw(t, "record")), others
				if c.Draw.Adjacency() == privacy.ReplaceOne {
					without = append(slices.Clone(others), grades.Draw(t, "other record"))
				}
				first, second := sums(turned(candidates, with)), sums(turned(candidates, without))
				var moves []float64
				for i := range first {
					moves = append(moves, c.rate()*float64(first[i]-second[i])/one)
				}
				width := slices.Max(moves) - slices.Min(moves)
				if width > c.Range {
					t.Fatalf("log-probabilities move against each other by %v, declared is %v", width, c.Range)
				}
				p, q := softmax(c.rate(), first), softmax(c.rate(), second)
				highest, lowest := math.Inf(-1), math.Inf(1)
				for i := range candidates {
					if at := fmt.Sprint(i); p[at] > 1e-100 && q[at] > 1e-100 {
						highest, lowest = max(highest, p[at]/q[at]), min(lowest, p[at]/q[at])
					}
				}
				if highest/lowest > math.Exp(c.Range)*(1+1e-9) {
					t.Fatalf("ratios of probabilities are %v and %v apart, declared is %v", highest, lowest, math.Exp(c.Range))
				}
			})
		})
	}
}

// TestSums: nothing but addition, of numbers that cannot overflow: more than 2^40 records
// would have to be drawn.
func TestSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.IntRange(0, 9).Draw(t, "records")
		grades := rapid.SliceOfN(rapid.SliceOfN(rapid.Int64Range(0, one), records, records), 1, 5).Draw(t, "grades")
		for i, u := range sums(grades) {
			for _, g := range grades[i] {
				u -= g
			}
			if u != 0 {
				t.Fatalf("utility %d is off by %d", i, u)
			}
		}
	})
	if math.MaxInt64/one < 1<<40 || grader.One != 1<<grader.Fine {
		t.Error("utilities may overflow")
	}
	if s := (Choice{}).Proof(); !strings.Contains(s, "bounded range") {
		t.Errorf("the proof does not say what the event says: %s", s)
	}
}
