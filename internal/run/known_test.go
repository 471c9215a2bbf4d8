package run

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/prompt"
)

// unitSpend is what a plan does to somebody who is drawn every time, added up by hand from its
// fields: leaves and how often each runs. draws are the leaves of single draws.
type unitSpend struct {
	all, draws [][]privacy.Term
}

// ofPlan adds up for the units of each part: they are in one, and in all that comes beside.
func ofPlan(p plan.Plan) (s unitSpend) {
	var beside []privacy.Term
	if p.Count != nil {
		beside = append(beside, privacy.Term{Event: privacy.Laplace{B: 1 / p.Count.Epsilon}, N: 1})
	}
	if p.Discover != nil {
		beside = append(beside, privacy.Term{Event: privacy.Approx{Epsilon: p.Discover.Epsilon, Delta: p.Discover.Delta}, N: 1})
	}
	if p.Ending != nil {
		beside = append(beside, privacy.Term{Event: privacy.Approx{Epsilon: p.Ending.Epsilon, Delta: p.Ending.Delta}, N: 1})
	}
	if c := p.Choose; c != nil {
		beside = append(beside, privacy.Term{Event: privacy.BoundedRange{C: c.Range}, N: c.Rounds})
		s.draws = append(s.draws, []privacy.Term{{Event: privacy.BoundedRange{C: c.Range}, N: 1}})
		if l := c.Last; l != nil {
			one := privacy.Term{Event: privacy.BoundedRange{C: l.Range}, N: 1}
			beside, s.draws = append(beside, one), append(s.draws, []privacy.Term{one})
		}
		if m := c.Measure; m != nil {
			counts := privacy.Term{Event: privacy.Laplace{B: m.Scale}, N: 1} // one table, and one of labels
			if m.Labels > 0 {
				counts.N = 2
			}
			beside = append(beside, counts)
			s.draws = append(s.draws, []privacy.Term{counts})
		}
	}
	for _, part := range p.Parts {
		of := part.Method.Scheme()
		if of.Kind == "" {
			s.all = append(s.all, beside)
			continue
		}
		one := privacy.Term{Event: part.Method.Step(), N: int64(p.Tokens)}
		all := one
		if of.Kind != scheme.Disjoint {
			all.N *= part.Texts
		}
		if of.Per == scheme.PerToken {
			one.N = 1
		}
		s.all = append(s.all, append([]privacy.Term{all}, beside...))
		s.draws = append(s.draws, []privacy.Term{one})
	}
	return s
}

// largestEpsilon is the largest ε of some lists of leaves.
func largestEpsilon(t *rapid.T, lists [][]privacy.Term, adj privacy.Adjacency, delta float64) (worst float64) {
	for _, list := range lists {
		var all privacy.Compose
		for _, term := range list {
			all.Events = append(all.Events, privacy.Repeat{N: term.N, Event: term.Event})
		}
		got, err := accountant.Auto{}.Epsilon(all, adj, delta)
		if err != nil {
			t.Fatal(err)
		}
		worst = max(worst, got.Upper)
	}
	return worst
}

// drawnPlan draws a plan of a way to make a release.
func drawnPlan(t *rapid.T, way string, task func(string) prompt.Task) (spec, unitSpend) {
	epsilon := rapid.Float64Range(0.5, 4).Draw(t, "ε")
	size := rapid.Int64Range(2000, 30_000).Draw(t, "size")
	sampler := rapid.SampledFrom([]scheme.Kind{scheme.Poisson, scheme.FixedSize}).Draw(t, "sampler")
	r := plan.Request{Task: task("agnews"), Size: size, Epsilon: epsilon, Shots: rapid.IntRange(1, 6).Draw(t, "shots"), Tokens: rapid.IntRange(1, 20).Draw(t, "tokens")}
	switch way {
	case "measure":
		prompts := make([]plan.NamedPrompt, rapid.IntRange(1, 4).Draw(t, "prompts"))
		for i := range prompts {
			prompts[i].Name = fmt.Sprint("prompt ", i)
		}
		m, err := plan.NewMeasurement(plan.MeasurementRequest{
			Task: r.Task, Prompts: prompts, Epsilon: epsilon, Size: size, Records: size / 4, Sampler: sampler,
		})
		if err != nil {
			t.Fatal(err)
		}
		counts := privacy.Term{Event: privacy.Laplace{B: m.Measure.Scale}, N: int64(m.Measure.Tables())}
		return spec{Event: m.Event(), Adjacency: m.Adjacency(), Unit: m.Unit, Delta: m.Delta}, unitSpend{all: [][]privacy.Term{{counts}}}
	case "choose":
		r.Sampler = sampler
		r.Choosing = &plan.ChooseRequest{Writing: -1, Rounds: int64(rapid.IntRange(1, 8).Draw(t, "rounds")), Records: size / 10}
		if sampler == scheme.Poisson && rapid.Bool().Draw(t, "count") {
			r.Count, r.Size, r.MinSize = true, 0, size
		}
	case "write and choose":
		r.Choosing = &plan.ChooseRequest{Writing: 0.4, Rounds: int64(rapid.IntRange(1, 4).Draw(t, "rounds")), Records: size / 10}
	case "discover":
		r.Task, r.Discover, r.Ending, r.Method = task("mit-g"), true, true, "noisymax"
	default:
		r.Method = way
		if rapid.Bool().Draw(t, "count") {
			r.Count, r.Size, r.MinSize = true, 0, size
		}
	}
	p, err := plan.New(r)
	if err != nil {
		t.Skip(err) // not every setting goes with every method
	}
	return newRunner(Options{Plan: p}, osDisk{}).describe(), ofPlan(p)
}

