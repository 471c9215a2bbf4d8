package plan

import (
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// TestReadyMadeSets: sets that a user has are what the first round proposes, nothing is
// written, and a plan that names other examples than there are is refused.
func TestReadyMadeSets(t *testing.T) {
	task, err := prompt.Find("agnews")
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := prompt.Example{Input: "a match", Output: "Sports"}, prompt.Example{Input: "a bank", Output: "Business"}, prompt.Example{Input: "a chip", Output: "Technology"}
	p, err := New(Request{Task: task, Epsilon: 1, Size: 4000, Choosing: &ChooseRequest{Sets: [][]prompt.Example{{a, b}, {c, a}}}})
	if err != nil {
		t.Fatal(err)
	}
	at := expect.At(t, "the plan")
	expect.Equal(at, "p.Shots", p.Shots, 0)
	expect.True(at, "not p.WritesFromRecords()", !p.WritesFromRecords(), p)
	expect.Equal(at, "p.Choose.Rounds", p.Choose.Rounds, 1)
	expect.Equal(at, "p.Choose.First", p.Choose.First, 2)
	if !slices.Equal(p.Choose.Examples, []prompt.Example{a, b, c}) || !slices.EqualFunc(p.Choose.Given, [][]int{{0, 1}, {2, 0}}, slices.Equal) {
		t.Errorf("the examples are %v, the sets %v", p.Choose.Examples, p.Choose.Given)
	}
	p.Choose.Given[1][0] = 3
	if p.Check() == nil {
		t.Error("a set of an example that there is not is accepted")
	}
	p.Choose.Given[1][0], p.Choose.Examples[2].Output = 2, "Cooking"
	if p.Check() == nil {
		t.Error("a plan with an example of another label is accepted")
	}
	if _, err := New(Request{Task: task, Epsilon: 1, Size: 4000, Choosing: &ChooseRequest{Sets: [][]prompt.Example{{{Input: "x", Output: "Cooking"}}}}}); err == nil {
		t.Error("an example with another label is accepted")
	}
}
