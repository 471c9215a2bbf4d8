package suite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

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
	o.Open = func(context.Context, string) (lm.Trusted, error) {
		return lm.Trusted{}, errors.New("no model is needed")
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
		if r.Model != "" || r.Answerer != "" || r.Shots != 0 || r.AnswerTokens != 0 || r.WriteTokens != 0 || r.EpsilonUpper > *r.Epsilon*(1+1e-9) || r.Event == "" || r.Metric != "accuracy" || r.Calibrated {
			t.Errorf("%+v", r)
		}
		answers[fmt.Sprint(r.Items)] = true
	}
	if len(result.Rows) != 6 || len(answers) < 4 {
		t.Errorf("%d rows, with %d different scores", len(result.Rows), len(answers))
	}
	again, err := suite.Run(t.Context(), s, o)
	if err != nil || again.Written != 0 || again.Answered != 0 {
		t.Fatalf("%+v: %v", again, err)
	}
	equal(t, "again", again.Rows, result.Rows)
}