// TestPlainKnownDraws: what a release and its certificate state against someone who knows whose
// records were drawn is the ε of everything together without its sampling, added up by hand from
// the fields of random plans of every method; the ε of one draw is less, and is refused.
func TestPlainKnownDraws(t *testing.T) {
	task := func(name string) prompt.Task {
		built, err := prompt.Builtin(name)
		must(t, err)
		return built
	}
	ways := []string{"measure", "choose", "write and choose", "discover"}
	for _, s := range method.List(method.Texts) {
		if s.Bounded() && s.Offered() {
			ways = append(ways, s.Name)
		}
	}
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			differs, tried := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				if tried >= 6 && differs > 0 || tried >= 40 {
					return
				}
				s, by := drawnPlan(t, way, task)
				tried++
				s.Private = true
				e := newExecution(&env.Environment{}, nil, "", osDisk{})
				e.spec = s
				whole, drawn, err := e.guarantees()
				if err != nil {
					t.Fatal(err)
				}
				want := largestEpsilon(t, by.all, s.Adjacency, s.Delta)
				if drawn == nil {
					if math.Abs(want-whole.Epsilon.Upper) > 1e-6*want {
						t.Fatalf("nothing is stated of known draws, by which ε ≤ %v for %s", want, s.Event)
					}
					return
				}
				near := func(got float64) bool { return math.Abs(got-want) <= 1e-6*want }
				expect.True(t, "near(drawn.Epsilon.Upper)", near(drawn.Epsilon.Upper), drawn.Epsilon.Upper)
				expect.Equal(t, "drawn.Delta", drawn.Delta, s.Delta)
				expect.Equal(t, "drawn.Adjacency", drawn.Adjacency, s.Adjacency)
				expect.Equal(t, "drawn.Unit", drawn.Unit, s.Unit)
				if said := stated(t, release.Words(whole, drawn)); said < want*(1-1e-9) || said > want*1.002 {
					t.Fatalf("the words have ε ≤ %v, and by hand it is %v, of %s", said, want, s.Event)
				}
				certified := statementOf(t, s)
				if certified.Drawn == nil || !near(certified.Drawn.Epsilon.Upper) {
					t.Fatalf("the certificate has %+v, and by hand it is %v, of %s", certified.Drawn, want, s.Event)
				}
				if one := largestEpsilon(t, by.draws, s.Adjacency, s.Delta); len(by.draws) > 0 && one < 0.99*want {
					differs++
					if near(one) {
						t.Fatalf("one draw, ε = %v, passes for all of them, ε = %v", one, want)
					}
				}
			})
			if differs == 0 && way != "measure" {
				t.Error("one draw was all of it each time: the test shows little")
			}
		})
	}
}

// stated is the ε that words have of known draws.
func stated(t *rapid.T, words []string) float64 {
	for _, w := range words {
		if _, after, ok := strings.Cut(w, "knows whose records were drawn"); ok {
			_, after, _ = strings.Cut(after, "ε ≤ ")
			number, _, _ := strings.Cut(after, " ")
			v, err := strconv.ParseFloat(number, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatal("nothing is said of known draws")
	return 0
}

// statementOf is what a certificate of a run says.
func statementOf(t *rapid.T, s spec) certificate.Predicate {
	known := map[int64]bool{1 << 20: true}
	_ = privacy.Walk(s.Event, func(e privacy.Event, _ int) error {
		if f, ok := e.(privacy.FixedSize); ok {
			known[f.N] = true
		}
		return nil
	})
	c := certificate.Claim{
		Subjects: []certificate.Subject{{Name: "a", Digest: certificate.Digest{SHA256: strings.Repeat("ab", 32)}}},
		Events:   []privacy.Event{s.Event}, Adjacency: s.Adjacency, Unit: s.Unit, Delta: s.Delta, Method: "m", Proof: "p",
		Standing: certificate.Proven, Randomness: certificate.OSRandom, Version: "1",
		Samplers: []certificate.Sampler{certificate.SampleAll, certificate.SampleFixedSize, certificate.SamplePoisson},
	}
	for n := range known {
		c.Sizes = append(c.Sizes, certificate.Size{Part: fmt.Sprintf("%020d", n), Records: n})
	}
	if len(c.Sizes) > 1 && c.Sizes[0].Part > c.Sizes[1].Part {
		c.Sizes[0], c.Sizes[1] = c.Sizes[1], c.Sizes[0]
	}
	made, err := certificate.NewStatement(c, accountant.Auto{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Predicate()
}
