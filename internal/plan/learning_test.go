package plan_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

func learning(t *testing.T, epsilon, measuring float64, size int64) plan.Request {
	t.Helper()
	return plan.Request{Task: builtin(t, "agnews"), Epsilon: epsilon, Size: size, Learning: &plan.LearnRequest{Encoder: "toy", Measuring: measuring}}
}

// TestPlainLearningIsPaidFor: all that a classifier is made by costs at most ε, and nearly all of it; without a
// number in the end all of it is for the sums.
func TestPlainLearningIsPaidFor(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 8} {
		for _, size := range []int64{400, 20000} {
			for _, measuring := range []float64{0, 0.1, 0.5} {
				p, err := plan.New(learning(t, epsilon, measuring, size))
				if err != nil {
					t.Fatal(err)
				}
				want := []privacy.Event{p.Evidence.Event()}
				if (p.Measure != nil) != (measuring > 0) {
					t.Fatalf("a share of %v for measuring: %+v", measuring, p.Measure)
				}
				if p.Measure != nil {
					want = append(want, p.Measure.Event())
				}
				if got := privacy.Canonical(privacy.Compose{Events: want}); p.Event().String() != got.String() {
					t.Errorf("it pays for %s, and does %s", p.Event(), got)
				}
				costs, err := accountant.Auto{}.Epsilon(privacy.Canonical(privacy.Compose{Events: want}), p.Adjacency, p.Delta)
				if err != nil {
					t.Fatal(err)
				}
				if costs.Upper > epsilon*(1+1e-9) || costs.Upper < 0.98*epsilon {
					t.Errorf("ε = %v, size %d, measuring %v: it costs %v", epsilon, size, measuring, costs.Upper)
				}
				at := expect.At(t, "the plan")
				expect.True(at, "p.Learns()", p.Learns(), p)
				expect.True(at, "p.Reads()", p.Reads(), p)
				expect.True(at, "p.Private()", p.Private(), p)
				expect.Equal(at, "p.Method()", p.Method(), plan.Learns)
				expect.Equal(at, "p.Texts()", p.Texts(), 0)
				expect.True(at, "p.Proof() that is not empty", p.Proof() != "")
				expect.Contains(at, "p.Steps()", p.Steps(), "no language model")
				if p.Cost(plan.Shape{Instruction: 10}, plan.Speed{Prefill: 1}).Cached.Tokens != 0 {
					t.Error("tokens go through a model")
				}
				data, err := json.Marshal(p)
				if err != nil {
					t.Fatal(err)
				}
				var again plan.Plan
				err = json.Unmarshal(data, &again)
				at = expect.At(t, "read again")
				expect.NoError(at, err)
				expect.True(at, "again.Evidence equal to p.Evidence", reflect.DeepEqual(again.Evidence, p.Evidence), again.Evidence, p.Evidence)
				expect.NoError(at, again.Check())
			}
		}
	}
}

// TestLearningRefusals: what learning cannot do is said before anything is spent.
func TestLearningRefusals(t *testing.T) {
	for want, change := range map[string]func(*plan.Request){
		"an ε above 0":             func(r *plan.Request) { r.Epsilon = 0 },
		"such as 1, not +Inf":      func(r *plan.Request) { r.Epsilon = math.Inf(1) },
		"closed list of labels":    func(r *plan.Request) { r.Task = builtin(t, "mit-g") },
		"the task samsum has none": func(r *plan.Request) { r.Task = builtin(t, "samsum") },
		"sotto model pull minilm":  func(r *plan.Request) { r.Learning = &plan.LearnRequest{} },
		"rather than have them":    func(r *plan.Request) { r.Size, r.Count = 0, true },
		"leave out endings":        func(r *plan.Request) { r.Ending = true },
		"share of ε for measuring": func(r *plan.Request) { r.Learning = &plan.LearnRequest{Encoder: "toy", Measuring: 1} },
		"leave out what is for":    func(r *plan.Request) { r.Choosing = &plan.ChooseRequest{} },
		"has to be declared":       func(r *plan.Request) { r.Size = 0 },
		"fewer than the 4 labels":  func(r *plan.Request) { r.Size = 3 },
	} {
		t.Run(want, func(t *testing.T) {
			r := learning(t, 1, 0, 20000)
			change(&r)
			if _, err := plan.New(r); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	if r := learning(t, 1, 0, 20000).By("clipped"); r.Learning != nil {
		t.Error("another method learns")
	}
}
