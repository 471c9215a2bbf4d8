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
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// refused checks that a request for answers is refused with words.
func refused(t *testing.T, r plan.Request, want string) {
	t.Helper()
	_, err := plan.NewAnswers(r)
	var input *plan.InputError
	if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, which does not say %q", err, want)
	}
}

// TestPlainAnswersKeepToTheirEpsilon: as many answers as were asked for cost at most their ε
// together, and not much less.
func TestPlainAnswersKeepToTheirEpsilon(t *testing.T) {
	samsum, directors := builtin(t, "samsum"), builtin(t, "mit-d")
	for name, r := range map[string]plan.Request{
		"default":           {Task: samsum, Size: 14732, Epsilon: 1},
		"many":              {Task: samsum, Method: "mixing", Size: 14732, Epsilon: 2, Answers: 100, Tokens: 20, Settings: method.Values{"batch": 32}},
		"product":           {Task: samsum, Method: "mixing", Size: 14732, Epsilon: 1, Settings: method.Values{"batch": 4, "mean": "product"}},
		"per token":         {Task: samsum, Method: "mixing", Size: 14732, Epsilon: 2, Answers: 10, Settings: method.Values{"batch": 4, "per": scheme.PerToken}},
		"fixed size":        {Task: samsum, Method: "mixing", Size: 14732, Epsilon: 2, Sampler: scheme.FixedSize, Settings: method.Values{"batch": 8}},
		"phrases":           {Task: directors, Method: "mixing", Size: 1561, Epsilon: 4, Answers: 20, Settings: method.Values{"batch": 16}},
		"clipped":           {Task: samsum, Size: 14732, Epsilon: 1, Method: "clipped", Answers: 10, Settings: method.Values{"batch": 32}},
		"clipped, by token": {Task: samsum, Size: 14732, Epsilon: 4, Method: "clipped", Settings: method.Values{"batch": 16, "per": scheme.PerToken}},
		"gaussian":          {Task: samsum, Size: 14732, Epsilon: 4, Method: "gaussian", Tokens: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := plan.NewAnswers(r)
			if err != nil {
				t.Fatal(err)
			}
			all := privacy.Repeat{N: a.Answers, Event: a.Event()}
			got, err := accountant.Auto{}.Epsilon(all, a.Adjacency, a.Delta)
			if err != nil {
				t.Fatal(err)
			}
			if got.Upper > a.Epsilon || got.Upper < 0.97*a.Epsilon {
				t.Errorf("%s costs ε in [%v, %v], asked was %v", all, got.Lower, got.Upper, a.Epsilon)
			}
			expect.True(t, "a.Private()", a.Private(), a)
			expect.Equal(t, "a.Claim()", a.Claim(), "")
			expect.Len(t, "a.Warnings()", a.Warnings(), 0)
			expect.Equal(t, "a.Method()", a.Method(), a.Write.Name())
			data, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			var again plan.Answers
			err = json.Unmarshal(data, &again)
			expect.NoError(t, err)
			expect.NoError(t, again.Check())
			expect.True(t, "again equal to a", reflect.DeepEqual(again, a), again, a)
		})
	}
}

// TestAnswerSettings: what is asked for is what is planned.
func TestAnswerSettings(t *testing.T) {
	a, err := plan.NewAnswers(plan.Request{Task: builtin(t, "samsum"), Size: 14732, Epsilon: 1, Method: "mixing", Settings: method.Values{"batch": 8, "mean": "product", "max_lambda": 1, "candidates": 0, "per": scheme.PerToken}})
	if err != nil {
		t.Fatal(err)
	}
	m := a.Write.Method.(*decode.Mixing)
	expect.Equal(t, "m.Temperature", m.Temperature, 1./8)
	expect.Equal(t, "m.Expected", m.Expected, 8)
	expect.Equal(t, "m.MaxLambda", m.MaxLambda, 1)
	expect.Equal(t, "m.Candidates", m.Candidates, 0)
	expect.Equal(t, "m.Draw.Per", m.Draw.Per, scheme.PerToken)
	expect.Equal(t, "m.Draw.Rate", m.Draw.Rate, 8./14732)
	expect.Equal(t, "a.Tokens", a.Tokens, 50)
	expect.Equal(t, "a.Answers", a.Answers, 1)
	expect.Equal(t, "a.Rules", a.Rules, plan.DefaultAnswerRules(a.Task))
	expect.Equal(t, "a.Size", a.Size, 14732)
	public, err := plan.NewAnswers(plan.Request{Task: builtin(t, "samsum"), Size: 14732, Method: "public"})
	expect.NoError(t, err)
	expect.Equal(t, "public.Event()", public.Event().String(), "compose()")
	expect.True(t, "not privacy.Sampled(public.Event())", !privacy.Sampled(public.Event()), public.Event())
	expect.Equal(t, "public.Draws()", public.Draws(), "nobody")
	sizes, err := plan.NewAnswers(plan.Request{Task: builtin(t, "samsum"), Sizes: map[string]int64{"a": 700, "b": 300}, Epsilon: 1, Settings: method.Values{"batch": 4}})
	if err != nil || sizes.Size != 1000 {
		t.Errorf("parts of 700 and 300 are %d: %v", sizes.Size, err)
	}
}

