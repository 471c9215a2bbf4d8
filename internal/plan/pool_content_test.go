package plan_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// made is what a model made up for AG News.
func made() *plan.PoolContent {
	return &plan.PoolContent{
		Model: "large", Instructions: []string{"Say what it is about."},
		Examples: []prompt.Example{{Input: "a race", Output: "Sports"}, {Input: "a war", Output: "World"}},
	}
}

// TestMade: with texts by a model that sees no record, none are written and all of ε
// chooses, unless a share of it is for writing; the plan says who wrote, and is the same
// after it was read from a file.
func TestMade(t *testing.T) {
	if testing.Short() {
		t.Skip("several calibrations of long events")
	}
	task := builtin(t, "agnews")
	request := func(c plan.ChooseRequest) plan.Request {
		c.Rounds, c.Records, c.Measuring = 2, 100, -1
		return plan.Request{Task: task, Size: 20_000, Epsilon: 1, Choosing: &c}
	}
	p := mustPlan(t, request(plan.ChooseRequest{Made: made(), Vary: 2}))
	expect.Equal(t, "p.Shots", p.Shots, 0)
	expect.True(t, "not p.WritesFromRecords()", !p.WritesFromRecords(), p)
	expect.Equal(t, "p.Event()", p.Event().String(), p.Choose.Event().String())
	if got := p.Steps(); !strings.Contains(got, "no ε is for writing, 2 texts are by large, which sees no record, one other wording of the instruction is by large; then about 100 records") {
		t.Error(got)
	}
	expect.Len(t, "p.Choose.Texts()", p.Choose.Texts(), 2)
	expect.Len(t, "p.Choose.Wordings()", p.Choose.Wordings(), 1)
	expect.Equal(t, "p.Choose.Vary", p.Choose.Vary, 2)
	if again := reread(t, p); !reflect.DeepEqual(again, p) {
		t.Errorf("a plan read from a file is another one:\n%+v\n%+v", again, p)
	}
	p.Choose.Made.Examples[0].Input = "changed"
	if made().Examples[0].Input != "a race" {
		t.Error("the plan shares what it was given")
	}
	both := mustPlan(t, request(plan.ChooseRequest{Made: made(), Writing: 0.5, Examples: made().Examples[:1]}))
	expect.True(t, "both.Shots other than 0", both.Shots != 0, both.Shots)
	expect.True(t, "both.WritesFromRecords()", both.WritesFromRecords(), both)
	expect.Len(t, "both.Choose.Texts()", both.Choose.Texts(), 3)
	// Wordings alone leave the pool as it is.
	worded := made()
	worded.Examples = nil
	if own := mustPlan(t, request(plan.ChooseRequest{Made: worded, Writing: -1})); own.Shots == 0 || own.Choose.Sets() != 24+1+8 {
		t.Errorf("%d texts, %d sets", own.Shots, own.Choose.Sets())
	}
}

// TestMadeIsChecked: what a task has no use for is refused, in a request and in a plan.
func TestMadeIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*plan.ChooseRequest)
		want   string
	}{
		"a label":    {func(c *plan.ChooseRequest) { c.Made.Examples[1].Output = "Nonsense" }, "example 2 by large"},
		"no text":    {func(c *plan.ChooseRequest) { c.Made.Examples[0].Input = " " }, "example 1 by large"},
		"no name":    {func(c *plan.ChooseRequest) { c.Made.Model = "" }, "lacks the model's name"},
		"no wording": {func(c *plan.ChooseRequest) { c.Made.Instructions[0] = "" }, "wording 1 by large"},
		"vary":       {func(c *plan.ChooseRequest) { c.Vary = -1 }, "after a round"},
		"vary many":  {func(c *plan.ChooseRequest) { c.Vary = 65 }, "after a round"},
	} {
		t.Run(name, func(t *testing.T) {
			r := plan.Request{Task: builtin(t, "agnews"), Size: 5000, Epsilon: 1, Choosing: &plan.ChooseRequest{Made: made(), Rounds: 2, Records: 50}}
			p := mustPlan(t, r)
			c.change(r.Choosing)
			_, err := plan.New(r)
			if input := new(plan.InputError); !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			p.Choose.Made, p.Choose.Vary = r.Choosing.Made, r.Choosing.Vary
			if err := p.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("in a plan: %v", err)
			}
		})
	}
}
