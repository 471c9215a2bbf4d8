package suite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
)

// sharedData is a folder of data sets beside the repository, if there is one.
const sharedData = "../../../shared/data"

// TestRealSuite runs a small suite with the default model, twice: on questions beside the
// repository where they are, and otherwise on made-up data.
func TestRealSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("the model answers many times")
	}
	s := helpline(t, brief)
	if _, err := os.Stat(filepath.Join(sharedData, "trec")); err == nil {
		s.Datasets = []suite.Dataset{{
			Name: "trec", Train: "{data}/trec/train.jsonl.gz", Test: "{data}/trec/test.jsonl.gz", Size: 5452,
		}}
		s.Methods = []suite.Method{{Method: "zero"}, {Method: "real"}}
	}
	s.Items, s.Calibrate = 8, []bool{true, false}
	m, err := backend.Trusted(t.Context(), backend.Spec{})
	if err != nil {
		t.Fatalf("%v; run: go run ./cmd/sotto model pull", err)
	}
	defer m.Close()
	o := options(t, nil)
	o.Open = func(context.Context, string) (lm.TrustedScorer, error) { return m, nil }
	o.Data = sharedData
	first, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range first.Rows {
		t.Logf("%s %s calibrated %v: %.2f", r.Dataset, r.Name, r.Calibrated, r.Value)
		at := expect.At(t, "%+v", r)
		expect.Equal(at, "r.N", r.N, 8)
		expect.True(at, "r.AnswerTokens other than 0", r.AnswerTokens != 0, r.AnswerTokens)
		expect.True(at, "r.Model that is not empty", r.Model != "")
		expect.Within(at, "r.Value", r.Value, 0, 1)
	}
	before := m.Usage().Computed
	if first.Tokens != before {
		t.Errorf("%d tokens are told, and the model counted %d", first.Tokens, before)
	}
	again, err := suite.Run(t.Context(), s, o)
	if err != nil || m.Usage().Computed != before {
		t.Fatalf("%v, %d more tokens", err, m.Usage().Computed-before)
	}
	equal(t, "again", again.Rows, first.Rows)
}
