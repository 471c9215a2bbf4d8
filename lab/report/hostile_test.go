package report

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lab/result"
)

// number finds what no figure may be.
var number = regexp.MustCompile(`NaN|[^a-z]Inf|%!|-0\.0`)

// TestAnyRows: whatever cells are missing, whatever names are, a report is made, no name
// is markup, and no figure is the outcome of a division by zero.
func TestAnyRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in Input
		in.Title = rapid.String().Draw(t, "title")
		names := rapid.SliceOfNDistinct(rapid.StringN(1, 20, -1), 1, 4, rapid.ID[string]).Draw(t, "names")
		methods := []string{"zero", "public", "clipped", "gaussian", "radius", "nonprivate", "real"}
		items := rapid.IntRange(0, 3).Draw(t, "items")
		for range rapid.IntRange(1, 15).Draw(t, "rows") {
			r := result.Row{
				Dataset: rapid.SampledFrom([]string{"a", "b<script>"}).Draw(t, "dataset"), Name: rapid.SampledFrom(names).Draw(t, "name"),
				Method: rapid.SampledFrom(methods).Draw(t, "method"), Shots: rapid.IntRange(0, 3).Draw(t, "shots"), Seed: rapid.Uint64Range(0, 2).Draw(t, "seed"),
				Model: rapid.SampledFrom([]string{"", "m"}).Draw(t, "model"), Answerer: rapid.SampledFrom([]string{"", "m"}).Draw(t, "answerer"),
				Calibrated: rapid.Bool().Draw(t, "calibrated"), Metric: "accuracy", N: items, WriteTokens: rapid.Int64Range(0, 2).Draw(t, "tokens"),
				PublishedTokens: rapid.Int64Range(0, 2).Draw(t, "published"), Value: rapid.Float64Range(0, 1).Draw(t, "value"),
			}
			for range items {
				r.Items = append(r.Items, float64(rapid.IntRange(0, 1).Draw(t, "item")))
			}
			if items > 0 {
				r.Value = stat.Mean(r.Items)
			}
			if rapid.Bool().Draw(t, "online") {
				r.Online, r.Queries = true, rapid.Int64Range(1, 3).Draw(t, "queries")
				r.Claimed, r.AnswerTokens = rapid.Bool().Draw(t, "claimed"), r.WriteTokens
				r.Metrics = map[string]float64{"embedding_f1 (m)": r.Value, "answer_words": 3}
			}
			if rapid.Bool().Draw(t, "ε") {
				r.Epsilon = epsilon(rapid.SampledFrom([]float64{0, 0.1, 1, 8}).Draw(t, "epsilon"))
			}
			in.Rows = append(in.Rows, r)
		}
		markdown := render(t, in)
		if !strings.Contains(markdown, "NOT PRIVATE") || strings.Contains(markdown, "<script") {
			t.Fatal("a name is markup, or the mark is missing")
		}
		body := markdown[strings.Index(markdown, "## How to read"):]
		for _, n := range names {
			body = strings.ReplaceAll(body, inline(n), "")
		}
		if bad := number.FindString(body); bad != "" {
			t.Fatalf("a figure is %q", bad)
		}
	})
}

// TestHostileNames: what rows and suites call things is text, wherever it stands.
func TestHostileNames(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=a> | **b** [l](javascript:x) ` + "`c`\n# h"
	in := input([]string{"agnews"}, 2, 10)
	in.Title, in.About, in.Command, in.Notes = hostile, hostile, hostile+"\n```\n", []string{hostile}
	for i := range in.Rows {
		r := &in.Rows[i]
		r.Dataset, r.Model, r.Answerer, r.Version = hostile, hostile, hostile, hostile
		if r.Method == "clipped" {
			r.Name = hostile
		}
		r.Metrics = map[string]float64{hostile: 1}
	}
	for i := range in.Published {
		p := &in.Published[i]
		p.Dataset, p.Model, p.Source = hostile, hostile, hostile
	}
	markdown := render(t, in)
	text := regexp.MustCompile("(?s)````console.*?````").ReplaceAllString(markdown, "")
	if text == markdown {
		t.Error("the command is not in a fence that it cannot end")
	}
	for _, bad := range []string{"<script", "<img", "\n# h", "l](javascript", "**b**"} {
		if strings.Contains(text, bad) {
			t.Errorf("the Markdown has %q", bad)
		}
	}
	rows := 0
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "| ") && strings.Contains(line, "alert") {
			rows++
			if strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") < 3 {
				t.Errorf("a cell ends the row: %s", line)
			}
		}
	}
	if rows == 0 {
		t.Error("no row has the name")
	}
}
