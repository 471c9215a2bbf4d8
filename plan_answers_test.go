package sotto_test

import (
	"slices"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/expect"
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
		t.Run(name, func(t *testing.T) {
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
		})
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
		at := expect.At(t, "%s", row.Method)
		expect.NoError(at, row.Err)
		expect.True(at, "a sentence", row.Sentence() != "")
		expect.True(at, "row.Cost.Cached.Tokens above 0", row.Cost.Cached.Tokens > 0, row.Cost.Cached.Tokens)
		expect.True(at, "row.Cost.Cached.Seconds above 0", row.Cost.Cached.Seconds > 0, row.Cost.Cached.Seconds)
		more, err := row.Plan.Total(80)
		if err != nil {
			t.Fatal(err)
		}
		one, all := row.One.Epsilon.Upper, row.Guarantee.Epsilon.Upper
		free := row.Method == "public"
		expect.Equal(at, "free", free, all == 0)
		expect.Max(at, "all", all, 2)
		if !free {
			expect.True(at, "one < all && all < more.Upper && more.Upper < 10*all", one < all && all < more.Upper && more.Upper < 10*all, one, all, more.Upper, 10*all)
		}
	}
}
