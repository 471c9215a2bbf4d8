package report

import (
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
)

// TestEverySuiteHasAReport: with rows for all of its cells, every value of a paper finds
// its place.
func TestEverySuiteHasAReport(t *testing.T) {
	for _, name := range suite.Builtins() {
		s, err := suite.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		s.Seeds = 1
		cells, err := suite.Cells(s)
		if err != nil {
			t.Fatal(err)
		}
		var rows []result.Row
		for _, c := range cells {
			for _, calibrated := range c.Calibrate {
				rows = append(rows, result.Row{
					Dataset: c.Dataset.Name, Method: c.Method, Name: c.Name, Epsilon: c.Epsilon, Shots: c.Shots, Seed: c.Seed,
					Model: c.Model, Answerer: c.Answerer, Calibrated: calibrated, Metric: "accuracy", Value: 0.5, N: 10,
					Online: c.Online, Queries: c.Queries, Claimed: c.Claims(), AnswerTokens: 100,
					Metrics: map[string]float64{"embedding_precision (encoder)": 0.5},
				})
			}
		}
		markdown := render(t, Of(s, rows))
		for _, p := range s.Published {
			if want := "paper: " + spread(p.Value, deviation(p)); !strings.Contains(markdown, want) {
				t.Errorf("%s: %s, %s %s: %q is not in the report", name, p.Dataset, p.Method, p.Setting, want)
			}
		}
	}
}

// TestPapersAgreeWithThemselves: papers print some values in several tables, and the
// suites have them from there; a slip in one would differ.
func TestPapersAgreeWithThemselves(t *testing.T) {
	type what struct {
		paper, dataset, method, model, metric string
		epsilon                               float64
		shots                                 int
	}
	known := map[what]suite.PublishedValue{}
	twice := 0
	for _, name := range suite.Builtins() {
		s, err := suite.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range s.Published {
			if p.Setting != "" && !strings.HasPrefix(p.Setting, "radius tuned") {
				continue // an ablation
			}
			paper, _, _ := strings.Cut(p.Source, ",")
			at := what{paper, p.Dataset, p.Method, p.Model, p.Metric, publishedEpsilon(p), p.Shots}
			before, ok := known[at]
			if !ok {
				known[at] = p
				continue
			}
			if before.Source != p.Source {
				twice++
			}
			if before.Value != p.Value || before.Std != p.Std && before.Std != 0 && p.Std != 0 {
				t.Errorf("%+v: %v ± %v in %s, %v ± %v in %s", at, before.Value, before.Std, before.Source, p.Value, p.Std, p.Source)
			}
		}
	}
	if twice < 10 {
		t.Errorf("only %d values were found in two tables", twice)
	}
}

// TestRadiusCanBeCalibrated: the noise of radius that is not calibrated costs less than
// the smallest ε it is tried at.
func TestRadiusCanBeCalibrated(t *testing.T) {
	for _, name := range []string{"text", "radius-small"} {
		s, err := suite.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		s.Seeds = 1
		cells, err := suite.Cells(s)
		if err != nil {
			t.Fatal(err)
		}
		lowest := map[string]suite.Cell{}
		for _, c := range cells {
			id := c.Dataset.Name + " " + c.Name
			if before, ok := lowest[id]; c.Method == "radius" && (!ok || *c.Epsilon < *before.Epsilon) {
				lowest[id] = c
			}
		}
		for id, c := range lowest {
			if _, err := plan.New(c.Request()); err != nil {
				t.Errorf("%s, %s: %v", name, id, err)
			}
		}
	}
}
