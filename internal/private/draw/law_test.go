package draw_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/draw/drawtest"
	"github.com/sotto-dp/sotto/privacy"
)

func TestEvents(t *testing.T) {
	step := privacy.Gaussian{Sigma: 2}
	for _, c := range []struct {
		law             draw.Law
		text, two       string
		adjacency       privacy.Adjacency
		expectedOf10000 float64
	}{
		{
			draw.Law{Kind: draw.Poisson, Per: draw.PerToken, Rate: 0.002},
			"repeat(7, poisson(0.002, gaussian(2)))", "repeat(2, repeat(7, poisson(0.002, gaussian(2))))", privacy.AddRemove, 20,
		},
		{
			draw.Law{Kind: draw.Poisson, Per: draw.PerText, Rate: 0.002},
			"poisson(0.002, repeat(7, gaussian(2)))", "repeat(2, poisson(0.002, repeat(7, gaussian(2))))", privacy.AddRemove, 20,
		},
		{
			draw.Law{Kind: draw.FixedSize, Per: draw.PerToken, Take: 20, Of: 10000},
			"repeat(7, fixedsize(10000, 20, gaussian(2)))", "repeat(2, repeat(7, fixedsize(10000, 20, gaussian(2))))", privacy.ReplaceOne, 20,
		},
		{
			draw.Law{Kind: draw.FixedSize, Per: draw.PerText, Take: 20, Of: 10000},
			"fixedsize(10000, 20, repeat(7, gaussian(2)))", "repeat(2, fixedsize(10000, 20, repeat(7, gaussian(2))))", privacy.ReplaceOne, 20,
		},
		{
			// A unit is in one batch: a second text costs it nothing.
			draw.Law{Kind: draw.Disjoint, Per: draw.PerText, Batches: 500},
			"repeat(7, gaussian(2))", "repeat(7, gaussian(2))", privacy.AddRemove, 20,
		},
	} {
		text := c.law.Event(step, 7)
		if !same(t, text, c.text) {
			t.Errorf("%+v: a text costs %v, not %s", c.law, text, c.text)
		}
		if two := c.law.Texts(text, 2); !same(t, two, c.two) {
			t.Errorf("%+v: two texts cost %v, not %s", c.law, two, c.two)
		}
		if got := c.law.Adjacency(); got != c.adjacency {
			t.Errorf("%+v is about %s", c.law, got)
		}
		if got := c.law.Expected(10000); math.Abs(got-c.expectedOf10000) > 1e-9 {
			t.Errorf("%+v expects %v", c.law, got)
		}
	}
}

func same(t *testing.T, e privacy.Event, expr string) bool {
	t.Helper()
	want, err := privacy.Parse(expr)
	if err != nil {
		t.Fatal(err)
	}
	return privacy.Canonical(e).String() == privacy.Canonical(want).String()
}

func TestWrongLaws(t *testing.T) {
	poisson := draw.Law{Kind: draw.Poisson, Per: draw.PerText, Rate: 0.5}
	for want, change := range map[string]func(*draw.Law){
		"not in (0, 1]":           func(l *draw.Law) { l.Rate = 0 },
		"rate of 1.5":             func(l *draw.Law) { l.Rate = 1.5 },
		"rate of NaN":             func(l *draw.Law) { l.Rate = math.NaN() },
		"unknown way to draw":     func(l *draw.Law) { l.Kind = "all" },
		"per text or per token":   func(l *draw.Law) { l.Per = "" },
		"go together":             func(l *draw.Law) { l.Prompts = 3 },
		"records per prompt (-1)": func(l *draw.Law) { l.Prompts, l.PerPrompt = 3, -1 },
		"cannot draw 3 of 2":      func(l *draw.Law) { l.Kind, l.Take, l.Of = draw.FixedSize, 3, 2 },
		"cannot draw 0 of 2":      func(l *draw.Law) { l.Kind, l.Take, l.Of = draw.FixedSize, 0, 2 },
		"number of batches":       func(l *draw.Law) { l.Kind = draw.Disjoint },
		"serves a whole text":     func(l *draw.Law) { l.Kind, l.Batches, l.Per = draw.Disjoint, 2, draw.PerToken },
	} {
		l := poisson
		change(&l)
		err := l.Check()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, which does not say %q", l, err, want)
		}
		if _, drawing := draw.NewDrawer(units(2), newKey(t)).Draw(l, draw.Text{}, 1); drawing == nil {
			t.Errorf("%+v draws", l)
		}
	}
	fixed := draw.Law{Kind: draw.FixedSize, Per: draw.PerText, Take: 2, Of: 5}
	if _, err := draw.NewDrawer(units(6), newKey(t)).Draw(fixed, draw.Text{}, 1); !errors.Is(err, draw.ErrSize) {
		t.Errorf("5 declared units are drawn from 6: %v", err)
	}
}

func laws() *rapid.Generator[draw.Law] {
	return rapid.Custom(func(t *rapid.T) draw.Law {
		l := draw.Law{Per: rapid.SampledFrom([]draw.Per{draw.PerText, draw.PerToken}).Draw(t, "per")}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			l.Kind, l.Rate = draw.Poisson, rapid.Float64Range(0.01, 1).Draw(t, "rate")
		case 1:
			l.Kind, l.Of = draw.FixedSize, 4
			l.Take = rapid.Int64Range(1, 4).Draw(t, "take")
		case 2:
			l.Kind, l.Per, l.Batches = draw.Disjoint, draw.PerText, rapid.Int64Range(1, 9).Draw(t, "batches")
		}
		if rapid.Bool().Draw(t, "prompts") {
			l.Prompts, l.PerPrompt = rapid.IntRange(1, 3).Draw(t, "prompts"), rapid.IntRange(1, 3).Draw(t, "per prompt")
		}
		return l
	})
}

// TestAnyLaw: whatever the law, a sample has its prompts, no unit twice, no prompt too
// full, and is one that can be.
func TestAnyLaw(t *testing.T) {
	key := newKey(t)
	text := uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		l := laws().Draw(t, "law")
		raw, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var back draw.Law
		if err := json.Unmarshal(raw, &back); err != nil || back != l {
			t.Fatalf("%s comes back as %+v: %v", raw, back, err)
		}
		total := 0.0
		possible := map[string]bool{}
		for _, o := range drawtest.Outcomes(l, 4) {
			total += o.Probability
			possible[o.String()] = true
		}
		if math.Abs(total-1) > 1e-9 {
			t.Fatalf("outcomes of %+v add up to %v", l, total)
		}
		text++
		samples, err := draw.NewDrawer(units(4), key).Draw(l, draw.Text{Index: text, Place: int64(text) % max(1, l.Batches)}, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			if !possible[name(s)] {
				t.Fatalf("%+v draws %s", l, name(s))
			}
			if l.Prompts > 0 && len(s.Prompts)+s.Empty != l.Prompts {
				t.Fatalf("%d and %d prompts, not %d", len(s.Prompts), s.Empty, l.Prompts)
			}
		}
	})
}
