package plan_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// TestPlainEnsemblesKeepToTheirEpsilon: whatever the method, its noise and its draws, all
// answers together cost at most what was asked, and not much less.
func TestPlainEnsemblesKeepToTheirEpsilon(t *testing.T) {
	news, chats := builtin(t, "agnews"), builtin(t, "samsum")
	for name, r := range map[string]plan.Request{
		"default":              {Task: news, Size: 27632, Epsilon: 1},
		"small ε":              {Task: news, Size: 27632, Epsilon: 0.05},
		"many answers":         {Task: news, Size: 27632, Epsilon: 1, Answers: 50},
		"soft":                 {Task: news, Size: 27632, Epsilon: 1, Settings: method.Values{"ballot": ensemble.Soft}},
		"soft, several":        {Task: news, Size: 27632, Epsilon: 1, Settings: method.Values{"ballot": ensemble.Soft, "prompts": 10, "per_prompt": 4}},
		"product":              {Task: news, Size: 27632, Epsilon: 1, Method: "product"},
		"product, several":     {Task: news, Size: 27632, Epsilon: 1, Answers: 100, Method: "product", Settings: method.Values{"prompts": 10, "per_prompt": 4, "clip": 1}},
		"product, fixed":       {Task: news, Size: 27632, Epsilon: 1, Method: "product", Sampler: scheme.FixedSize},
		"gaussian":             {Task: news, Size: 27632, Epsilon: 1, Answers: 1000, Settings: method.Values{"noise": ensemble.Gaussian, "prompts": 10, "per_prompt": 4}},
		"threshold":            {Task: news, Size: 27632, Epsilon: 1, Answers: 1000, Settings: method.Values{"noise": ensemble.Threshold}},
		"embedding":            {Task: chats, Size: 14732, Epsilon: 2, Method: "embedding"},
		"embedding, published": {Task: chats, Size: 14732, Epsilon: 2, Method: "embedding", Settings: method.Values{"prompts": 100, "per_prompt": 4, "candidates": 100}},
		"embedding, fixed":     {Task: chats, Size: 14732, Epsilon: 2, Method: "embedding", Sampler: scheme.FixedSize},
		"keyword":              {Task: chats, Size: 14732, Epsilon: 2, Method: "keyword"},
		"keyword, ptr":         {Task: chats, Size: 14732, Epsilon: 2, Answers: 10, Method: "keyword", Settings: method.Values{"select": ensemble.Test}},
		"few records":          {Task: news, Size: 30, Epsilon: 1},
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
			data, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			var again plan.Answers
			err = json.Unmarshal(data, &again)
			at := expect.At(t, "a plan read from a file is another one")
			expect.NoError(at, err)
			expect.NoError(at, again.Check())
			expect.True(at, "again equal to a", reflect.DeepEqual(again, a), again, a)
			expect.True(t, "a.Private()", a.Private(), a)
			expect.True(t, "a.Proof() that is not empty", a.Proof() != "")
			expect.True(t, "a.Method() that is not empty", a.Method() != "")
			expect.True(t, "a.Noise() other than none", a.Noise() != "none")
			if !privacy.Sampled(a.Event()) && a.Scheme().Rate < 1 {
				expect.True(t, "a.Scheme().Kind other than scheme.Poisson", a.Scheme().Kind != scheme.Poisson)
			}
			c := a.Cost(plan.Shape{Instruction: 20, Head: 160, Record: 170}, plan.Speed{Prefill: 1000, Step: 0.01, Each: 0.001})
			expect.True(t, "c.Cached.Tokens above 0", c.Cached.Tokens > 0, c.Cached.Tokens)
			expect.True(t, "c.Cached.Seconds above 0", c.Cached.Seconds > 0, c.Cached.Seconds)
			expect.Min(t, "c.Uncached.Tokens", c.Uncached.Tokens, c.Cached.Tokens/2)
			expect.True(t, "not math.IsInf(c.Uncached.Tokens, 1)", !math.IsInf(c.Uncached.Tokens, 1), c.Uncached.Tokens)
		})
	}
}