func TestWrongAnswers(t *testing.T) {
	good := plan.Request{Task: builtin(t, "samsum"), Size: 14732, Epsilon: 1, Settings: method.Values{"batch": 4}}
	for want, change := range map[string]func(*plan.Request){
		"answers (-1) and":                    func(r *plan.Request) { r.Answers = -1 },
		"the number of records declared":      func(r *plan.Request) { r.Size, r.Count = 0, true },
		"has to be declared":                  func(r *plan.Request) { r.Size = 0 },
		"come one by one":                     func(r *plan.Request) { r.Sampler = scheme.Disjoint },
		"answer no question":                  func(r *plan.Request) { r.Method = "real" },
		"are for texts, not for answers":      func(r *plan.Request) { r.Shots = 4 },
		`unknown method "magic": one of clip`: func(r *plan.Request) { r.Method = "magic" },
		"use the method vote":                 func(r *plan.Request) { r.Task, r.Method = builtin(t, "agnews"), "mixing" },
		"an ε above 0":                        func(r *plan.Request) { r.Epsilon = 0 },
		"candidates is 1":                     func(r *plan.Request) { r.Settings = method.Values{"candidates": 1} },
		"at least 2, or 0":                    func(r *plan.Request) { r.Settings, r.Method = method.Values{"candidates": 1}, "clipped" },
		"gaussian does not have the setting per: it has prompts": func(r *plan.Request) { r.Method, r.Settings = "gaussian", method.Values{"per": scheme.PerText} },
		"clipped does not have the setting max_lambda":           func(r *plan.Request) { r.Method, r.Settings = "clipped", method.Values{"max_lambda": 1} },
		"has the temperature 1/4": func(r *plan.Request) {
			r.Method, r.Settings = "mixing", method.Values{"batch": 4, "mean": "product", "temperature": 1}
		},
		"mean is average, it should be one of geometric, product": func(r *plan.Request) { r.Method, r.Settings = "mixing", method.Values{"mean": "average"} },
		"max_lambda is -1, it should be a number above 0":         func(r *plan.Request) { r.Method, r.Settings = "mixing", method.Values{"max_lambda": -1} },
		"drawn from a part of 3":                                  func(r *plan.Request) { r.Size = 3 },
		"per is week, it should be one of text, token":            func(r *plan.Request) { r.Method, r.Settings = "mixing", method.Values{"per": "week"} },
	} {
		t.Run(want, func(t *testing.T) {
			r := good
			change(&r)
			refused(t, r, want)
		})
	}
	if _, err := plan.New(plan.Request{Task: builtin(t, "agnews"), Size: 14732, Epsilon: 1, Answers: 3}); err == nil || !strings.Contains(err.Error(), "number of texts") {
		t.Errorf("a number of answers for texts: %v", err)
	}
}

// TestFaint: a plan whose records have next to nothing to say warns of that, from its
// settings alone; one with room to say something does not.
func TestFaint(t *testing.T) {
	sampling := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.01}
	for width, faint := range map[float64]bool{1. / 128: true, 1. / 65: true, 1. / 64: false, 2: false} {
		for _, m := range []decode.Method{
			&decode.Mixing{Draw: sampling, Expected: 4, Range: width / 4, Temperature: 1, Candidates: 10},
			&decode.Clipped{Draw: sampling, Expected: 4, Range: width / 4, Temperature: 1, Candidates: 10},
		} {
			a := plan.Answers{
				Task: builtin(t, "samsum"), Epsilon: 0.1, Delta: 1e-6, Answers: 1, Adjacency: privacy.AddRemove, Unit: privacy.Record,
				Size: 1000, Tokens: 5, Write: decode.Settings{Method: m},
			}
			if err := a.Check(); err != nil {
				t.Fatal(err)
			}
			if w := a.Warnings(); (len(w) == 1) != faint || faint && !strings.Contains(w[0], "public text in effect") {
				t.Errorf("%s with %s: warnings %q", m.Name(), a.Noise(), w)
			}
		}
	}
}
