package plan_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

func builtin(t testing.TB, name string) prompt.Task {
	t.Helper()
	task, err := prompt.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// TestPlainPlansKeepToTheirEpsilon: whatever the method, task and way to draw, the plan's
// event costs at most what was asked, and not much less.
func TestPlainPlansKeepToTheirEpsilon(t *testing.T) {
	agnews, trec, genres := builtin(t, "agnews"), builtin(t, "trec"), builtin(t, "mit-g")
	for name, r := range map[string]plan.Request{
		"default":         {Task: agnews, Size: 27632, Epsilon: 1},
		"small ε":         {Task: agnews, Size: 27632, Epsilon: 0.1},
		"several texts":   {Task: agnews, Size: 27632, Epsilon: 1, Shots: 9, Settings: method.Values{"batch": 32}},
		"unequal labels":  {Task: trec, Sizes: map[string]int64{"Abbreviation": 86, "Number": 896}, Size: 5452, Epsilon: 2, Settings: method.Values{"batch": 16}},
		"open labels":     {Task: genres, Size: 2953, Epsilon: 4},
		"disjoint":        {Task: agnews, Size: 27632, Epsilon: 4, Sampler: scheme.Disjoint, Settings: method.Values{"batch": 64, "centre": decode.Uncentred}},
		"fixed size":      {Task: genres, Size: 2953, Epsilon: 4, Sampler: scheme.FixedSize, Settings: method.Values{"batch": 32}},
		"gaussian":        {Task: agnews, Size: 27632, Epsilon: 1, Method: "gaussian"},
		"mixing":          {Task: agnews, Size: 27632, Epsilon: 1, Method: "mixing"},
		"noisymax":        {Task: agnews, Size: 27632, Epsilon: 8, Method: "noisymax"},
		"radius":          {Task: agnews, Size: 27632, Epsilon: 1, Method: "radius"},
		"counted":         {Task: agnews, Count: true, Epsilon: 1, Settings: method.Values{"batch": 32}},
		"discovered":      {Task: genres, Size: 2953, Epsilon: 4, Tokens: 10, Discover: true},
		"counted, too":    {Task: genres, Count: true, Epsilon: 4, Discover: true, Settings: method.Values{"batch": 32}},
		"several records": {Task: agnews, Size: 27632, Epsilon: 1, Unit: "user:author", Settings: method.Values{"batch": 32}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := plan.New(r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := accountant.Auto{}.Epsilon(p.Event(), p.Adjacency, p.Delta)
			if err != nil {
				t.Fatal(err)
			}
			if got.Upper > p.Epsilon || got.Upper < 0.97*p.Epsilon {
				t.Errorf("%s costs ε in [%v, %v], asked was %v", p.Event(), got.Lower, got.Upper, p.Epsilon)
			}
			again := reread(t, p)
			if again.Event().String() != p.Event().String() || !reflect.DeepEqual(again, p) {
				t.Errorf("a plan read from a file is another one:\n%+v\n%+v", again, p)
			}
		})
	}
}

func reread(t *testing.T, p plan.Plan) plan.Plan {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var again plan.Plan
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	if err := again.Check(); err != nil {
		t.Fatal(err)
	}
	return again
}

// TestPlanEvents compares events with what methods and papers say they are.
func TestPlanEvents(t *testing.T) {
	agnews := builtin(t, "agnews")
	p, err := plan.New(plan.Request{Task: agnews, Size: 4 * 6908, Epsilon: 1, Delta: 1e-6, Settings: method.Values{"batch": 32, "temperature": 1, "gain": 1}})
	if err != nil {
		t.Fatal(err)
	}
	text := p.Event().String()
	if !strings.HasPrefix(text, "poisson(8/1727, repeat(60, boundedrange(") {
		t.Errorf("the event is %s", text)
	}
	// The clip at B = 32 and τ = 1 of the trial that the defaults come from: 6.1.
	if c := p.Parts[0].Method.Method.(*decode.Clipped).Clip(); c < 6.0 || c > 6.3 {
		t.Errorf("the clip is %v", c)
	}
}

// TestInvisibleInk: disjoint batches without centring have the zCDP of Vinod et al.
// 2025, ρ = T·C²/(2B²τ²).
func TestInvisibleInk(t *testing.T) {
	r := plan.Request{Task: builtin(t, "agnews"), Size: 27632, Epsilon: 3, Sampler: scheme.Disjoint, Settings: method.Values{"batch": 64, "temperature": 1.1, "gain": 1, "centre": decode.Uncentred}}
	p, err := plan.New(r)
	if err != nil {
		t.Fatal(err)
	}
	m := p.Parts[0].Method.Method.(*decode.Clipped)
	rho := 60 * m.Clip() * m.Clip() / (2 * 64 * 64 * 1.1 * 1.1)
	ours := 60 * m.Range * m.Range / 8
	if rho > ours || rho < ours*(1-1e-5) {
		t.Errorf("ρ = %v by the paper's formula, %v by ours", rho, ours)
	}
	// Texts have batches of their own, so more of them cost no more.
	r.Shots = 40
	more, err := plan.New(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := more.Parts[0].Method.Method.(*decode.Clipped).Range; got != m.Range {
		t.Errorf("ten texts a label leave a range of %v, one leaves %v", got, m.Range)
	}
}

// TestCountedRates: what is charged when sizes are counted covers every rate that may
// come of it.
func TestCountedRates(t *testing.T) {
	p, err := plan.New(plan.Request{Task: builtin(t, "agnews"), Count: true, Epsilon: 1, MinSize: 500, Tokens: 10})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Event().String(), "laplace(20)") {
		t.Errorf("the count is not in %s", p.Event())
	}
	for _, part := range p.Parts {
		m := part.Method.Method.(*decode.Clipped)
		if want := m.Expected / 500; m.Draw.Rate != want {
			t.Errorf("rate %v, the largest that a count may give is %v", m.Draw.Rate, want)
		}
	}
}

func TestPlansThatCannotBe(t *testing.T) {
	agnews, genres, samsum := builtin(t, "agnews"), builtin(t, "mit-g"), builtin(t, "samsum")
	for want, r := range map[string]plan.Request{
		"has to be declared":         {Task: agnews, Epsilon: 1},
		"an ε above 0":               {Task: agnews, Size: 1000},
		"unknown method":             {Task: agnews, Size: 1000, Epsilon: 1, Method: "magic"},
		"records are to be drawn":    {Task: agnews, Size: 40, Epsilon: 1},
		"not a label of the task":    {Task: agnews, Size: 1000, Epsilon: 1, Sizes: map[string]int64{"Weather": 4}},
		"no records are left":        {Task: agnews, Size: 1000, Epsilon: 1, Sizes: map[string]int64{"World": 1000}},
		"either declared or counted": {Task: agnews, Size: 1000, Epsilon: 1, Count: true},
		"have no theorem":            {Task: agnews, Size: 10000, Epsilon: 1, Sampler: scheme.FixedSize},
		"under replace-one":          {Task: genres, Size: 10000, Epsilon: 1, Sampler: scheme.FixedSize, Discover: true},
		"closed list":                {Task: agnews, Size: 10000, Epsilon: 1, Discover: true},
		"cannot be discovered":       {Task: samsum, Size: 10000, Epsilon: 1, Discover: true},
		"needs an ε between":         {Task: genres, Size: 10000, Epsilon: 1, Discover: true, DiscoverEpsilon: 2},
		"must be positive":           {Task: agnews, Size: 10000, Epsilon: 1, Shots: -1},
		"disjoint batches of":        {Task: agnews, Size: 400, Epsilon: 1, Shots: 16, Sampler: scheme.Disjoint, Settings: method.Values{"batch": 50}},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := plan.New(r)
			var input *plan.InputError
			if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in: %v", want, err)
			}
		})
	}
}

// TestBaselinesAreNotPrivate: nothing could be charged for them.
func TestBaselinesAreNotPrivate(t *testing.T) {
	for method, private := range map[string]bool{"public": true, "nonprivate": false, "real": false} {
		t.Run(method, func(t *testing.T) {
			p, err := plan.New(plan.Request{Task: builtin(t, "agnews"), Size: 27632, Epsilon: 1, Method: method})
			if err != nil {
				t.Fatal(err)
			}
			if p.Private() != private {
				t.Errorf("private is %v", p.Private())
			}
			cost, err := accountant.Auto{}.Epsilon(p.Event(), privacy.AddRemove, 1e-6)
			if private && (err != nil || cost.Upper != 0) {
				t.Errorf("%s costs %v, %v", method, cost, err)
			}
			if !private && err == nil && cost.Upper < 1e300 {
				t.Errorf("%s has a finite ε of %v", method, cost.Upper)
			}
		})
	}
}
