package plan_test

import (
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// quick is a request whose plan takes no time to make.
func quick(t *testing.T) plan.Request {
	return plan.Request{Task: builtin(t, "mit-g"), Size: 1600, Epsilon: 1, Method: "noisymax", Tokens: 1}
}

// TestFixedSizeIsReplaceOne: draws of a fixed size have their theorem under replace-one, so
// that a plan with such draws is about nothing else, whatever is planned; others are about
// add-remove.
func TestFixedSizeIsReplaceOne(t *testing.T) {
	for sampler, want := range map[scheme.Kind]privacy.Adjacency{scheme.FixedSize: privacy.ReplaceOne, scheme.Poisson: privacy.AddRemove} {
		t.Run(string(sampler), func(t *testing.T) {
			r := quick(t)
			r.Sampler = sampler
			texts, err := plan.New(r)
			if err != nil {
				t.Fatal(err)
			}
			votes, err := plan.NewAnswers(plan.Request{Task: builtin(t, "agnews"), Size: 1600, Epsilon: 1, Sampler: sampler, Settings: method.Values{"batch": 16}})
			if err != nil {
				t.Fatal(err)
			}
			measured, err := plan.NewMeasurement(plan.MeasurementRequest{
				Task: builtin(t, "agnews"), Prompts: []plan.NamedPrompt{{Name: "zero"}}, Epsilon: 1, Size: 1600, Records: 100, Sampler: sampler,
			})
			if err != nil {
				t.Fatal(err)
			}
			at := expect.At(t, "%s draws", sampler)
			expect.Equal(at, "texts.Adjacency", texts.Adjacency, want)
			expect.Equal(at, "votes.Adjacency", votes.Adjacency, want)
			expect.Equal(at, "measured.Adjacency()", measured.Adjacency(), want)
			node := map[scheme.Kind]string{scheme.FixedSize: "fixedsize(1600, ", scheme.Poisson: "poisson("}[sampler]
			for _, e := range []privacy.Event{texts.Event(), votes.Event(), measured.Event()} {
				if !strings.Contains(e.String(), node) {
					t.Errorf("%s draws are charged as %s", sampler, e)
				}
			}
		})
	}
}

// TestPlansFromFilesAreChecked: who changes the file of a plan so that its event no longer is
// what runs has no plan.
func TestPlansFromFilesAreChecked(t *testing.T) {
	poisson, err := plan.New(quick(t))
	if err != nil {
		t.Fatal(err)
	}
	r := quick(t)
	r.Sampler = scheme.FixedSize
	fixed, err := plan.New(r)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() plan.Plan{
		"poisson draws under replace-one": func() plan.Plan { p := poisson; p.Adjacency = privacy.ReplaceOne; return p },
		"fixed draws under add-remove":    func() plan.Plan { p := fixed; p.Adjacency = privacy.AddRemove; return p },
		"another adjacency":               func() plan.Plan { p := poisson; p.Adjacency = "none"; return p },
		"no texts of a part":              func() plan.Plan { p := reread(t, poisson); p.Parts[0].Texts = 0; return p },
		"no method":                       func() plan.Plan { p := reread(t, poisson); p.Parts[0].Method = decode.Settings{}; return p },
		"no parts":                        func() plan.Plan { p := poisson; p.Parts = nil; return p },
		"no tokens":                       func() plan.Plan { p := poisson; p.Tokens = 0; return p },
	} {
		t.Run(name, func(t *testing.T) {
			if p := change(); p.Check() == nil {
				t.Errorf("a plan with %s is accepted", name)
			}
		})
	}
	if err := poisson.Check(); err != nil {
		t.Error(err)
	}
}

// TestAnswersFromFilesAreChecked is that for answers: they come one by one, so that no batch
// of theirs is disjoint from others.
func TestAnswersFromFilesAreChecked(t *testing.T) {
	news := builtin(t, "agnews")
	disjoint := scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 4}
	votes := plan.Answers{
		Task: news, Epsilon: 1, Delta: 1e-6, Answers: 1, Adjacency: privacy.AddRemove, Unit: privacy.Record, Size: 1000, Tokens: 1,
		Ensemble: ensemble.Settings{Method: &ensemble.Vote{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.1}, Range: 1}},
	}
	if err := votes.Check(); err != nil {
		t.Fatal(err)
	}
	fixed := votes
	fixed.Ensemble = ensemble.Settings{Method: &ensemble.Vote{Draw: scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 10, Of: 1000}, Range: 1}}
	batches := votes
	batches.Ensemble = ensemble.Settings{Method: &ensemble.Vote{Draw: disjoint, Range: 1}}
	written := votes
	written.Task, written.Ensemble, written.Tokens = builtin(t, "samsum"), ensemble.Settings{}, 5
	written.Write = decode.Settings{Method: &decode.Clipped{Draw: disjoint, Expected: 4, Range: 1, Temperature: 1, Candidates: 10}}
	for name, a := range map[string]plan.Answers{"fixed draws under add-remove": fixed, "votes of disjoint batches": batches, "answers written from disjoint batches": written} {
		t.Run(name, func(t *testing.T) {
			if a.Check() == nil {
				t.Errorf("a plan with %s is accepted", name)
			}
		})
	}
	fixed.Adjacency = privacy.ReplaceOne
	if err := fixed.Check(); err != nil {
		t.Error(err)
	}
}

