package measure_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/privacytest"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// tickets are 60 articles in two parts. With the oracle all but the last 6 of each part are
// answered rightly; without it those of the first part, which are World.
func tickets() pool {
	p := make(pool, 2)
	for part, label := range []string{"World", "Sports"} {
		for i := range 30 {
			says := label
			if i >= 24 {
				says = "Business"
			}
			p[part] = append(p[part], seal.NewRecord(int64(30*part+i+1), label, "an article ("+says+")"))
		}
	}
	return p
}

func task(t testing.TB) prompt.Task {
	t.Helper()
	out, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var (
	zero   = prompt.Prompt{}
	oracle = prompt.Prompt{Instruction: "Ask the oracle."}
)

// nearly is a measurement of all records whose noise rounds to nothing.
func nearly(prompts int, v measure.Grade) measure.Measure {
	return measure.Measure{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 1}, Scale: 0.01, Prompts: prompts, Grade: v}
}

func options(t testing.TB, m measure.Measure, seed uint64) measure.Options {
	t.Helper()
	return measure.Options{Model: toy{}.trusted(t), Task: task(t), Pool: tickets(), Parts: 2, Key: noise.KeyFromSeed(seed), Measure: m}
}

func counts(t testing.TB, o measure.Options, prompts ...prompt.Prompt) measure.Outcome {
	t.Helper()
	m, err := measure.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Counts(t.Context(), prompts)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCounts: with hardly any noise the counts are what the model gets right.
func TestCounts(t *testing.T) {
	of := map[string]measure.Count{"zero": {Right: 30, Wrong: 30}, "oracle": {Right: 48, Wrong: 12}}
	if got := counts(t, options(t, nearly(1, measure.Right), 1), zero); got.Counts[0] != of["zero"] || got.Pair != nil {
		t.Errorf("zero-shot: %+v", got)
	}
	got := counts(t, options(t, nearly(2, measure.Right), 1), zero, oracle)
	want := (measure.Pair{Both: 24, First: 6, Second: 24, Neither: 6})
	at := expect.At(t, "two")
	expect.Equal(at, "*got.Pair", *got.Pair, want)
	expect.Equal(at, "got.Counts[0]", got.Counts[0], of["zero"])
	expect.Equal(at, "got.Counts[1]", got.Counts[1], of["oracle"])
	calibrated := prompt.Prompt{Calibrated: true}
	got = counts(t, options(t, nearly(3, measure.Right), 1), zero, oracle, calibrated)
	at = expect.At(t, "three")
	expect.Equal(at, "got.Counts[0]", got.Counts[0], of["zero"])
	expect.Equal(at, "got.Counts[1]", got.Counts[1], of["oracle"])
	expect.True(at, "got.Pair is nil", got.Pair == nil, got.Pair)
	if want := nearly(3, measure.Right).Event().String(); got.Event.String() != want || want != "repeat(3, laplace(0.01))" {
		t.Errorf("three cost %v, not %v", got.Event, want)
	}
	counted := nearly(2, measure.Right)
	counted.Labels = 4
	got = counts(t, options(t, counted, 1), zero, oracle)
	at = expect.At(t, "by label")
	expect.True(at, "30 of each of two labels", slices.Equal(got.Labels, []int64{30, 30, 0, 0}), got.Labels)
	expect.Equal(at, "got.Counts[1]", got.Counts[1], of["oracle"])
	expect.Equal(at, "got.Event.String", got.Event.String(), "repeat(2, laplace(0.01))")
	counted.Labels = 3
	if _, err := measure.New(t.Context(), options(t, counted, 1)); err == nil {
		t.Error("records are counted by three labels of four")
	}
	fixed := nearly(1, measure.Right)
	fixed.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 30, Of: 30}
	o := options(t, fixed, 1)
	o.Pool, o.Parts = tickets()[:1], 1
	if got := counts(t, o, oracle); got.Counts[0] != (measure.Count{Right: 24, Wrong: 6}) {
		t.Errorf("a fixed size: %+v", got)
	}
}

// TestWrittenOutputs: grades in between add up to the number of records, too.
func TestWrittenOutputs(t *testing.T) {
	o := options(t, nearly(1, measure.Probability), 1)
	got := counts(t, o, oracle).Counts[0]
	at := expect.At(t, "probability")
	expect.Min(at, "got.Right+got.Wrong", got.Right+got.Wrong, 59)
	expect.Max(at, "got.Right+got.Wrong", got.Right+got.Wrong, 61)
	expect.Min(at, "got.Right", got.Right, 40)
	expect.Max(at, "got.Right", got.Right, 48)
	o.Task.Kind, o.Task.Labels = prompt.Generate, nil
	if got := measure.Default(o.Task); got != measure.Rouge {
		t.Errorf("written outputs are measured by %s", got)
	}
	o.Measure.Grade = measure.Written
	if got = counts(t, o, zero).Counts[0]; got.Right+got.Wrong < 59 || got.Right+got.Wrong > 61 {
		t.Errorf("written: %+v", got)
	}
}

// TestReplay: the same key gives the same numbers, another one others; and a draw is of its
// own, whatever else the key is used for.
func TestReplay(t *testing.T) {
	m := nearly(2, measure.Right)
	m.Draw.Rate, m.Scale = 0.5, 3
	first := counts(t, options(t, m, 1), zero, oracle)
	if again := counts(t, options(t, m, 1), zero, oracle); !reflect.DeepEqual(first, again) {
		t.Errorf("%+v, then %+v", first, again)
	}
	if other := counts(t, options(t, m, 2), zero, oracle); reflect.DeepEqual(first, other) {
		t.Error("another key gives the same numbers")
	}
}

