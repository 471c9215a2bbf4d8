package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan/forecast"
)

// TestTable: the program's table has what the published results say.
func TestTable(t *testing.T) {
	table := forecast.Measured()
	for _, source := range table.Sources {
		dir := filepath.Join("..", "results", source)
		if _, err := os.Stat(dir); err != nil {
			continue // kept elsewhere
		}
		of, err := gather([]string{dir})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range of.Learned {
			// Suites with several models repeat the classifiers, which have none: the table has those of all seeds.
			same := func(o forecast.ClassifierResult) bool {
				return o == l || o.Task == l.Task && o.Records == l.Records && o.Noise == l.Noise && o.Seeds > l.Seeds
			}
			if !slices.ContainsFunc(table.Learned, same) {
				t.Fatalf("the table lacks %+v of %s: make it again (make forecast)", l, source)
			}
		}
		for _, c := range of.Curves {
			at := slices.IndexFunc(table.Curves, func(o forecast.Curve) bool { return o.Model == c.Model && o.Task == c.Task })
			for _, r := range c.Runs {
				if at < 0 || !slices.Contains(table.Curves[at].Runs, r) {
					t.Fatalf("%s, %s: the table lacks %+v of %s: make it again (go run ./bench/forecast -out plan/forecast/table.json DIR …)", c.Model, c.Task, r, source)
				}
			}
		}
	}
}

// TestDocs: the documentation says how often forecasts held, as it is.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/text.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(data)), " ")
	curves := forecast.Measured().Curves
	same, other := forecast.Coverage(curves, false), forecast.Coverage(curves, true)
	for _, want := range []string{
		fmt.Sprintf("at a weight of %.0f half", forecast.NewFit(curves).Half),
		fmt.Sprintf("it held %d of %d measurements on that one over no examples and %d over model-generated ones", same.None, same.Settings, same.Own),
		fmt.Sprintf("made with the other model, %d and %d. (Those were of %d:", other.None, other.Own, other.Settings),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("docs/text.md does not say %q", want)
		}
	}
}

// TestWeight: the rounds of choosing are told from the writing of a pool.
func TestWeight(t *testing.T) {
	for event, want := range map[string]float64{
		"repeat(9, poisson(0.034, boundedrange(2)))": 68,
		"compose(repeat(6, poisson(0.5, repeat(60, boundedrange(0.25)))), repeat(2, poisson(0.125, boundedrange(3))))": 375,
		"compose(boundedrange(0.125), laplace(200))":                                                       125,
		"compose(poisson(0.5, boundedrange(1)), repeat(5, poisson(0.125, boundedrange(3))), laplace(200))": 375,
	} {
		got, _, err := weightOf(event, 1000)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", event, got, err)
		}
	}
	if _, _, err := weightOf("gaussian(3)", 10); err == nil {
		t.Error("no rounds, and no error")
	}
}
