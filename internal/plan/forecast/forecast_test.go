package forecast

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// curve is one whose runs follow a formula, with noise.
func curve(model, task string, kind prompt.Kind, none, own, gain, half float64, noise *rand.Rand) Curve {
	c := Curve{Model: model, Task: task, Kind: kind, None: none, Own: own, Real: own + 5}
	for _, w := range []float64{5, 10, 20, 40, 80, 160, 320} {
		r := Run{Weight: w, Score: own + gain*w/(w+half), Seeds: 4}
		if noise != nil {
			r.Score += noise.NormFloat64()
			r.Deviation = 2
		}
		c.Runs = append(c.Runs, r)
	}
	return c
}

// TestFit: what is planted is found, exactly without noise and nearly with it.
func TestFit(t *testing.T) {
	gains := []float64{4, 20, 9, 14}
	for _, noise := range []*rand.Rand{nil, rand.New(rand.NewPCG(1, 2))} {
		var curves []Curve
		for i, g := range gains {
			curves = append(curves, curve("m", string(rune('a'+i)), prompt.Classify, 40, 50, g, 30, noise))
		}
		f := NewFit(curves)
		near, far := 0.02, 0.2
		if noise != nil {
			near, far = 0.6, 2.5
		}
		if math.Abs(math.Log(f.Half/30)) > near {
			t.Errorf("half weight %v", f.Half)
		}
		for i, g := range gains {
			if math.Abs(f.Gains[i]-g) > far {
				t.Errorf("gain %v, not %v", f.Gains[i], g)
			}
		}
		if noise == nil && f.Deviation > 0.1 || noise != nil && !(f.Deviation > 1 && f.Deviation < 4) {
			t.Errorf("deviation %v", f.Deviation)
		}
	}
	if NewFit(nil) != nil {
		t.Error("nothing was fitted")
	}
}

// TestCoverage: data sets that are alike lie within each other's forecasts, one that is not
// does not.
func TestCoverage(t *testing.T) {
	var curves []Curve
	for i, g := range []float64{5, 6, 7, 8} {
		curves = append(curves, curve("m", string(rune('a'+i)), prompt.Classify, 40, 50, g, 30, nil))
	}
	curves[3].Runs = curves[3].Runs[:6]
	c := Coverage(curves, false)
	expect.Equal(t, "c.Settings", c.Settings, 27)
	// Those in the middle, and they alone.
	expect.Equal(t, "c.None", c.None, 14)
	expect.Equal(t, "c.Own", c.Own, 14)
	if c := Coverage(curves, true); c.Settings != 0 {
		t.Errorf("guesses without another model: %+v", c)
	}
}

func table() Table {
	var t Table
	for i, g := range []float64{5, 10, 15} {
		task := string(rune('a' + i))
		t.Curves = append(t.Curves,
			curve("Small-135M", task, prompt.Classify, 40, 50, g, 30, nil),
			curve("Large-1.5B", task, prompt.Extract, 70, 80, g/5, 30, nil),
			curve("Large-1.5B", task+" written", prompt.Generate, 45, 40, g/5, 30, nil))
	}
	return t
}

// planned is as much of a plan as a forecast looks at: rounds of so many records, with a range.
func planned(kind prompt.Kind, records, wide float64) plan.Plan {
	sampling := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: records / 10000}
	return plan.Plan{
		Task: prompt.Task{Kind: kind}, Shots: 4, Parts: []plan.Part{{Size: 10000}},
		Choose: &plan.Choose{Choice: choose.Choice{Draw: sampling, Range: wide}},
	}
}

// TestModels: a model that suites ran is forecast from its own curves, others from those of
// about their size or from all, which is said.
func TestModels(t *testing.T) {
	p := planned(prompt.Classify, 34, 5)
	for model, want := range map[string]struct {
		models   int
		guess    bool
		maxError float64
	}{
		"Small-135M": {1, false, 30}, "Large-1.5B": {1, false, 15}, "other 3B": {1, true, 15}, "other:0.2b-q4": {1, true, 30},
		"unknown": {2, true, 30}, "other-70B": {2, true, 30},
	} {
		t.Run(model, func(t *testing.T) {
			f, err := table().Of(p, model)
			expect.NoError(t, err)
			expect.Len(t, "f.Models", f.Models, want.models)
			expect.Equal(t, "f.Guess", f.Guess, want.guess)
			expect.Equal(t, "f.DataSets", f.DataSets, 3)
			expect.Equal(t, "f.BetterOn", f.BetterOn, 3)
			expect.Max(t, "f.OverNone.High", f.OverNone.High, want.maxError)
			expect.Within(t, "f.OverNone.Middle", f.OverNone.Middle, f.OverNone.Low, f.OverNone.High)
			expect.True(t, "f.OverReal other than nil", f.OverReal != nil)
			if strings.Contains(f.Words(), "guess") != want.guess || f.Warning() != "" {
				t.Errorf("%s; %s", f.Words(), f.Warning())
			}
		})
	}
}

// TestNoise: the fewer records and the smaller ε, the less is left of what can be gained, down
// to what model-generated examples are worth.
func TestNoise(t *testing.T) {
	last := Forecast{}
	for i, c := range []struct{ records, wide float64 }{{20, 0.05}, {100, 0.1}, {60, 0.4}, {34, 2}, {34, 5}} {
		f, err := table().Of(planned(prompt.Classify, c.records, c.wide), "Small-135M")
		expect.NoError(t, err)
		expect.True(t, "f.Kept above last.Kept", f.Kept > last.Kept, f.Kept, last.Kept)
		expect.True(t, "f.OverOwn.Middle above last.OverOwn.Middle", f.OverOwn.Middle > last.OverOwn.Middle, f.OverOwn.Middle, last.OverOwn.Middle)
		expect.True(t, "f.Weight above last.Weight", f.Weight > last.Weight, f.Weight, last.Weight)
		if i == 0 && (f.Kept > 0.1 || f.OverOwn.Middle > 1 || !strings.Contains(f.Words(), "the noise leaves")) {
			t.Errorf("%+v: %s", f, f.Words())
		}
		last = f
	}
	if last.Kept < 0.7 || strings.Contains(last.Words(), "the noise leaves") {
		t.Errorf("%+v: %s", last, last.Words())
	}
}