// TestEnsemblesThatCannotBe: each is refused with what to do.
func TestEnsemblesThatCannotBe(t *testing.T) {
	news, chats := builtin(t, "agnews"), builtin(t, "samsum")
	for want, r := range map[string]plan.Request{
		"use the method vote":          {Task: news, Size: 1000, Epsilon: 1, Method: "clipped"},
		"product is for answers of":    {Task: chats, Size: 1000, Epsilon: 1, Method: "product"},
		"clip is 0, it should":         {Task: news, Size: 1000, Epsilon: 1, Method: "product", Settings: method.Values{"clip": 0}},
		"vote is for answers of":       {Task: chats, Size: 1000, Epsilon: 1, Method: "vote"},
		"use vote":                     {Task: news, Size: 1000, Epsilon: 1, Method: "keyword"},
		"unknown method":               {Task: news, Size: 1000, Epsilon: 1, Method: "magic"},
		"an ε above 0":                 {Task: news, Size: 1000},
		"has to be declared":           {Task: news, Epsilon: 1},
		"records are to be drawn":      {Task: news, Size: 30, Epsilon: 1, Settings: method.Values{"batch": 40}},
		"not have the setting ballot":  {Task: chats, Size: 1000, Epsilon: 1, Method: "embedding", Settings: method.Values{"ballot": ensemble.Soft}},
		"not have the setting keyword": {Task: news, Size: 1000, Epsilon: 1, Settings: method.Values{"keywords": 3}},
		"a threshold is for":           {Task: news, Size: 1000, Epsilon: 1, Settings: method.Values{"threshold": 3}},
		"not both":                     {Task: news, Size: 1000, Epsilon: 1, Settings: method.Values{"batch": 4, "prompts": 3}},
		"leave out the noise":          {Task: news, Size: 1000, Epsilon: 1, Settings: method.Values{"ballot": ensemble.Soft, "noise": ensemble.Gaussian}},
		"ballot is secret, it should":  {Task: news, Size: 1000, Epsilon: 1, Settings: method.Values{"ballot": "secret"}},
		"keywords is 1000":             {Task: chats, Size: 1000, Epsilon: 1, Method: "keyword", Settings: method.Values{"keywords": 1000}},
		"candidates is 1, it should":   {Task: chats, Size: 1000, Epsilon: 1, Method: "embedding", Settings: method.Values{"candidates": 1}},
		"questions come one by one":    {Task: news, Size: 1000, Epsilon: 1, Sampler: scheme.Disjoint},
		"candidates is 0, it should":   {Task: chats, Size: 1000, Epsilon: 1, Method: "embedding", Settings: method.Values{"candidates": 0}},
		"per_prompt is -1, it should":  {Task: news, Size: 1000, Epsilon: 1, Settings: method.Values{"per_prompt": -1}},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := plan.NewAnswers(r)
			var input *plan.InputError
			if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in: %v", want, err)
			}
		})
	}
	a, err := plan.NewAnswers(plan.Request{Task: news, Size: 1000, Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*plan.Answers){
		"no method":       func(a *plan.Answers) { a.Ensemble = ensemble.Settings{} },
		"another kind":    func(a *plan.Answers) { a.Task = chats },
		"other adjacency": func(a *plan.Answers) { a.Adjacency = privacy.ReplaceOne },
		"no size":         func(a *plan.Answers) { a.Size = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			b := a
			change(&b)
			if b.Check() == nil {
				t.Errorf("a plan with %s is accepted", name)
			}
		})
	}
}

// TestPlainLoudEnsembles: noise that drowns all prompts is warned of.
func TestPlainLoudEnsembles(t *testing.T) {
	for epsilon, loud := range map[float64]bool{1: false, 1e-4: true} {
		a, err := plan.NewAnswers(plan.Request{Task: builtin(t, "agnews"), Size: 1000, Epsilon: epsilon, Answers: 100, Settings: method.Values{"batch": 4}})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(a.Warnings()) > 0; got != loud {
			t.Errorf("ε = %v: warnings %v of %s", epsilon, a.Warnings(), a.Noise())
		}
	}
}
