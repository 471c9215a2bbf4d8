package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/private/sums"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

// newLearnPlace is a place of runs that add all records up and do nothing else.
func newLearnPlace(t testing.TB) *place {
	p := newPlace(t)
	p.encoder = &hashEncoder{name: "hash"}
	made := planFor(tickets(), public())
	made.Shots = 0
	made.Evidence = &plan.Evidence{
		Sums: sums.Sums{Encoder: "hash", Sums: 2, Sigma: 1.5, Step: 20, Size: 40, Adjacency: privacy.AddRemove, Each: 1}, Alone: true,
	}
	made.Measure = &measure.Measure{Draw: perText(), Prompts: 1, Grade: measure.Default(made.Task), Scale: 2}
	p.made = &made
	return p
}

// TestLearn: all records are added up once, after the charge, and then measured; no language model is needed.
// The folder has the classifier, how it is used, and nothing for those who ask a model.
func TestLearn(t *testing.T) {
	p := newLearnPlace(t)
	o := p.options(t, p.plan(), newHashModel())
	o.Env.Model, o.Vary = lm.TrustedScorer{}, nil
	result := p.finish(t, o)
	entries, _, err := readJournal(filepath.Join(o.Dir, journalFile))
	must(t, err)
	var order []state
	for _, e := range entries {
		order = append(order, e.State)
	}
	if want := []state{planned, keyed, reserved, summed, measured, written, committed}; !slices.Equal(order, want) {
		t.Errorf("the run did %v, want %v", order, want)
	}
	if m := entries[0].Header.Model; m.Name != "hash" || !m.exact() {
		t.Errorf("who sees records is %+v", m)
	}
	want := []string{"README.md", evidence.File, "prompt.json", "report.html", "use.md"}
	if !slices.Equal(result.Files, want) {
		t.Errorf("the files are %v, want %v", result.Files, want)
	}
	data, err := os.ReadFile(filepath.Join(o.Dir, "prompt.json"))
	must(t, err)
	var said prompt.Prompt
	must(t, json.Unmarshal(data, &said))
	at := expect.At(t, "the prompt")
	expect.Equal(at, "said.Evidence.How", said.Evidence.How, prompt.Alone)
	expect.Len(at, "said.Examples", said.Examples, 0)
	expect.Equal(at, "result.Prompt.Evidence.How", result.Prompt.Evidence.How, prompt.Alone)
	at = expect.At(t, "the result")
	expect.True(at, "result.Evidence other than nil", result.Evidence != nil)
	if result.Worth == nil {
		at.Fatalf("result.Worth: got none")
	}
	expect.True(at, "result.Worth.Alone", result.Worth.Alone)
	expect.Contains(at, "result.Worth.Sentence()", result.Worth.Sentence(), "The classifier is right")
	event := privacy.Canonical(privacy.Compose{Events: []privacy.Event{o.Plan.Evidence.Event(), o.Plan.Measure.Event()}})
	got := charges(t, o)
	expect.Len(t, "charges", got, 1)
	expect.Equal(t, "got[0].Event", got[0].Event, event.String())
	expect.Equal(t, "got[0].State", got[0].State, ledger.Committed)
	asked := p.encoder.asked
	again, err := p.runner(o, osDisk{}).do(t.Context())
	must(t, err)
	if !again.Finished || p.encoder.asked != asked {
		t.Errorf("a finished run asked the encoder %d times", p.encoder.asked-asked)
	}
	p.keepsSecrets(t, o.Dir)
}

// TestLearnIsCertified: with the real accountants, the certificate holds, covers the classifier and names the
// encoder, and so it is without a measurement.
func TestLearnIsCertified(t *testing.T) {
	for _, measures := range []bool{false, true} {
		p := newLearnPlace(t)
		made := p.plan()
		if !measures {
			made.Measure = nil
		}
		costs, err := accountant.Auto{}.Epsilon(made.Event(), made.Adjacency, made.Delta)
		must(t, err)
		made.Epsilon = 1.01 * costs.Upper
		o := p.options(t, made, newHashModel())
		l, err := ledger.Open(t.Context(), filepath.Join(p.dir, "ledger.db"), ledger.Options{Create: true})
		must(t, err)
		defer l.Close()
		o.Env.Ledger, o.Env.Model = l, lm.TrustedScorer{}
		result, err := Do(t.Context(), o)
		must(t, err)
		if measures != (result.Worth != nil) {
			t.Errorf("measuring %v: the worth is %+v", measures, result.Worth)
		}
		verify := func() *certificate.Report {
			report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: accountant.Auto{}, Strict: true})
			must(t, err)
			return report
		}
		report := verify()
		if !report.OK {
			t.Fatalf("measuring %v: the certificate does not hold: %+v", measures, report.Failures())
		}
		c := report.Predicate
		at := expect.At(t, "measuring %v", measures)
		expect.Equal(at, "c.Method", c.Method, plan.Learns)
		if c.Model == nil {
			at.Fatalf("c.Model: got none")
		}
		expect.Equal(at, "c.Model.Name", c.Model.Name, "hash")
		expect.True(at, "certificate.SampleAll in c.Samplers", slices.Contains(c.Samplers, certificate.SampleAll), c.Samplers)
		expect.Equal(at, "measures", measures, slices.Contains(c.Samplers, certificate.SamplePoisson))
		name := filepath.Join(o.Dir, evidence.File)
		data, err := os.ReadFile(name)
		must(t, err)
		must(t, os.WriteFile(name, append(data, '\n'), 0o600))
		if verify().OK {
			t.Errorf("a changed %s is certified", evidence.File)
		}
	}
}

