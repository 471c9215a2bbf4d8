package suite_test

import (
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

// hand is what one finds without the suite: by a call of the program for texts, and one
// for each answer.
type hand struct {
	demos           []prompt.Example
	write, answer   lm.Usage
	want            []string
	raw, calibrated []string
}

func byHand(t *testing.T, m *toy, c suite.Cell, train string) (h hand) {
	t.Helper()
	if c.Method != "zero" {
		dir := t.TempDir()
		client, err := sotto.Open(dir, &sotto.Options{Trusted: m.trusted()})
		if err != nil {
			t.Fatal(err)
		}
		run, err := client.Synthesize(t.Context(), sotto.SynthesizeOptions{
			Use:     sotto.Use{NonPrivate: true, Seed: &c.Seed},
			Request: ask.As[sotto.Request](c.Request()), Source: sotto.Source{Location: train}, Out: filepath.Join(dir, "out"),
		})
		if err != nil {
			t.Fatal(err)
		}
		h.demos = append(h.demos, run.Examples...)
		h.write = run.Usage
	}
	items, err := eval.ReadItems(filepath.Join(filepath.Dir(train), "test.jsonl"), c.Task)
	if err != nil {
		t.Fatal(err)
	}
	if items, err = eval.Subset(items, c.Items); err != nil {
		t.Fatal(err)
	}
	by, err := icl.NewClassifier(t.Context(), m, c.Task, h.demos, icl.Options{Calibrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer by.Close()
	for _, item := range items {
		p, err := by.Classify(t.Context(), []string{item.Input})
		if err != nil {
			t.Fatal(err)
		}
		h.want, h.raw, h.calibrated = append(h.want, item.Output), append(h.raw, p[0].Raw.Label), append(h.calibrated, p[0].Label)
	}
	h.answer = by.Usage()
	return h
}

// macroF1 by its definition.
func macroF1(want, got []string) float64 {
	labels := map[string]bool{}
	for i := range want {
		labels[want[i]], labels[got[i]] = true, true
	}
	var sum float64
	for label := range labels {
		var both, wanted, given float64
		for i := range want {
			if want[i] == label {
				wanted++
			}
			if got[i] == label {
				given++
			}
			if want[i] == label && got[i] == label {
				both++
			}
		}
		sum += 2 * both / (wanted + given)
	}
	return sum / float64(len(labels))
}

// words is the mean number of words of texts, and twice the share of different pairs.
func words(demos []prompt.Example) (mean, distinct float64) {
	pairs := map[string]bool{}
	var all, total float64
	for _, d := range demos {
		list := strings.FieldsFunc(strings.ToLower(d.Input), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		total += float64(len(list))
		for i := 1; i < len(list); i++ {
			pairs[list[i-1]+" "+list[i]] = true
			all++
		}
	}
	if all == 0 {
		return total / float64(len(demos)), 0
	}
	return total / float64(len(demos)), float64(len(pairs)) / all
}

// TestFigures: every figure of every row is what one gets by hand.
func TestFigures(t *testing.T) {
	s := helpline(t, everything)
	m := &toy{name: "toy"}
	o := options(t, m)
	done, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	spent := m.Usage().Computed
	rows := files(t, o.Out)
	equal(t, "files", rows, done.Rows)
	cells, err := suite.Cells(s)
	if err != nil {
		t.Fatal(err)
	}
	want := 1 + 2*(1+2+1+1+1)
	expect.Len(t, "cells", cells, want)
	expect.Len(t, "rows", rows, 2*want)
	expect.Equal(t, "done.Cells", done.Cells, want)
	keys := map[string]bool{}
	for _, r := range rows {
		keys[r.Key] = true
	}
	if len(keys) != len(rows) {
		t.Errorf("%d keys for %d rows", len(keys), len(rows))
	}
	var tokens int64
	for _, c := range cells {
		h := byHand(t, m, c, filepath.Join(suite.Dir(s), "train.jsonl"))
		tokens += h.write.Computed + h.answer.Computed
		for _, calibrated := range []bool{false, true} {
			i := slices.IndexFunc(rows, func(r result.Row) bool {
				same := r.Epsilon == nil && c.Epsilon == nil || r.Epsilon != nil && c.Epsilon != nil && *r.Epsilon == *c.Epsilon
				return r.Name == c.Name && r.Seed == c.Seed && same && r.Calibrated == calibrated
			})
			if i < 0 {
				t.Fatalf("no row for %s", c)
			}
			checkScores(t, rows[i], h)
			checkFacts(t, rows[i], c, h)
		}
	}
	// What real demonstrations take is not counted in rows, but it is in the work.
	if done.Tokens != spent || done.Tokens != tokens {
		t.Errorf("%d tokens are told, the model counted %d, and by hand it were %d", done.Tokens, spent, tokens)
	}
}

func checkScores(t *testing.T, r result.Row, h hand) {
	t.Helper()
	got := h.raw
	if r.Calibrated {
		got = h.calibrated
	}
	var right float64
	for i := range got {
		if (r.Items[i] == 1) != (got[i] == h.want[i]) {
			t.Errorf("%s: item %d is %v", r.Name, i, r.Items[i])
		}
		right += r.Items[i]
	}
	at := expect.At(t, "%s: %s is %v of %d", r.Name, r.Metric, r.Value, r.N)
	expect.Equal(at, "r.Metric", r.Metric, "accuracy")
	expect.Equal(at, "r.N", r.N, 12)
	expect.Len(at, "r.Items", r.Items, 12)
	expect.Max(at, "math.Abs(r.Value-right/12)", math.Abs(r.Value-right/12), 1e-12)
	if want := macroF1(h.want, got); math.Abs(r.Metrics["macro_f1"]-want) > 1e-12 {
		t.Errorf("%s: macro F1 is %v instead of %v", r.Name, r.Metrics["macro_f1"], want)
	}
	if r.Method == "zero" {
		if len(r.Metrics) != 1 {
			t.Errorf("no texts have metrics: %v", r.Metrics)
		}
		return
	}
	mean, distinct := words(h.demos)
	if math.Abs(r.Metrics["words"]-mean) > 1e-12 || math.Abs(r.Metrics["distinct_2"]-distinct) > 1e-12 {
		t.Errorf("%s: %v; by hand %v words, %v of pairs differ", r.Name, r.Metrics, mean, distinct)
	}
}

// checkFacts compares all of a row but its scores.
func checkFacts(t *testing.T, r result.Row, c suite.Cell, h hand) {
	t.Helper()
	want := result.Row{
		Key: r.Key, Suite: "suite", Dataset: "helpline", Task: c.Task.Name, Method: c.Method, Name: c.Name,
		Epsilon: c.Epsilon, Shots: len(h.demos), Seed: c.Seed, Model: "toy", Answerer: "toy", Calibrated: r.Calibrated, Metric: r.Metric,
		Value: r.Value, N: r.N, Items: r.Items, Metrics: r.Metrics, WriteTokens: h.write.Computed, AnswerTokens: h.answer.Computed,
		WriteSeconds: r.WriteSeconds, AnswerSeconds: r.AnswerSeconds, Version: "test",
	}
	switch c.Method {
	case "clipped":
		want.Settings = map[string]string{"batch": "16"}
	case "gaussian", "nonprivate":
		want.Settings = map[string]string{"prompts": "4", "per_prompt": "1"}
	case "real":
		want.WriteTokens = 0
	}
	if c.Reads() {
		p, err := plan.New(c.Request())
		if err != nil {
			t.Fatal(err)
		}
		shape, err := plan.ShapeOf(t.Context(), letters{}, c.Task, nil)
		if err != nil {
			t.Fatal(err)
		}
		want.PublishedTokens = int64(p.Cost(shape, plan.Speed{}).Uncached.Tokens)
		if c.Epsilon != nil {
			i, err := accountant.Auto{}.Epsilon(p.Event(), p.Adjacency, p.Delta)
			at := expect.At(t, "%s: ε", c)
			expect.NoError(at, err)
			expect.Within(at, "i.Upper", i.Upper, 0.99**c.Epsilon, *c.Epsilon)
			want.Delta, want.EpsilonUpper, want.Event = 1e-6, i.Upper, p.Event().String()
		}
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%s:\n%+v instead of\n%+v", c, r, want)
	}
	if wrote := c.Method != "real" && c.Method != "zero"; wrote != (r.WriteSeconds > 0) || r.AnswerSeconds <= 0 {
		t.Errorf("%s: %v s and %v s", c, r.WriteSeconds, r.AnswerSeconds)
	}
}
