package suite_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/lm"
)

// TestModels: each model of each axis writes and answers, and one that only answers need
// not be trusted. Without demonstrations nobody writes.
func TestModels(t *testing.T) {
	s := helpline(t, everything)
	s.Models, s.Answerers, s.Seeds = []string{"one", "two"}, []string{"same", "three"}, 1
	s.Methods = []suite.Method{{Method: "zero"}, {Method: "real"}}
	toys := map[string]*toy{}
	o := options(t, nil)
	opened := map[string]int{}
	open := func(name string) *toy {
		opened[name]++
		if toys[name] == nil {
			toys[name] = &toy{name: name}
		}
		return toys[name]
	}
	o.Open = func(_ context.Context, name string) (lm.TrustedScorer, error) { return open(name).trusted(), nil }
	o.OpenAnswerer = func(_ context.Context, name string) (lm.Model, error) { return open(name), nil }
	result, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range result.Rows {
		if r.Calibrated {
			got = append(got, r.Method+" "+r.Model+" "+r.Answerer)
		}
	}
	slices.Sort(got)
	want := []string{
		"real one one", "real one three", "real two three", "real two two", "zero one one", "zero three three", "zero two two",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	expect.Equal(t, "opened['one']", opened["one"], 2)
	expect.Equal(t, "opened['two']", opened["two"], 2)
	expect.Equal(t, "opened['three']", opened["three"], 1)
}

// writer is a model that only writes, as some servers do. What it has cost is known for
// all calls together.
type writer struct{ of *toy }

func (w writer) Info() lm.Info {
	info := w.of.Info()
	info.Name, info.Fingerprint, info.Can = "writer", "", lm.Capabilities{Generate: true}
	return info
}

func (w writer) Generate(ctx context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	return lm.GenerateBySteps(ctx, w.of, prompts, o)
}
func (w writer) Usage() lm.Usage { return w.of.Usage() }
func (w writer) Close() error    { return nil }

// TestAnswererWithoutScores: a model that only writes can answer, its cost is counted
// though cells run at the same time, and calibration is refused.
func TestAnswererWithoutScores(t *testing.T) {
	s := helpline(t, everything)
	s.Answerers, s.Calibrate, s.Items = []string{"writer"}, []bool{false}, 4
	var rows [][]int64
	for _, parallel := range []int{1, 8} {
		answers := &toy{name: "answers"}
		o := options(t, &toy{name: "toy"})
		o.OpenAnswerer = func(context.Context, string) (lm.Model, error) { return writer{answers}, nil }
		o.Parallel = parallel
		result, err := suite.Run(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		var tokens []int64
		var sum int64
		for _, r := range result.Rows {
			tokens = append(tokens, r.AnswerTokens)
			sum += r.AnswerTokens
			if r.Answerer != "writer" || r.Calibrated {
				t.Errorf("%+v", r)
			}
		}
		if sum != answers.Usage().Computed {
			t.Errorf("%d at once: rows have %d tokens, the model counted %d", parallel, sum, answers.Usage().Computed)
		}
		rows = append(rows, tokens)
	}
	if !slices.Equal(rows[0], rows[1]) {
		t.Errorf("%v one by one, %v at once", rows[0], rows[1])
	}
	s.Calibrate = []bool{true}
	o := options(t, &toy{name: "toy"})
	o.OpenAnswerer = func(context.Context, string) (lm.Model, error) { return writer{&toy{}}, nil }
	var failed *suite.FailedError
	if _, err := suite.Run(t.Context(), s, o); !errors.As(err, &failed) || !strings.Contains(err.Error(), "calibrated") {
		t.Errorf("%v", err)
	}
}

// TestUntrusted: a model that nobody trusts does not get records, and one that cannot be
// opened is told.
func TestUntrusted(t *testing.T) {
	missing := errors.New("no such model")
	for _, open := range []func(context.Context, string) (lm.TrustedScorer, error){
		func(context.Context, string) (lm.TrustedScorer, error) { return lm.TrustedScorer{}, nil },
		func(context.Context, string) (lm.TrustedScorer, error) { return lm.TrustedScorer{}, missing },
	} {
		o := options(t, nil)
		o.Open = open
		_, err := suite.Run(t.Context(), helpline(t, brief), o)
		var failed *suite.FailedError
		if !errors.As(err, &failed) || len(failed.Failures) != 3 {
			t.Errorf("%v", err)
		}
	}
	if _, err := suite.Run(t.Context(), helpline(t, brief), suite.Options{}); err == nil {
		t.Error("a suite without anything was run")
	}
}