// TestCountedSizesAreNotFixed: a draw of a fixed size needs the exact number of units, which a
// noisy count is not.
func TestCountedSizesAreNotFixed(t *testing.T) {
	r := quick(t)
	r.Sampler, r.Size, r.Count = scheme.FixedSize, 0, true
	if _, err := plan.New(r); err == nil || !strings.Contains(err.Error(), "exact") {
		t.Errorf("%v", err)
	}
}

// TestPlansChargeAllTheyDo: all that a plan does to the data is in its event: counting,
// discovery, the ending, the texts of each part, all rounds, and the number in the end.
func TestPlansChargeAllTheyDo(t *testing.T) {
	part := func(label string, rate float64) plan.Part {
		draw := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: rate}
		return plan.Part{Label: label, Size: 100, Texts: 3, Method: decode.Settings{Method: &decode.Clipped{Draw: draw, Expected: 4, Range: 0.7, Temperature: 1, Candidates: 10}}}
	}
	p := plan.Plan{
		Task: builtin(t, "agnews"), Epsilon: 1, Delta: 1e-6, Adjacency: privacy.AddRemove, Unit: privacy.Record, Shots: 4, Tokens: 5,
		Parts:    []plan.Part{part("World", 0.1), part("Sports", 0.2), part("Business", 0.3)},
		Count:    &plan.Count{Epsilon: 0.125, MinSize: 100},
		Discover: &plan.Discover{Epsilon: 0.25, Delta: 1e-7, MaxLabels: 5},
		Ending:   &plan.Ending{Epsilon: 0.0625, Delta: 1e-8, Words: 2, MinUnits: 200},
		Choose: &plan.Choose{
			Choice:  choose.Choice{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.15}, Rounds: 7, Range: 0.9, Utility: choose.Hard},
			Measure: &measure.Measure{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.25}, Scale: 3, Prompts: 1, Grade: measure.Right},
		},
	}
	got := p.Event().String()
	for what, want := range map[string]string{
		"the count": "laplace(8)", "discovery": "approx(0.25, 1e-07)", "the ending": "approx(0.0625, 1e-08)",
		"texts of the first part":  "repeat(3, poisson(0.1, repeat(5, boundedrange(0.7))))",
		"texts of the second part": "repeat(3, poisson(0.2, repeat(5, boundedrange(0.7))))",
		"texts of the third part":  "repeat(3, poisson(0.3, repeat(5, boundedrange(0.7))))",
		"the rounds":               "repeat(7, poisson(0.15, boundedrange(0.9)))",
		"the number in the end":    "poisson(0.25, laplace(3))",
	} {
		t.Run(what, func(t *testing.T) {
			if !strings.Contains(got, want) {
				t.Errorf("%s is not paid for: %s is not in %s", what, want, got)
			}
		})
	}
}

// TestProfilesFromFilesAreChecked: the noise of a profile is for as many rows as are used of a
// unit, so that a profile of persons says how many, and one of rows does not.
func TestProfilesFromFilesAreChecked(t *testing.T) {
	rows, err := plan.NewProfile(plan.ProfileRequest{Schema: loans(), Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	persons, err := plan.NewProfile(plan.ProfileRequest{Schema: loans(), Epsilon: 1, Unit: "user:who", RowsPerUnit: 2})
	if err != nil {
		t.Fatal(err)
	}
	rows.Unit, persons.Unit = persons.Unit, rows.Unit
	if rows.Check() == nil || persons.Check() == nil {
		t.Errorf("a profile of persons with the noise of a row: %v; one of rows with that of persons: %v", rows.Check(), persons.Check())
	}
}