// TestWarning: where suites saw that none is better, there is a warning.
func TestWarning(t *testing.T) {
	p := planned(prompt.Generate, 34, 5)
	f, err := table().Of(p, "Large-1.5B")
	expect.NoError(t, err)
	expect.Equal(t, "f.BetterOn", f.BetterOn, 0)
	expect.Contains(t, "f.Warning()", f.Warning(), "unlikely to beat none")
	expect.Contains(t, "f.Warning()", f.Warning(), "better on 0 of 3")
}

// TestNotSure: a forecast that could not be checked says so.
func TestNotSure(t *testing.T) {
	f, err := table().Of(planned(prompt.Generate, 34, 5), "unknown")
	expect.NoError(t, err)
	expect.True(t, "f.Guess", f.Guess)
	expect.Equal(t, "f.Sure", f.Sure, 0)
	expect.Contains(t, "f.Words()", f.Words(), "how often such guesses hold is not known")
}

// TestNothingMeasured: there is no forecast of what no suite was like.
func TestNothingMeasured(t *testing.T) {
	labels := planned(prompt.Classify, 34, 5)
	few := Table{Curves: table().Curves[:1]}
	if f, err := few.Of(labels, "Small-135M"); err == nil {
		t.Errorf("%+v", f)
	}
	given := labels
	c := *labels.Choose
	c.Given, given.Choose = [][]int{{0}}, &c
	if f, err := table().Of(given, "Small-135M"); err == nil {
		t.Errorf("sets of the user's own are forecast: %+v", f)
	}
	given.Choose = nil
	if f, err := table().Of(given, "Small-135M"); err == nil {
		t.Errorf("%+v", f)
	}
}

func TestParameters(t *testing.T) {
	for name, want := range map[string]float64{
		"SmolLM2-135M-Instruct Q4_1": 135e6, "Qwen2.5-Coder-1.5B-Instruct Q4_K_M": 1.5e9, "qwen2.5:7b": 7e9, "llama3.2:1b-instruct": 1e9,
		"meta-llama/Llama-3.2-3B": 3e9, "Mistral 7B": 7e9, "gpt-4o": 0, "tiny": 0, "": 0, "x3b2": 0, "Q4_B": 0,
	} {
		t.Run(name, func(t *testing.T) {
			if got := Parameters(name); got != want {
				t.Errorf("%v, not %v", got, want)
			}
		})
	}
}

// TestMeasured: the table of the program forecasts the default model, and its intervals hold
// at least half of what they were not made from.
func TestMeasured(t *testing.T) {
	p := planned(prompt.Classify, 34, 5)
	p.Choose.Rounds = 9
	f, err := Of(p, "SmolLM2-135M-Instruct Q4_1")
	expect.NoError(t, err)
	expect.True(t, "not f.Guess", !f.Guess)
	expect.Min(t, "f.DataSets", f.DataSets, 5)
	expect.Min(t, "f.OverNone.Middle", f.OverNone.Middle, 5)
	expect.Min(t, "f.OverOwn.Middle", f.OverOwn.Middle, 3)
	for _, guess := range []bool{false, true} {
		c := Coverage(Measured().Curves, guess)
		at := expect.At(t, "guess %v", guess)
		expect.Min(at, "c.Settings", c.Settings, 50)
		expect.Min(at, "2*c.None", 2*c.None, c.Settings)
		expect.Min(at, "2*c.Own", 2*c.Own, c.Settings)
	}
	if strings.Contains(f.Words(), "-0") {
		t.Error(f.Words())
	}
}

// TestFewerRounds: however many rounds fewer than were measured a plan has, its forecast is no
// better than with as many; with less than half as many there is none, and that is said.
func TestFewerRounds(t *testing.T) {
	agnews, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{100, 300, 20000} {
		last, refused := Forecast{}, 0
		usual := Measured().rounds(false, float64(size))
		for rounds := int64(1); rounds <= usual; rounds++ {
			p, err := plan.New(plan.Request{Task: agnews, Size: size, Epsilon: 1, Choosing: &plan.ChooseRequest{Writing: -1, Rounds: rounds}})
			if err != nil {
				t.Fatal(err)
			}
			f, err := Of(p, "SmolLM2-135M-Instruct Q4_1")
			if few, ok := errors.AsType[*RoundsError](err); ok != (2*rounds < usual) || ok && few.Measured != usual {
				t.Errorf("%d records, %d of %d rounds: %v", size, rounds, usual, err)
			}
			if err != nil {
				refused++
				continue
			}
			if f.OverNone.Middle < last.OverNone.Middle || f.OverOwn.Middle < last.OverOwn.Middle {
				t.Errorf("%d records, %d rounds: %+v, and %+v with one fewer", size, rounds, f, last)
			}
			last = f
		}
		if last.Weight == 0 || usual > 2 && refused == 0 {
			t.Errorf("%d records: refused %d times, %+v", size, refused, last)
		}
	}
	for amount, want := range map[float64]int64{300: 2, 20000: 5} {
		if got := Measured().rounds(false, amount); got != want {
			t.Errorf("runs with %v records at ε = 1 had %d rounds, want %d", amount, got, want)
		}
	}
}
