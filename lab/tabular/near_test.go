package tabular_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/tabular"
	"github.com/sotto-dp/sotto/prompt"
)

// agree returns how often demonstrations have the answer of their question, the mean over
// both answers: a half if they have nothing to do with it.
func agree(t *testing.T, table *tabular.Table, each [][]prompt.Example) float64 {
	t.Helper()
	hits, all := map[string]float64{}, map[string]float64{}
	for i, item := range table.Items() {
		for _, d := range each[i] {
			all[item.Output]++
			if d.Output == item.Output {
				hits[item.Output]++
			}
		}
	}
	if len(all) != 2 {
		t.Fatalf("%d answers", len(all))
	}
	mean := 0.
	for answer, n := range all {
		mean += hits[answer] / n / 2
	}
	return mean
}

// same is in how many of the questions' words of values a demonstration agrees, on average.
func same(table *tabular.Table, each [][]prompt.Example) (share float64) {
	for i, item := range table.Items() {
		for _, d := range each[i] {
			a, b := strings.Fields(item.Input), strings.Fields(d.Input)
			n := 0.
			for k := range min(len(a), len(b)) {
				if a[k] == b[k] {
					n++
				}
			}
			share += n / float64(max(len(a), len(b))) / float64(len(each[i])*len(each))
		}
	}
	return share
}

// TestNear: demonstrations near a question resemble it, and have its answer more often than
// others do.
func TestNear(t *testing.T) {
	table := loans(t, true)
	const shots = 8
	l, err := tabular.NewLocal(t.Context(), table, tabular.LocalOptions{Epsilon: math.Inf(1), Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	d, err := tabular.NewDrawn(t.Context(), table, tabular.GlobalOptions{Epsilon: 2, Size: trained}, 2)
	if err != nil {
		t.Fatal(err)
	}
	g := d.Guarantee
	expect.Within(t, "g.Epsilon", g.Epsilon, 1.99, 2+1e-9)
	expect.Equal(t, "g.Delta", g.Delta, 0)
	expect.Equal(t, "g.Adjacency", g.Adjacency, "add-remove")
	for name, from := range map[string]*tabular.Distribution{"local": l, "drawn": d} {
		plain := from.Demos(len(table.Test), shots)
		near, err := from.Near(table.Test, 0.03, shots)
		if err != nil {
			t.Fatal(err)
		}
		again, err := from.Near(table.Test[:3], 0.03, shots)
		if err != nil || !slices.EqualFunc(again, near[:3], slices.Equal) {
			t.Errorf("%s: other demonstrations from the same seed, %v", name, err)
		}
		if a, b := agree(t, table, plain), agree(t, table, near); b < a+0.05 {
			t.Errorf("%s: %v of the answers are those of the questions, and %v near them", name, a, b)
		}
		if a, b := same(table, plain), same(table, near); b < a+0.05 {
			t.Errorf("%s: %v of the words are those of the questions, and %v near them", name, a, b)
		}
		if _, err := from.Near(table.Test, 2, shots); err == nil {
			t.Errorf("%s: a mismatch of 2 was taken", name)
		}
	}
}

// TestDrawnWithoutNoise: answers come as often as they do in the table.
func TestDrawnWithoutNoise(t *testing.T) {
	table := loans(t, true)
	d, err := tabular.NewDrawn(t.Context(), table, tabular.GlobalOptions{Epsilon: math.Inf(1), Size: trained}, 1)
	if err != nil || d.Guarantee != nil {
		t.Fatal(d.Guarantee, err)
	}
	// Of n draws a share is off by more than √(ln(2/1e-9·k)/2n) with a probability below 1e-9,
	// k shares together (Hoeffding 1963).
	const n = 20_000
	each := d.Demos(n, 1)
	answers, want := map[string]float64{}, map[string]float64{}
	words := table.Schema.Wording()
	for _, row := range table.Train {
		want[words.Answer(row)] += 1. / trained
	}
	for _, demos := range each {
		answers[demos[0].Output] += 1. / n
	}
	bound := math.Sqrt(math.Log(2*float64(len(want))/1e-9) / (2 * n))
	for answer, p := range want {
		if math.Abs(answers[answer]-p) > bound {
			t.Errorf("%s comes in %v of the draws, and in %v of the rows", answer, answers[answer], p)
		}
	}
	if bound > 0.03 {
		t.Errorf("a share off by %v would be accepted", bound)
	}
}

// TestDrawnNoise: with little ε, what is drawn says less of the answer.
func TestDrawnNoise(t *testing.T) {
	table := loans(t, true)
	var shares []float64
	for _, epsilon := range []float64{1e-3, 5} {
		d, err := tabular.NewDrawn(t.Context(), table, tabular.GlobalOptions{Epsilon: epsilon, Size: trained}, 3)
		if err != nil {
			t.Fatal(err)
		}
		each, err := d.Near(table.Test, 0.03, 8)
		if err != nil {
			t.Fatal(err)
		}
		shares = append(shares, agree(t, table, each))
	}
	if shares[0] > shares[1]-0.03 {
		t.Errorf("answers agree with the questions' in %v of cases at ε = 0.001 and 5", shares)
	}
}

// TestRealNear: the nearest rows are there, each once, the nearest last.
func TestRealNear(t *testing.T) {
	for _, discrete := range []bool{true, false} {
		table := loans(t, discrete)
		table.Train, table.Test = table.Train[:300], table.Train[:40] // each test row is its own nearest
		each, err := tabular.RealNear(table, 1e-9, 4, 1)
		if err != nil {
			t.Fatal(err)
		}
		items := table.Items()
		for i, demos := range each {
			if len(demos) != 4 || demos[3].Input != items[i].Input {
				t.Errorf("discrete %v: %q is not next to %q", discrete, demos[len(demos)-1].Input, items[i].Input)
			}
		}
		if a, b := same(table, must(tabular.RealNear(table, 1, 4, 1))), same(table, each); b < a+0.05 {
			t.Errorf("discrete %v: %v of the words are those of the questions, and %v near them", discrete, a, b)
		}
		// All rows, in the order of their distance: each once.
		table.Test = table.Test[:1]
		all, err := tabular.RealNear(table, 0.5, 300, 1)
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, d := range all[0] {
			count[fmt.Sprint(d)]++
		}
		for _, d := range demosOf(table) {
			count[fmt.Sprint(d)]--
		}
		for d, n := range count {
			if n != 0 {
				t.Errorf("%s: %+d", d, n)
			}
		}
	}
	table := loans(t, true)
	for _, c := range []struct {
		mismatch float64
		shots    int
	}{{0.1, trained + 1}, {0, 1}, {1.1, 1}, {math.NaN(), 1}} {
		if _, err := tabular.RealNear(table, c.mismatch, c.shots, 1); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

func must(each [][]prompt.Example, err error) [][]prompt.Example {
	if err != nil {
		panic(err)
	}
	return each
}

func demosOf(table *tabular.Table) (out []prompt.Example) {
	words := table.Schema.Wording()
	for _, row := range table.Train {
		out = append(out, prompt.Example{Input: words.Text(row), Output: words.Answer(row)})
	}
	return out
}
