package plan_test

import (
	"math"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// TestPublishedPlan: the plan of the paper's SAMSum at ε = 2 has the settings of its
// table, and no guarantee but words about the claim.
func TestPublishedPlan(t *testing.T) {
	a, err := plan.NewAnswers(plan.Request{Task: builtin(t, "samsum"), Method: "mixing-published", Epsilon: 2, Delta: 1. / 14732, Size: 14732, Answers: 100})
	if err != nil {
		t.Fatal(err)
	}
	m := a.Write.Method.(*decode.PublishedMixing)
	at := expect.At(t, "the paper's settings")
	expect.Equal(at, "m.Order", m.Order, 8)
	expect.Max(at, "math.Abs(m.Beta-0.179)", math.Abs(m.Beta-0.179), 0.001)
	expect.Equal(at, "m.Candidates", m.Candidates, 100)
	expect.Equal(at, "m.Draw", m.Draw, scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 4, Of: 14732})
	expect.True(t, "not a.Private()", !a.Private(), a)
	expect.Equal(t, "a.Proof()", a.Proof(), "")
	expect.Equal(t, "a.Adjacency", a.Adjacency, privacy.ReplaceOne)
	expect.Prefix(t, "a.Claim()", a.Claim(), "ε = 2 at δ = 6.78")
	expect.Contains(t, "a.Claim()", a.Claim(), "claimed, not proven")
	if !strings.Contains(a.Noise(), "β = 0.179, claimed") || !strings.Contains(a.Event().String(), "nonprivate()") {
		t.Errorf("noise %q, event %s", a.Noise(), a.Event())
	}
	for want, change := range map[string]func(*plan.Request){
		"leaves nothing at order 3": func(r *plan.Request) { r.Settings = method.Values{"order": 3} },
		"of at least 2":             func(r *plan.Request) { r.Settings = method.Values{"order": 1} },
		"not have the setting temp": func(r *plan.Request) { r.Settings = method.Values{"temperature": 1} },
		"a fixed number of records": func(r *plan.Request) { r.Sampler = scheme.Poisson },
		"mixing-published does not": func(r *plan.Request) { r.Settings = method.Values{"mean": "product"} },
		"an ε above 0":              func(r *plan.Request) { r.Epsilon = 0 },
		"drawn from a part of 3":    func(r *plan.Request) { r.Size = 3 },
		"candidates is 1":           func(r *plan.Request) { r.Settings = method.Values{"candidates": 1} },
	} {
		t.Run(want, func(t *testing.T) {
			r := plan.Request{Task: builtin(t, "samsum"), Method: "mixing-published", Epsilon: 2, Delta: 1. / 14732, Size: 14732}
			change(&r)
			refused(t, r, want)
		})
	}
	// Within labels there is nothing to claim either.
	_, err = plan.New(plan.Request{Task: builtin(t, "agnews"), Method: "mixing-published", Epsilon: 2, Size: 14732})
	if err == nil || !strings.Contains(err.Error(), "no theorem") {
		t.Errorf("a fixed size within labels: %v", err)
	}
}
