package draw_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/draw/drawtest"
)

func TestWrongSchemes(t *testing.T) {
	poisson := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.5}
	for want, change := range map[string]func(*scheme.Scheme){
		"not in (0, 1]":           func(l *scheme.Scheme) { l.Rate = 0 },
		"rate of 1.5":             func(l *scheme.Scheme) { l.Rate = 1.5 },
		"rate of NaN":             func(l *scheme.Scheme) { l.Rate = math.NaN() },
		"unknown way to draw":     func(l *scheme.Scheme) { l.Kind = "all" },
		"per text or per token":   func(l *scheme.Scheme) { l.Per = "" },
		"go together":             func(l *scheme.Scheme) { l.Prompts = 3 },
		"records per prompt (-1)": func(l *scheme.Scheme) { l.Prompts, l.PerPrompt = 3, -1 },
		"cannot draw 3 of 2":      func(l *scheme.Scheme) { l.Kind, l.Take, l.Of = scheme.FixedSize, 3, 2 },
		"cannot draw 0 of 2":      func(l *scheme.Scheme) { l.Kind, l.Take, l.Of = scheme.FixedSize, 0, 2 },
		"number of batches":       func(l *scheme.Scheme) { l.Kind = scheme.Disjoint },
		"serves a whole text":     func(l *scheme.Scheme) { l.Kind, l.Batches, l.Per = scheme.Disjoint, 2, scheme.PerToken },
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
	fixed := scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 2, Of: 5}
	if _, err := draw.NewDrawer(units(6), newKey(t)).Draw(fixed, draw.Text{}, 1); !errors.Is(err, draw.ErrSize) {
		t.Errorf("5 declared units are drawn from 6: %v", err)
	}
}

func schemes() *rapid.Generator[scheme.Scheme] {
	return rapid.Custom(func(t *rapid.T) scheme.Scheme {
		l := scheme.Scheme{Per: rapid.SampledFrom([]scheme.Per{scheme.PerText, scheme.PerToken}).Draw(t, "per")}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			l.Kind, l.Rate = scheme.Poisson, rapid.Float64Range(0.01, 1).Draw(t, "rate")
		case 1:
			l.Kind, l.Of = scheme.FixedSize, 4
			l.Take = rapid.Int64Range(1, 4).Draw(t, "take")
		case 2:
			l.Kind, l.Per, l.Batches = scheme.Disjoint, scheme.PerText, rapid.Int64Range(1, 9).Draw(t, "batches")
		}
		if rapid.Bool().Draw(t, "prompts") {
			l.Prompts, l.PerPrompt = rapid.IntRange(1, 3).Draw(t, "prompts"), rapid.IntRange(1, 3).Draw(t, "per prompt")
		}
		return l
	})
}

// TestAnyScheme: whatever the scheme, a sample has its prompts, no unit twice, no prompt too
// full, and is one that can be.
func TestAnyScheme(t *testing.T) {
	key := newKey(t)
	text := uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		l := schemes().Draw(t, "scheme")
		raw, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var back scheme.Scheme
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
