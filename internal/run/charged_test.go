package run

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestNothingBeforeTheCharge: when the ledger is asked, nobody was drawn, counted or shown to
// the model; and where it refuses, nobody ever is.
func TestNothingBeforeTheCharge(t *testing.T) {
	discovers := planFor(phrases(), clipped())
	discovers.Conditions, discovers.Discover = nil, &plan.Discover{Epsilon: 5, Delta: 1e-4, MaxLabels: 5}
	for name, made := range map[string]plan.Plan{
		"texts":    planFor(tickets(), clipped()),
		"counted":  countingPlan(clipped()),
		"labels":   discovers,
		"choosing": choosingPlan(tickets(), public()),
	} {
		t.Run(name, func(t *testing.T) {
			for _, epsilon := range []float64{0.5, 1000} { // of the budget
				p := newPlace(t)
				m := newHashModel()
				o := p.options(t, made, m)
				fingerprint, err := fingerprintOf(o)
				must(t, err)
				_, err = p.ledger.Init(t.Context(), ledger.InitRequest{Dataset: fingerprint, Budget: ledger.Budget{Epsilon: epsilon, Delta: 1e-3}})
				must(t, err)
				asked := 0
				o.Env.Ledger = watchedLedger{p.ledger, func() {
					asked++
					entries, _, err := readJournal(filepath.Join(o.Dir, journalFile))
					must(t, err)
					for _, e := range entries {
						if e.State != planned && e.State != keyed {
							t.Errorf("%s before anything is charged", e.State)
						}
					}
					if m.steps > 0 {
						t.Errorf("the model was asked %d times before anything is charged", m.steps)
					}
				}}
				_, err = p.runner(o, osDisk{}).do(t.Context())
				if asked == 0 {
					t.Fatalf("the ledger was not asked: %v", err)
				}
				refused := errors.As(err, new(*ledger.RefusedError))
				at := expect.At(t, "%s, a budget of %v", name, epsilon)
				expect.Equal(at, "refused", refused, epsilon < 1)
				expect.True(at, "refused other than err == nil", refused != (err == nil), refused)
				if refused {
					expect.Max(at, "m.steps", m.steps, 0)
				}
			}
		})
	}
}

// TestCertificatesSayWhatIsPlanned: adjacency, unit, δ, samplers, sizes and events of a
// certificate are those of the plan, and so is the guarantee of the result.
func TestCertificatesSayWhatIsPlanned(t *testing.T) {
	fixed := scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 4, Of: 40}
	disjoint := scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 4}
	users := planFor(phrases(), clipped())
	users.Unit = "user:who"
	for name, c := range map[string]struct {
		made plan.Plan
		ran  []certificate.Sampler
	}{
		"poisson":    {planFor(tickets(), clipped()), []certificate.Sampler{certificate.SamplePoisson}},
		"fixed size": {planFor(phrases(), &decode.Clipped{Draw: fixed, Expected: 4, Range: 1, Temperature: 1, Candidates: 10}), []certificate.Sampler{certificate.SampleFixedSize}},
		"disjoint":   {planFor(tickets(), &decode.Clipped{Draw: disjoint, Expected: 5, Range: 1, Temperature: 1, Candidates: 10}), []certificate.Sampler{certificate.SampleDisjoint}},
		"counted":    {countingPlan(clipped()), []certificate.Sampler{certificate.SampleAll, certificate.SamplePoisson}},
		"users":      {users, []certificate.Sampler{certificate.SamplePoisson}},
		"choosing":   {choosingPlan(tickets(), public()), []certificate.Sampler{certificate.SamplePoisson}},
	} {
		t.Run(name, func(t *testing.T) {
			c.made.Delta = 3e-4
			p := newPlace(t)
			o := p.options(t, c.made, newHashModel())
			result := p.finish(t, o)
			report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: unitEvaluator{}})
			must(t, err)
			if !report.OK {
				t.Fatalf("%v", report.Failures())
			}
			says := report.Predicate
			at := expect.At(t, "%s: the certificate is about", name)
			expect.Equal(at, "says.Adjacency", says.Adjacency, c.made.Adjacency)
			expect.Equal(at, "says.Unit", says.Unit, c.made.Unit)
			expect.Equal(at, "says.Delta", says.Delta, c.made.Delta)
			g := result.Guarantee
			at = expect.At(t, "%s: the result is about", name)
			expect.Equal(at, "g.Adjacency", g.Adjacency, c.made.Adjacency)
			expect.Equal(at, "g.Unit", g.Unit, c.made.Unit)
			expect.Equal(at, "g.Delta", g.Delta, c.made.Delta)
			expect.Equal(at, "g.Event", g.Event.String(), c.made.Event().String())
			if !slices.Equal(says.Samplers, c.ran) || !slices.Equal(says.Events, []string{c.made.Event().String()}) {
				t.Errorf("the certificate has %v and %v, the plan %v and %s", says.Samplers, says.Events, c.ran, c.made.Event())
			}
			var units int64
			for _, s := range says.Sizes {
				units += s.Records
			}
			if units != c.made.Units() {
				t.Errorf("the certificate is about %d units, the plan about %d", units, c.made.Units())
			}
		})
	}
}