// TestOneLook: a measurer is for one list of prompts, of the number that is paid for.
func TestOneLook(t *testing.T) {
	m, err := measure.New(t.Context(), options(t, nearly(1, measure.Right), 1))
	if err != nil {
		t.Fatal(err)
	}
	first, err := m.Counts(t.Context(), []prompt.Prompt{zero})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.Counts(t.Context(), []prompt.Prompt{zero}); err != nil || !reflect.DeepEqual(first, again) {
		t.Errorf("again: %v, %+v", err, again)
	}
	if _, err := m.Counts(t.Context(), []prompt.Prompt{oracle}); err == nil || !strings.Contains(err.Error(), "looks once") {
		t.Errorf("another prompt: %v", err)
	}
	for _, n := range []int{0, 2} {
		if _, err := m.Counts(t.Context(), make([]prompt.Prompt, n)); err == nil || !strings.Contains(err.Error(), "paid for") {
			t.Errorf("%d prompts: %v", n, err)
		}
	}
}

// forgery embeds a pool, and would decide who is drawn.
type forgery struct{ pool }

// TestRefusals: all before a record is read.
func TestRefusals(t *testing.T) {
	fine := options(t, nearly(1, measure.Right), 1)
	for name, change := range map[string]func(*measure.Options){
		"no pool":          func(o *measure.Options) { o.Pool = nil },
		"no noise":         func(o *measure.Options) { o.Measure.Scale = 0 },
		"infinite noise":   func(o *measure.Options) { o.Measure.Scale = math.Inf(1) },
		"no prompt":        func(o *measure.Options) { o.Measure.Prompts = 0 },
		"many prompts":     func(o *measure.Options) { o.Measure.Prompts = measure.MaxPrompts + 1 },
		"no grade":         func(o *measure.Options) { o.Measure.Grade = "" },
		"a grade of texts": func(o *measure.Options) { o.Measure.Grade = measure.Written },
		"per token":        func(o *measure.Options) { o.Measure.Draw.Per = scheme.PerToken },
		"onto prompts":     func(o *measure.Options) { o.Measure.Draw.Prompts, o.Measure.Draw.PerPrompt = 2, 1 },
		"disjoint": func(o *measure.Options) {
			o.Measure.Draw = scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 2}
		},
		"rate": func(o *measure.Options) { o.Measure.Draw.Rate = 1.5 },
		"fixed size of parts": func(o *measure.Options) {
			o.Measure.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 2, Of: 60}
		},
	} {
		o := fine
		change(&o)
		if _, err := measure.New(t.Context(), o); err == nil {
			t.Errorf("%s is allowed", name)
		}
	}
	o := fine
	o.Pool = forgery{tickets()}
	if _, err := measure.New(t.Context(), o); !errors.Is(err, private.ErrForeign) {
		t.Errorf("a foreign pool: %v", err)
	}
}

// TestNoise: what is added has the distribution of the event, under both adjacencies, and not that at
// ×0.9 or ×1.1. Of an empty part noise is all that comes out. The events tested are
// |noise| ≤ k.
func TestNoise(t *testing.T) {
	const looks, scale = 8_000, 5.0
	reach := []int64{0, 2, 5, 8, 12, 20, 40}
	m := nearly(2, measure.Right)
	m.Scale = scale
	o := options(t, m, 0)
	o.Pool, o.Parts = pool{{}}, 1
	hits := make([]int, len(reach))
	for seed := range looks {
		o.Key = noise.KeyFromSeed(uint64(seed))
		p := counts(t, o, zero, oracle).Pair
		for _, x := range []int64{p.Both, p.First, p.Second, p.Neither} {
			for i, k := range reach {
				if x >= -k && x <= k {
					hits[i]++
				}
			}
		}
	}
	inside := func(b float64) (p []float64) {
		for _, k := range reach {
			p = append(p, -math.Expm1(-(float64(k)+0.5)/b))
		}
		return p
	}
	const n = 4 * looks
	if w := privacytest.Misfit(n, hits, inside(scale)); w > 1 {
		t.Errorf("not Laplace noise of scale %v: %.2f", scale, w)
	}
	for _, wrong := range []float64{0.9, 1.1} {
		if w := privacytest.Misfit(n, hits, inside(wrong*scale)); w < 1 {
			t.Errorf("the test accepts scale ×%v: %.2f", wrong, w)
		}
	}
}

// TestExchangeDoublesNoise: where a unit is exchanged for another, two cells move.
func TestExchangeDoublesNoise(t *testing.T) {
	m := nearly(1, measure.Right)
	if got := m.Noise(); got != m.Scale {
		t.Errorf("%v", got)
	}
	m.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 2, Of: 60}
	if got := m.Noise(); got != 2*m.Scale {
		t.Errorf("%v", got)
	}
}

// TestFailure: a model that fails gives no numbers, and nothing is bound to what failed.
func TestFailure(t *testing.T) {
	o := options(t, nearly(1, measure.Right), 1)
	o.Model = toy{mute: true}.trusted(t)
	m, err := measure.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := m.Counts(t.Context(), []prompt.Prompt{zero}); err == nil || out.Counts != nil {
		t.Errorf("%v, %+v", err, out)
	}
}
