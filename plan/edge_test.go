package plan_test

import (
	"errors"
	"strings"
	"testing"

	"sotto/plan"
	"sotto/privacy"
	"sotto/private/draw"
)

// TestInnerEvents: what protects those who are drawn is what a sampling node of the
// plan's event runs, also where some part, or every one, is drawn as a whole.
func TestInnerEvents(t *testing.T) {
	agnews, genres := builtin(t, "agnews"), builtin(t, "mit-g")
	for name, c := range map[string]struct {
		request plan.Request
		inner   int
	}{
		"a rate below 1":   {plan.Request{Task: agnews, Size: 4000, Epsilon: 1, Batch: 16}, 1},
		"a rate of 1":      {plan.Request{Task: agnews, Size: 64, Epsilon: 1, Batch: 16}, 0},
		"1 for one label":  {plan.Request{Task: agnews, Size: 4000, Epsilon: 1, Batch: 16, Sizes: map[string]int64{"World": 16}}, 1},
		"two rates":        {plan.Request{Task: agnews, Size: 4000, Epsilon: 1, Batch: 16, Sizes: map[string]int64{"World": 100}}, 2},
		"all, fixed size":  {plan.Request{Task: genres, Size: 16, Epsilon: 1, Batch: 16, Sampler: draw.FixedSize}, 0},
		"some, fixed size": {plan.Request{Task: genres, Size: 1600, Epsilon: 1, Batch: 16, Sampler: draw.FixedSize}, 1},
		"disjoint":         {plan.Request{Task: agnews, Size: 4000, Epsilon: 1, Batch: 16, Sampler: draw.Disjoint}, 0},
		"per token":        {plan.Request{Task: agnews, Size: 4000, Epsilon: 1, Method: "gaussian"}, 1},
	} {
		p, err := plan.New(c.request)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		run := map[string]bool{}
		err = privacy.Walk(p.Event(), func(n privacy.Event, _ int) error {
			switch v := n.(type) {
			case privacy.Poisson:
				run[v.Event.String()] = true
			case privacy.FixedSize:
				run[v.Event.String()] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		inner := p.Inner()
		if len(inner) != c.inner {
			t.Errorf("%s: %d inner events, not %d: %v", name, len(inner), c.inner, inner)
		}
		for _, e := range inner {
			if !run[e.String()] {
				t.Errorf("%s: %s runs no %s", name, p.Event(), e)
			}
		}
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
		_, err := plan.New(r)
		var input *plan.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}