// TestCountsOfExchangedUnits: an exchanged unit changes two counts, and the event of a plan has
// one, so that nothing is counted under replace-one adjacency, whatever it is.
func TestCountsOfExchangedUnits(t *testing.T) {
	for name, change := range map[string]func(*plan.Plan){
		"sizes":  func(p *plan.Plan) { p.Count = &plan.Count{Epsilon: 1, MinSize: 40} },
		"labels": func(p *plan.Plan) { p.Discover = &plan.Discover{Epsilon: 1, Delta: 1e-6, MaxLabels: 5} },
		"ending": func(p *plan.Plan) { p.Ending = &plan.Ending{Epsilon: 1, Delta: 1e-6, Words: 2, MinUnits: 21} },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			m := *clipped().(*decode.Clipped)
			m.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 4, Of: 40}
			made := planFor(phrases(), &m)
			change(&made)
			o := p.options(t, made, newHashModel())
			_, err := p.runner(o, osDisk{}).do(t.Context())
			at := expect.At(t, "%s under replace-one adjacency", name)
			expect.Contains(at, "error", fmt.Sprint(err), string(privacy.AddRemove))
			expect.Len(at, "charges", charges(t, o), 0)
		})
	}
}

// TestMeasuredAttemptsAreFresh: a measurement that is paid for again has another draw and other
// noise than the one that was lost, and the same attempt has the same.
func TestMeasuredAttemptsAreFresh(t *testing.T) {
	seen := map[string]int{}
	for _, attempt := range []int{0, 1, 2, 1} {
		p := newPlace(t)
		w := newMeasurer(p.measureOptions(t, newHashModel()), osDisk{})
		e := newEngine(w, w.exec)
		p.settle(e)
		must(t, e.ready())
		must(t, e.exec.folder.prepare())
		must(t, e.openRun())
		e.exec.key = noise.KeyFromSeed(1) // the same for all attempts
		w.exec.progress.attempt = attempt
		w.exec.env.Observe = func(env.Progress) {}
		must(t, w.look(t.Context()))
		seen[string(w.exec.progress.measured)]++
		must(t, e.exec.folder.unlock())
	}
	if len(seen) != 3 {
		t.Errorf("of three attempts, one of them twice, %d numbers come out: %v", len(seen), seen)
	}
}

// TestTextsHaveStreamsOfTheirOwn: no two texts of a run, nor two attempts at one, share a draw
// or noise, which are named by the index of a job.
func TestTextsHaveStreamsOfTheirOwn(t *testing.T) {
	p := newPlace(t)
	r := p.runner(p.options(t, planFor(tickets(), clipped()), restless()), osDisk{})
	const texts, attempts = 6, 3
	r.exec.progress = &progress{texts: make([]text, texts)}
	for i := range texts {
		r.exec.progress.conditions = append(r.exec.progress.conditions, tickets().Labels[i%2])
	}
	methods := r.methods()
	seen := map[uint64]bool{}
	for attempt := range attempts {
		for i := range texts {
			r.exec.progress.texts[i].attempt = attempt
			seen[r.job(i, methods).Index] = true
		}
	}
	if len(seen) != texts*attempts {
		t.Errorf("%d attempts at each of %d texts have %d names for their randomness", attempts, texts, len(seen))
	}
}

// TestOneDrawHandsNothingBack: a text that has one draw is amplified as a whole, so that tokens
// which it did not need are not handed back, under a budget that would take them either.
func TestOneDrawHandsNothingBack(t *testing.T) {
	p := newPlace(t)
	made := planFor(phrases(), clipped())
	made.Tokens = 30
	m := newHashModel()
	m.ends = true
	o := p.options(t, made, m)
	fingerprint, err := fingerprintOf(o)
	must(t, err)
	_, err = p.ledger.Init(t.Context(), ledger.InitRequest{Dataset: fingerprint, Budget: ledger.Budget{Epsilon: 1000, Delta: 1e-3, Composition: ledger.Adaptive}})
	must(t, err)
	r := p.runner(o, osDisk{})
	_, err = r.do(t.Context())
	must(t, err)
	if steps := r.exec.progress.steps(made.Shots); steps >= int64(made.Shots*made.Tokens) {
		t.Fatalf("all texts have all their tokens: nothing was tested")
	}
	got := charges(t, o)
	expect.Len(t, "charges", got, 1)
	expect.Equal(t, "got[0].Spent", got[0].Spent, "")
	expect.Equal(t, "got[0].Event", got[0].Event, made.Event().String())
}
