package plan_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/prompt"
)

// near has prompts compete that give questions the nearest examples.
func near(n int) *plan.ChooseRequest {
	return &plan.ChooseRequest{Writing: -1, Measuring: -1, Nearest: n, Encoder: "toy 1"}
}

// TestPlainNearestCostsWorkAlone: a plan with the nearest examples costs the same ε, says so, has fewer records in a round
// for the same work, and its cost counts prompts that are read for each record, and the encoder.
func TestPlainNearestCostsWorkAlone(t *testing.T) {
	for _, name := range []string{"mit-g", "samsum"} {
		task := builtin(t, name)
		conditions := task.Conditions
		if len(conditions) == 0 {
			conditions = []string{"A: Hi\nB: Hello"}
		}
		request := func(n int) plan.Request {
			return plan.Request{Task: task, Size: 2000, Epsilon: 1, Conditions: conditions, Choosing: near(n)}
		}
		with, without := mustPlan(t, request(8)), mustPlan(t, request(0))
		if without.Choose.Nearest != nil {
			t.Fatalf("%s: %+v without being asked", name, without.Choose.Nearest)
		}
		if want := (&plan.Nearest{Encoder: "toy 1", Examples: []int{4, 8}}); !reflect.DeepEqual(with.Choose.Nearest, want) {
			t.Errorf("%s: %+v, want %+v", name, with.Choose.Nearest, want)
		}
		if got := mustPlan(t, request(1)).Choose.Nearest.Examples; !reflect.DeepEqual(got, []int{1}) {
			t.Errorf("%s: one example is planned as %v", name, got)
		}
		if a, b := with.Steps(), without.Steps(); !strings.Contains(a, "nearest to it, up to 8") || strings.Contains(b, "nearest") {
			t.Errorf("%s: %s\n%s", name, a, b)
		}
		if a, b := with.Choose.Answers(2000), without.Choose.Answers(2000); !(a < b) {
			t.Errorf("%s: %v answers for work that is enough for %v without", name, a, b)
		}
		// The same rounds with more to read.
		same := with
		choose := *with.Choose
		choose.Nearest = nil
		same.Choose = &choose
		if with.Event().String() != same.Event().String() {
			t.Errorf("%s: it costs %s, and %s without", name, with.Event(), same.Event())
		}
		speed := plan.Speed{Prefill: 1000, Step: 0.01, Each: 0.001}
		slow := speed
		slow.Encode = 0.1
		more := with.Cost(plan.Shape{}, speed).Cached
		if less := same.Cost(plan.Shape{}, speed).Cached; !(more.Tokens > less.Tokens) || !(more.Seconds > less.Seconds) {
			t.Errorf("%s: it takes %+v, and %+v without", name, more, less)
		}
		if encoded := with.Cost(plan.Shape{}, slow).Cached; !(encoded.Seconds > more.Seconds+0.1) {
			t.Errorf("%s: the encoder takes no time: %+v, %+v", name, encoded, more)
		}
	}
}

// TestPlainNearestRefuses what cannot be done, and what a plan in a file cannot be.
func TestPlainNearestRefuses(t *testing.T) {
	task := builtin(t, "mit-g")
	for want, change := range map[string]func(*plan.Request){
		"closed list of labels": func(r *plan.Request) { r.Task = builtin(t, "agnews") },
		"model pull minilm":     func(r *plan.Request) { r.Choosing.Encoder = "" },
		"ready-made sets":       func(r *plan.Request) { r.Choosing.Sets = [][]prompt.Example{{{Input: "a", Output: "b"}}} },
	} {
		t.Run(want, func(t *testing.T) {
			r := plan.Request{Task: task, Size: 2000, Epsilon: 1, Choosing: near(4)}
			change(&r)
			if _, err := plan.New(r); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	for name, n := range map[string]plan.Nearest{"no encoder": {Examples: []int{4}}, "no examples": {Encoder: "toy 1"}, "none of them": {Encoder: "toy 1", Examples: []int{0, 4}}} {
		t.Run(name, func(t *testing.T) {
			p := mustPlan(t, plan.Request{Task: task, Size: 2000, Epsilon: 1, Choosing: near(4)})
			p.Choose.Nearest = &n
			if p.Check() == nil {
				t.Errorf("%s: the plan is taken", name)
			}
		})
	}
	p := mustPlan(t, plan.Request{Task: builtin(t, "agnews"), Size: 2000, Epsilon: 1, Choosing: near(0)})
	p.Choose.Nearest = &plan.Nearest{Encoder: "toy 1", Examples: []int{4}}
	if p.Check() == nil {
		t.Error("a plan for a closed list has the nearest examples")
	}
}
