package figures

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plot"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/sys/reference"
)

// TestConceptFigures: the figures of docs/concepts.md are what the accountants and lab/results say.
// With -rewrite it draws them.
func TestConceptFigures(t *testing.T) {
	for name, draw := range map[string]func(*testing.T) plot.Figure{
		"meaning": meaning, "runs": runs, "draws": draws, "choosing": choosing,
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := draw(t).WriteSVG(&b); err != nil {
				t.Fatal(err)
			}
			reference.Keep(t, "../../../docs/pictures/concept-"+name+".svg", b.Bytes())
		})
	}
}

func epsilon(t *testing.T, e privacy.Event) float64 {
	t.Helper()
	at, err := accountant.Auto{Tolerance: plotTolerance}.Epsilon(e, privacy.AddRemove, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	return at.Upper
}

// meaning is what ε allows an adversary to learn of one record.
func meaning(*testing.T) plot.Figure {
	var sure, after []plot.Point
	for e := 0.0; e <= 8; e += 0.125 {
		right := 100 / (1 + math.Exp(-e))
		sure = append(sure, plot.Point{X: e, Low: right, Y: right})
		from := 100 * 0.01 * math.Exp(e) / (0.01*math.Exp(e) + 0.99)
		after = append(after, plot.Point{X: e, Low: from, Y: from})
	}
	mark := func(e float64) plot.Mark {
		right := 100 / (1 + math.Exp(-e))
		return plot.Mark{X: e, Y: right, Text: fmt.Sprintf("ε = %g: %.0f %%", e, right)}
	}
	return plot.Figure{
		Title: "What one record can lose", Subtitle: "the best that anybody can do who knows all other records, at δ = 0",
		Panels: []plot.Panel{
			{Title: "In or out? From even odds", X: plot.Axis{Label: "ε"}, Y: plot.Axis{Label: "right, in % of cases, at most", Fit: true, Max: 100}, Lines: []plot.Line{{Points: sure}}, Marks: []plot.Mark{mark(0.5), mark(1), mark(4)}},
			{Title: "A suspicion of 1 % becomes", X: plot.Axis{Label: "ε"}, Y: plot.Axis{Label: "a certainty of at most, in %", Max: 100}, Lines: []plot.Line{{Points: after}}},
		},
	}
}

// runs is what one run after another costs.
func runs(t *testing.T) plot.Figure {
	alone := epsilon(t, privacy.Gaussian{Sigma: 8})
	var added, composed []plot.Point
	for n := int64(1); n <= 40; n++ {
		sum, together := float64(n)*alone, epsilon(t, privacy.Repeat{N: n, Event: privacy.Gaussian{Sigma: 8}})
		added = append(added, plot.Point{X: float64(n), Low: sum, Y: sum})
		composed = append(composed, plot.Point{X: float64(n), Low: together, Y: together})
	}
	return plot.Figure{
		Title: "repeat(n, gaussian(8))", Subtitle: fmt.Sprintf("runs of ε = %.2f each at δ = 1e-6, add-remove", alone),
		Panels: []plot.Panel{{
			X: plot.Axis{Label: "runs on the same records"}, Y: plot.Axis{Label: "ε of all of them together"},
			Lines: []plot.Line{{Name: "each ε added up", Points: added}, {Name: "composed by the accountant", Points: composed}},
		}},
	}
}

// draws compares one draw a text with a draw a token: what a step may cost, and what the model reads.
func draws(t *testing.T) plot.Figure {
	const records, batch, tokens, prompt = 20000, 32, 60, 150
	q := float64(batch) / records
	var text, token []plot.Point
	for c := 0.05; c < 0.61; c += 0.05 {
		step := privacy.BoundedRange{C: c}
		one := epsilon(t, privacy.Poisson{Q: q, Event: privacy.Repeat{N: tokens, Event: step}})
		each := epsilon(t, privacy.Repeat{N: tokens, Event: privacy.Poisson{Q: q, Event: step}})
		text, token = append(text, plot.Point{X: c, Low: one, Y: one}), append(token, plot.Point{X: c, Low: each, Y: each})
	}
	var kept, again []plot.Point
	for n := 1.0; n <= tokens; n++ {
		k, a := batch*(prompt+n), batch*n*(prompt+n/2)
		kept, again = append(kept, plot.Point{X: n, Low: k, Y: k}), append(again, plot.Point{X: n, Low: a, Y: a})
	}
	return plot.Figure{
		Title: "One draw a text, or one a token", Subtitle: fmt.Sprintf("%d of %d records drawn on average, a text of %d tokens, δ = 1e-6", batch, records, tokens),
		Panels: []plot.Panel{
			{Title: "Privacy", X: plot.Axis{Label: "c, what a record may do to a token's odds"}, Y: plot.Axis{Label: "ε of the text", Log: true}, Lines: []plot.Line{{Name: "one draw a text", Points: text}, {Name: "a draw a token", Points: token}}},
			{Title: "Work", X: plot.Axis{Label: "tokens of the text so far"}, Y: plot.Axis{Label: "tokens that the model reads", Log: true}, Lines: []plot.Line{{Name: "prompts are kept", Points: kept}, {Name: "all prompts read again", Points: again}}},
		},
		Notes: []string{fmt.Sprintf("Work: prompts of %d tokens, one for each drawn record, read once or for every token.", prompt)},
	}
}

var number = regexp.MustCompile(`\d+\.\d`)

// choosing is what lab/results/README.md has measured with the small model: means of five data sets.
func choosing(t *testing.T) plot.Figure {
	data, err := os.ReadFile("../../../lab/results/README.md")
	if err != nil {
		t.Fatal(err)
	}
	first, second, ok := strings.Cut(string(data), "\n## Demonstrations written from the records")
	if !ok {
		t.Fatal("lab/results/README.md has no section about written demonstrations")
	}
	if _, first, ok = strings.Cut(first, "\n## Chosen by the records"); !ok {
		t.Fatal("lab/results/README.md has no section about what the records choose")
	}
	row := func(in, name string) float64 {
		_, rest, found := strings.Cut(in, "\n| "+name+" |")
		line, _, _ := strings.Cut(rest, "\n")
		all := number.FindAllString(line, 5)
		if !found || len(all) != 5 {
			t.Fatalf("lab/results/README.md has no row %q with five data sets", name)
		}
		sum := 0.0
		for _, s := range all {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += v
		}
		return sum / 5
	}
	at := func(x, y float64) plot.Estimate { return plot.Estimate{X: x, Low: y, Y: y, High: y} }
	return plot.Figure{
		Title: "Accuracy of the small default model", Subtitle: "mean of five data sets in points, 8 and 20 seeds (lab/results)",
		Panels: []plot.Panel{{
			X: plot.Axis{Label: "ε", Log: true, Ticks: []float64{0.1, 0.3, 1}}, Y: plot.Axis{Label: "right answers, in %", Fit: true},
			Series: []plot.Series{
				{Name: "chosen", Look: 1, Points: []plot.Estimate{at(0.3, row(first, "**chosen, ε = 0.3**")), at(1, row(first, "**chosen, ε = 1**"))}},
				{Name: "written", Look: 2, Points: []plot.Estimate{at(0.1, row(second, "`clipped`, ε = 0.1")), at(0.3, row(second, "`clipped`, ε = 0.3")), at(1, row(second, "`clipped`, ε = 1"))}},
			},
			Levels: []plot.Level{{Name: "no examples", Look: 3, Y: row(first, "no examples")}, {Name: "model-generated", Look: 4, Y: row(first, "model-generated, 4, ε = 0")}, {Name: "real records", Look: 5, Y: row(first, "real records, 4")}},
		}},
	}
}
