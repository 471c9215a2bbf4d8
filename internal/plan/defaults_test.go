package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

// TestDefaultsOfKinds: which rules texts have and how much records count follows from the
// kind of a task and from whether its labels are a closed list.
func TestDefaultsOfKinds(t *testing.T) {
	plain := decode.Rules{MinTokens: 5, Penalty: 0.7, NoRepeat: 4, Fields: true, Close: 7}
	contain := plain
	contain.Contain, contain.Favour, contain.After, contain.Within = true, 2, 4, 8
	for _, c := range []struct {
		kind   prompt.Kind
		labels []string
		rules  decode.Rules
		gain   float64
	}{
		{prompt.Classify, []string{"one", "two"}, plain, 1},
		{prompt.Classify, nil, plain, 2},
		{prompt.Extract, nil, contain, 2},
		{prompt.Extract, []string{"one", "two"}, contain, 1},
		{prompt.Generate, nil, plain, 2},
	} {
		task := prompt.Task{Name: "test", Kind: c.kind, Text: "text", Label: "label", Labels: c.labels, Limits: prompt.Limits{MinTokens: 5}}
		if len(c.labels) == 0 {
			task.Conditions = []string{"one"}
		}
		what := fmt.Sprintf("%s, %d labels", c.kind, len(c.labels))
		if got := plan.DefaultRules(task); got != c.rules {
			t.Errorf("%s: rules %+v, not %+v", what, got, c.rules)
		}
		if got := decode.DefaultGain(task); got != c.gain {
			t.Errorf("%s: a gain of %v, not %v", what, got, c.gain)
		}
		r := plan.Request{Task: task, Size: 2000, Epsilon: 4, Shots: 1, Tokens: 9, Settings: method.Values{"batch": 16}}
		p := mustPlan(t, r)
		if got := p.Parts[0].Method.Method.(*decode.Clipped).Gain; p.Rules != c.rules || got != c.gain {
			t.Errorf("%s: a plan has the rules %+v and a gain of %v", what, p.Rules, got)
		}
		if again := reread(t, p); again.Rules != c.rules {
			t.Errorf("%s: rules come back as %+v", what, again.Rules)
		}
		// What is asked for is kept.
		own := decode.Rules{MinTokens: 2, Contain: !c.rules.Contain}
		r.Rules, r.Settings = &own, method.Values{"batch": 16, "gain": 1.5}
		p = mustPlan(t, r)
		if got := p.Parts[0].Method.Method.(*decode.Clipped).Gain; p.Rules != own || got != 1.5 {
			t.Errorf("%s: a plan with rules of its own has %+v and a gain of %v", what, p.Rules, got)
		}
	}
}

func mustPlan(t *testing.T, r plan.Request) plan.Plan {
	t.Helper()
	p, err := plan.New(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRadiusAtSmallEpsilon: there is a plan, within its ε, for the tasks of the papers
// and the sizes of their data, with noise in the paper's proportions.
func TestRadiusAtSmallEpsilon(t *testing.T) {
	for name, size := range map[string]int64{"agnews": 27632, "dbpedia": 15274, "trec": 5452, "mit-g": 2953, "mit-d": 1561} {
		t.Run(name, func(t *testing.T) {
			p := mustPlan(t, plan.Request{Task: builtin(t, name), Method: "radius", Size: size, Epsilon: 0.1, Delta: 1e-6})
			cost, err := accountant.Auto{}.Epsilon(p.Event(), p.Adjacency, p.Delta)
			if err != nil {
				t.Fatal(err)
			}
			if cost.Upper > 0.1 || cost.Upper < 0.097 {
				t.Errorf("ε in [%v, %v]", cost.Lower, cost.Upper)
			}
			for _, part := range p.Parts {
				r := part.Method.Method.(*decode.Radius)
				// Proportions are those of noise by itself; draws change them by little.
				a, b := r.Sigma0/r.Sigma1, r.Sigma2/r.Sigma1
				expect.Min(t, "r.Sigma0", r.Sigma0, 10)
				expect.Min(t, "r.Sigma2", r.Sigma2, 3)
				expect.Within(t, "σ0/σ1", a, 6.95, 7.1)
				expect.Within(t, "σ2/σ1", b, 2.38, 2.5)
			}
		})
	}
}

// TestRadiusSettings: the paper's constants where they leave enough, and what is asked for
// in any case.
func TestRadiusSettings(t *testing.T) {
	for name, c := range map[string]struct {
		epsilon        float64
		asked          method.Values
		sigma0, sigma2 float64
		lambda         float64
		rounds         int
	}{
		"ε = 1":           {1, nil, 10, 3, 0.15, 1},
		"both":            {0.1, method.Values{"sigma0": 30, "sigma2": 8}, 30, 8, 0.15, 1},
		"one":             {1, method.Values{"sigma0": 5}, 5, 3, 0.15, 1},
		"the other":       {1, method.Values{"sigma2": 4}, 10, 4, 0.15, 1},
		"rounds, as well": {2, method.Values{"lambda": 0.25, "rounds": 2}, 10, 3, 0.25, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustPlan(t, plan.Request{Task: builtin(t, "agnews"), Method: "radius", Size: 27632, Epsilon: c.epsilon, Delta: 1e-6, Tokens: 20, Settings: c.asked})
			r := p.Parts[0].Method.Method.(*decode.Radius)
			at := expect.At(t, "%s", name)
			expect.Equal(at, "r.Sigma0", r.Sigma0, c.sigma0)
			expect.Equal(at, "r.Sigma2", r.Sigma2, c.sigma2)
			expect.Equal(at, "r.Lambda", r.Lambda, c.lambda)
			expect.Equal(at, "r.Rounds", r.Rounds, c.rounds)
			cost, err := accountant.Auto{}.Epsilon(p.Event(), p.Adjacency, p.Delta)
			at = expect.At(t, "the cost of %s", name)
			expect.NoError(at, err)
			expect.Within(at, "cost.Upper", cost.Upper, 0.97*c.epsilon, c.epsilon)
		})
	}
	// What is asked for may leave nothing, which is said.
	_, err := plan.New(plan.Request{Task: builtin(t, "mit-d"), Method: "radius", Size: 1561, Epsilon: 0.1, Delta: 1e-6, Settings: method.Values{"sigma0": 10, "sigma2": 3}})
	if input := new(plan.InputError); !errors.As(err, &input) || !strings.Contains(err.Error(), "no setting of radius") {
		t.Errorf("ε = 0.1 with noise for more: %v", err)
	}
}

// TestRealDraws: copies are of a draw that is hardly ever empty, and no larger than the
// part.
func TestRealDraws(t *testing.T) {
	for size, want := range map[int64]float64{4 * 6400: 0.01, 4 * 64: 1, 4 * 20: 1} {
		p := mustPlan(t, plan.Request{Task: builtin(t, "agnews"), Method: "real", Size: size})
		if got := p.Parts[0].Method.Scheme().Rate; got != want {
			t.Errorf("of %d in four parts, each is drawn at %v, not %v", size, got, want)
		}
	}
}
