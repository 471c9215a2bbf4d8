package suite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/lm"
)

// TestLearnNeedsNoModel: a classifier of all records is measured without opening a model, each seed and ε with
// its own evidence, and what is kept is used again.
func TestLearnNeedsNoModel(t *testing.T) {
	s := helpline(t, `
seeds = 3
items = 30
epsilon = [0.2, 2]
calibrate = [true, false]

[[method]]
method = "learn"
`)
	o := options(t, &toy{name: "toy"})
	o.Open = func(context.Context, string) (lm.TrustedScorer, error) {
		return lm.TrustedScorer{}, errors.New("no model is needed")
	}
	var err error
	if o.Sentences, err = lm.TrustEmbedder(directions{}, lm.InProcess); err != nil {
		t.Fatal(err)
	}
	result, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]bool{}
	for _, r := range result.Rows {
		at := expect.At(t, "%+v", r)
		expect.Equal(at, "r.Model", r.Model, "")
		expect.Equal(at, "r.Answerer", r.Answerer, "")
		expect.Equal(at, "r.Shots", r.Shots, 0)
		expect.Equal(at, "r.AnswerTokens", r.AnswerTokens, 0)
		expect.Equal(at, "r.WriteTokens", r.WriteTokens, 0)
		expect.Max(at, "r.EpsilonUpper", r.EpsilonUpper, *r.Epsilon*(1+1e-9))
		expect.True(at, "r.Event that is not empty", r.Event != "")
		expect.Equal(at, "r.Metric", r.Metric, "accuracy")
		expect.True(at, "not r.Calibrated", !r.Calibrated)
		answers[fmt.Sprint(r.Items)] = true
	}
	if len(result.Rows) != 6 || len(answers) < 4 {
		t.Errorf("%d rows, with %d different scores", len(result.Rows), len(answers))
	}
	again, err := suite.Run(t.Context(), s, o)
	expect.NoError(t, err)
	expect.Equal(t, "again.Written", again.Written, 0)
	expect.Equal(t, "again.Answered", again.Answered, 0)
	equal(t, "again", again.Rows, result.Rows)
}
