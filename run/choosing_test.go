package run

import (
	"strings"
	"testing"

	"sotto/internal/search"
	"sotto/plan"
	"sotto/private/choose"
	"sotto/prompt"
)

// TestWinnersAreOfTheSpace: a journal with a winner that its pool does not have is refused
// before anything is asked or released, whether rounds are left or not.
func TestWinnersAreOfTheSpace(t *testing.T) {
	task, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	c := &plan.Choose{Examples: []prompt.Example{{Input: "a race", Output: "Sports"}}, Choice: choose.Choice{Rounds: 2}}
	for name, wrong := range map[string]search.Point{
		"another text":        {Set: []int{1}},
		"before the first":    {Set: []int{0, -1}},
		"another instruction": {Instruction: 1},
	} {
		for _, before := range [][]search.Point{nil, {{Set: []int{0}}}} {
			r := &runner{Options: Options{Plan: plan.Plan{Task: task, Choose: c}}, engine: &engine{progress: &progress{winners: append(before, wrong)}}}
			if err := r.rounds(t.Context()); err == nil || !strings.Contains(err.Error(), "none of its prompts") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
