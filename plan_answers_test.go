package sotto_test

import (
	"slices"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/prompt"
)

// TestPlanAnswers: each method that serves a task keeps to ε for all answers together, one
// answer costs less than all, and ten times as many cost more but not ten times as much.
func TestPlanAnswers(t *testing.T) {
	for name, want := range map[string][]string{
		"agnews": {"vote", "product"},
		"samsum": {"clipped", "mixing", "gaussian", "noisymax", "radius", "public", "embedding", "keyword"},
		"mit-g":  {"clipped", "mixing", "gaussian", "noisymax", "radius", "public", "embedding", "keyword"},
	} {
		task, err := prompt.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		got := sotto.AnswerMethods(task)
		if got[0] != plan.DefaultAnswer(task) {
			t.Errorf("%s is answered by %s by default, and that is not first in %v", name, plan.DefaultAnswer(task), got)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s is answered by %v, want %v", name, got, want)
		}
	}
	task, err := prompt.Builtin("samsum")
	if err != nil {
		t.Fatal(err)
	}
	c, err := options(t).client().PlanAnswers(t.Context(), sotto.PlanOptions{
		Request: sotto.Request{Task: task, Size: 5000, Epsilon: 2, Answers: 8, Tokens: 4},
		Methods: []string{"mixing", "embedding", "public", "vote"}, Model: toyModel().Public(), Measure: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range c.Rows {
		if row.Method == "vote" {
			if row.Err == nil {
				t.Error("summaries are voted on")
			}
			continue
		}
		if row.Err != nil || row.Sentence() == "" || row.Cost.Cached.Tokens <= 0 || row.Cost.Cached.Seconds <= 0 {
			t.Errorf("%+v", row)
			continue
		}
		more, err := row.Plan.Total(80)
		if err != nil {
			t.Fatal(err)
		}
		one, all := row.One.Epsilon.Upper, row.Guarantee.Epsilon.Upper
		if free := row.Method == "public"; free != (all == 0) || all > 2 || !free && !(one < all && all < more.Upper && more.Upper < 10*all) {
			t.Errorf("%s: one costs %v, 8 cost %v, 80 cost %v", row.Method, one, all, more.Upper)
		}
	}
}