// TestLearnKilled kills a run, or cuts its power, at each point from the charge on. It continues to the same
// bytes and one charge.
func TestLearnKilled(t *testing.T) {
	p := newLearnPlace(t)
	want, log := p.reference(t)
	at := slices.Index(log, "ask the encoder")
	if at < 4 || len(log) < at+12 {
		t.Fatalf("the encoder is first asked at %d of %d points", at, len(log))
	}
	for point := at - 4; point <= len(log); point++ {
		for _, power := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %s power cut %v", point, log[point-1], power), func(t *testing.T) {
				err := p.disturb(t, want, killAt(point), func(a *attempt, o Options) {
					if power {
						a.disk.powerCut(t, o.Dir)
					}
				})
				if !errors.Is(err, errKilled) {
					t.Errorf("the run ended with %v before it was killed", err)
				}
			})
		}
	}
}

// TestLearnSeeded: a run of a seed says in all files that it is not private.
func TestLearnSeeded(t *testing.T) {
	p := newLearnPlace(t)
	o := p.options(t, p.plan(), newHashModel())
	seed := uint64(1)
	o.Env.Seed, o.Env.Model = &seed, lm.TrustedScorer{}
	notPrivate(t, p.finish(t, o))
}

// TestLearnNeedsItsEncoder: without an encoder, or with another one, nothing is charged or written.
func TestLearnNeedsItsEncoder(t *testing.T) {
	for name, encoder := range map[string]*hashEncoder{"none": nil, "another": {name: "other"}} {
		t.Run(name, func(t *testing.T) {
			p := newLearnPlace(t)
			p.encoder = encoder
			o := p.options(t, p.plan(), newHashModel())
			if _, err := p.runner(o, osDisk{}).do(t.Context()); err == nil || !strings.Contains(err.Error(), "the plan adds records up by the encoder hash") {
				t.Errorf("%v", err)
			}
			if got := charges(t, o); len(got) != 0 || encoder != nil && encoder.asked != 0 {
				t.Errorf("%d charges", len(got))
			}
		})
	}
}

// TestLearnCovered: without rounds too, sums that ran otherwise than the plan says, or are not among what is
// charged, are not released.
func TestLearnCovered(t *testing.T) {
	p := newLearnPlace(t)
	r := p.runner(p.options(t, p.plan(), newHashModel()), osDisk{})
	_, err := r.do(t.Context())
	must(t, err)
	ran := func(n int64, sigma float64) sums.Outcome {
		return sums.Outcome{Event: privacy.Repeat{N: n, Event: privacy.Gaussian{Sigma: sigma}}}
	}
	must(t, r.coveredSums(ran(2, 1.5)))
	for name, wrong := range map[string]sums.Outcome{"less noise": ran(2, 1), "more sums": ran(3, 1.5), "nothing": {Event: privacy.Compose{}}} {
		t.Run(name, func(t *testing.T) {
			if r.coveredSums(wrong) == nil {
				t.Errorf("%s is released", name)
			}
		})
	}
	for name, e := range map[string]privacy.Event{"none": privacy.Compose{}, "one": privacy.Gaussian{Sigma: 1.5}, "only the measurement": r.plan.Measure.Event()} {
		t.Run(name, func(t *testing.T) {
			r.exec.spec.Event = e
			if r.coveredSums(ran(2, 1.5)) == nil {
				t.Errorf("sums are released, of which %s is charged", name)
			}
		})
	}
}

// TestLearnChecksItsPlan: what does not belong to sums by themselves is refused before anything is charged.
func TestLearnChecksItsPlan(t *testing.T) {
	for name, change := range map[string]func(*plan.Plan){
		"texts":         func(p *plan.Plan) { p.Shots = 3 },
		"from records":  func(p *plan.Plan) { p.Parts = planFor(tickets(), clipped()).Parts },
		"weights":       func(p *plan.Plan) { p.Evidence.Weights = []float64{1} },
		"hints":         func(p *plan.Plan) { p.Evidence.Hints = 1 },
		"no use":        func(p *plan.Plan) { p.Evidence.Alone = false },
		"no sums":       func(p *plan.Plan) { p.Evidence = nil },
		"two prompts":   func(p *plan.Plan) { p.Measure.Prompts = 2 },
		"open labels":   func(p *plan.Plan) { p.Task = phrases() },
		"another draw":  func(p *plan.Plan) { p.Adjacency = privacy.ReplaceOne },
		"a count too":   func(p *plan.Plan) { p.Count = &plan.Count{Epsilon: 1, MinSize: 10} },
		"no noise":      func(p *plan.Plan) { p.Evidence.Sigma = 0 },
		"nobody's sums": func(p *plan.Plan) { p.Evidence.Encoder = "" },
	} {
		t.Run(name, func(t *testing.T) {
			p := newLearnPlace(t)
			made := p.plan()
			own, m := *made.Evidence, *made.Measure
			made.Evidence, made.Measure = &own, &m
			o := p.options(t, made, newHashModel())
			change(&o.Plan)
			if _, err := p.runner(o, osDisk{}).do(t.Context()); err == nil {
				t.Errorf("%s: it runs", name)
			}
			if got := charges(t, o); len(got) != 0 || p.encoder.asked != 0 {
				t.Errorf("%d charges, and the encoder was asked %d times", len(got), p.encoder.asked)
			}
		})
	}
}
