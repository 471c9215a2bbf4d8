package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

// TestPlainWhoIsDrawn: an event takes credit for sampling where somebody is left out of a draw, also
// where some part is drawn as a whole.
func TestPlainWhoIsDrawn(t *testing.T) {
	agnews, genres := builtin(t, "agnews"), builtin(t, "mit-g")
	for name, c := range map[string]struct {
		request plan.Request
		sampled bool
	}{
		"a rate below 1":   {plan.Request{Task: agnews, Size: 4000, Epsilon: 1, Settings: method.Values{"batch": 16}}, true},
		"a rate of 1":      {plan.Request{Task: agnews, Size: 64, Epsilon: 1, Settings: method.Values{"batch": 16}}, false},
		"1 for one label":  {plan.Request{Task: agnews, Size: 4000, Epsilon: 1, Sizes: map[string]int64{"World": 16}, Settings: method.Values{"batch": 16}}, true},
		"two rates":        {plan.Request{Task: agnews, Size: 4000, Epsilon: 1, Sizes: map[string]int64{"World": 100}, Settings: method.Values{"batch": 16}}, true},
		"all, fixed size":  {plan.Request{Task: genres, Size: 16, Epsilon: 1, Sampler: scheme.FixedSize, Settings: method.Values{"batch": 16}}, false},
		"some, fixed size": {plan.Request{Task: genres, Size: 1600, Epsilon: 1, Sampler: scheme.FixedSize, Settings: method.Values{"batch": 16}}, true},
		"disjoint":         {plan.Request{Task: agnews, Size: 4000, Epsilon: 1, Sampler: scheme.Disjoint, Settings: method.Values{"batch": 16}}, false},
		"per token":        {plan.Request{Task: agnews, Size: 4000, Epsilon: 1, Method: "gaussian"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := plan.New(c.request)
			if err != nil {
				t.Fatalf("%v", err)
			}
			if got := privacy.Sampled(p.Event()); got != c.sampled {
				t.Errorf("sampled is %v of %s", got, p.Event())
			}
		})
	}
}

// TestSizesThatDoNotAddUp: each has words of its own.
func TestSizesThatDoNotAddUp(t *testing.T) {
	agnews := builtin(t, "agnews")
	for want, r := range map[string]plan.Request{
		"fewer than the 4 labels":             {Task: agnews, Size: 3, Epsilon: 1},
		`no size is declared for the label "`: {Task: agnews, Epsilon: 1, Sizes: map[string]int64{"World": 1000}},
		"add up to the size of the whole":     {Task: agnews, Size: 1000, Epsilon: 1, Sizes: map[string]int64{"World": 1000}},
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

// TestPlainTextsOfAPart: a part pays for as many texts as it may be asked for, whichever labels
// come first.
func TestPlainTextsOfAPart(t *testing.T) {
	agnews, genres := builtin(t, "agnews"), builtin(t, "mit-g")
	for shots, want := range map[int]int64{4: 1, 5: 2, 9: 3} {
		// What is repeated for a text of one token is the text. Of clipped, which draws once
		// a text, plans take longer: one will do.
		r := plan.Request{Task: agnews, Size: 40000, Epsilon: 1, Method: "noisymax", Shots: shots, Tokens: 1}
		if shots == 5 {
			r.Method, r.Settings, r.Tokens = "clipped", method.Values{"batch": 16}, 4
		}
		p, err := plan.New(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range p.Parts {
			if part.Texts != want {
				t.Errorf("%d texts of 4 labels: %d of %s", shots, part.Texts, part.Label)
			}
		}
		if want > 1 && !strings.HasPrefix(p.Event().String(), fmt.Sprintf("repeat(%d, poisson(", want)) {
			t.Errorf("%d texts of 4 labels are charged as %s", shots, p.Event())
		}
		p, err = plan.New(plan.Request{Task: genres, Size: 40000, Epsilon: 1, Method: "noisymax", Shots: shots, Tokens: 1})
		if err != nil {
			t.Fatal(err)
		}
		if p.Parts[0].Texts != int64(shots) {
			t.Errorf("%d texts of open labels: %d", shots, p.Parts[0].Texts)
		}
	}
}

// TestPlainDiscoveryIsPaidFor, with its own ε and δ.
func TestPlainDiscoveryIsPaidFor(t *testing.T) {
	p, err := plan.New(plan.Request{Task: builtin(t, "mit-g"), Size: 2953, Epsilon: 4, Delta: 1e-6, Tokens: 4, Discover: true, Settings: method.Values{"batch": 16}})
	if err != nil {
		t.Fatal(err)
	}
	expect.Contains(t, "p.Event()", p.Event().String(), "approx(0.4, 1e-07)")
	expect.Equal(t, "p.Discover.Epsilon", p.Discover.Epsilon, 0.4)
	expect.Equal(t, "p.Discover.Delta", p.Discover.Delta, 1e-7)
}

// TestExchangedUnits: a unit that is exchanged for another may be in two parts, so that
// under replace-one adjacency no part is left out of the event.
func TestExchangedUnits(t *testing.T) {
	p, err := plan.New(plan.Request{Task: builtin(t, "mit-g"), Size: 1600, Epsilon: 1, Sampler: scheme.FixedSize, Settings: method.Values{"batch": 16}})
	if err != nil {
		t.Fatal(err)
	}
	p.Parts = append(p.Parts, p.Parts[0])
	if got := p.Event().String(); strings.Count(got, "fixedsize(") != 2 {
		t.Errorf("two parts are charged as %s", got)
	}
}

// TestEndingIsPaidFor, with its own ε and δ, no matter who writes the texts; and it needs some.
func TestEndingIsPaidFor(t *testing.T) {
	if testing.Short() {
		t.Skip("several calibrations of long events")
	}
	q := plan.Request{Task: builtin(t, "agnews"), Size: 20000, Epsilon: 1, Delta: 1e-6, Tokens: 4, Ending: true, Settings: method.Values{"batch": 16}}
	for name, c := range map[string]*plan.ChooseRequest{"written": nil, "chosen": {Work: 1000}, "model-generated": {Work: 1000, Writing: -1}} {
		t.Run(name, func(t *testing.T) {
			q.Choosing = c
			p, err := plan.New(q)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(p.Event().String(), "approx(0.05, 1e-07)") || p.Ending.MinUnits != 10001 {
				t.Errorf("%+v is not in %s", p.Ending, p.Event())
			}
			got, err := accountant.Auto{}.Epsilon(p.Event(), p.Adjacency, p.Delta)
			if err != nil || got.Upper > 1 {
				t.Errorf("ε = %v, %v", got, err)
			}
		})
	}
	q.Choosing = &plan.ChooseRequest{NoGeneration: true, Examples: []prompt.Example{{Input: "a", Output: "World"}}}
	if _, err := plan.New(q); err == nil || !strings.Contains(err.Error(), "no texts are to be written") {
		t.Errorf("%v", err)
	}
	q.Choosing, q.EndingEpsilon = nil, 2
	if _, err := plan.New(q); err == nil || !strings.Contains(err.Error(), "needs an ε between") {
		t.Errorf("%v", err)
	}
}
