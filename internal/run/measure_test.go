package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

// measurementOf asks half of the records about two prompts.
func measurementOf() plan.Measurement {
	return plan.Measurement{
		Task: tickets(), Epsilon: 100, Delta: 1e-3, Unit: privacy.Record, Size: 40,
		Prompts: []plan.NamedPrompt{{Name: "zero"}, {Name: "one", Prompt: prompt.Prompt{Examples: []prompt.Example{{Input: "a wheel", Output: "red"}}}}},
		Measure: measure.Measure{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.5}, Scale: 2, Prompts: 2, Grade: measure.Right},
	}
}

// together opens all records in one part.
func (p *place) together(t testing.TB) *record.Data {
	t.Helper()
	d, err := record.Open(context.Background(), p.data, record.Options{
		Text: "text", Condition: "label", Labels: tickets().Labels, Together: true, OneLine: true, Private: filepath.Join(filepath.Dir(p.data), "private"),
	})
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func (p *place) measureOptions(t testing.TB, m *hashModel) MeasureOptions {
	t.Helper()
	return MeasureOptions{
		Env: env.Environment{Model: m.trusted(), Ledger: p.ledger, Dataset: "tickets", Signer: p.signer, Version: "test"}, Dir: filepath.Join(p.dir, "out"), Plan: measurementOf(), Data: p.together(t),
	}
}

// measure is an attempt at a measurement of which everything but the charge is known.
func (p *place) measure(o MeasureOptions, m *hashModel, at func(int, string) error) *attempt {
	a := newAttempt(o.Dir, at)
	m.fail = func(int) error { return a.points.reach("ask the model") }
	w := newMeasurer(o, a.disk)
	e := newEngine(w, w.exec)
	p.settle(e)
	return a.of(e)
}

// TestMeasure: a measurement is charged once, certified, and found complete by a second call.
func TestMeasure(t *testing.T) {
	p := newPlace(t)
	o := p.measureOptions(t, newHashModel())
	done, err := Measure(t.Context(), o)
	must(t, err)
	expect.Len(t, "done.Shares", done.Shares, 2)
	expect.True(t, "done.Difference other than nil", done.Difference != nil)
	expect.True(t, "done.Outcome.Pair other than nil", done.Outcome.Pair != nil)
	expect.True(t, "done.Private", done.Private)
	expect.True(t, "done.Certificate", done.Certificate)
	got := chargesOf(t, o.Env.Ledger, o.Data.Fingerprint())
	expect.Len(t, "chargesOf", got, 1)
	expect.Equal(t, "got[0].State", got[0].State, ledger.Committed)
	expect.Equal(t, "got[0].Event", got[0].Event, "poisson(0.5, laplace(2))")
	report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: accountant.Auto{}})
	must(t, err)
	if !report.OK || report.Predicate.Method != "measure" {
		t.Errorf("%v", report.Failures())
	}
	p.keepsSecrets(t, o.Dir)
	again, err := Measure(t.Context(), o)
	must(t, err)
	expect.True(t, "again.Finished", again.Finished)
	expect.Equal(t, "again.Outcome.Pair", *again.Outcome.Pair, *done.Outcome.Pair)
	expect.Len(t, "chargesOf", chargesOf(t, o.Env.Ledger, o.Data.Fingerprint()), 1)
}

// TestMeasureKilledAtEveryPoint: whatever happens on the way, resuming gives the same bytes
// and one charge, and no number is outside that was not paid for.
func TestMeasureKilledAtEveryPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("a run is repeated for each point at which it can end")
	}
	p := newPlace(t)
	q := p.fresh(t)
	m := newHashModel()
	o := q.measureOptions(t, m)
	a := q.measure(o, m, nil)
	_, err := a.run(t.Context())
	must(t, err)
	want, log := outcome(t, o.Dir), a.points.log
	if len(log) < 30 {
		t.Fatalf("only %d points", len(log))
	}
	for point := 1; point <= len(log); point++ {
		for _, how := range []string{"kill", "power cut"} {
			t.Run(fmt.Sprintf("%d %s %s", point, log[point-1], how), func(t *testing.T) {
				q := p.fresh(t)
				m := newHashModel()
				o := q.measureOptions(t, m)
				a := q.measure(o, m, killAt(point))
				if _, err := a.run(t.Context()); err == nil {
					t.Error("the run was not disturbed")
				}
				if how == "power cut" {
					a.disk.powerCut(t, o.Dir)
				}
				charged := chargesOf(t, o.Env.Ledger, o.Data.Fingerprint())
				if _, err := os.Stat(filepath.Join(o.Dir, measurementFile)); err == nil && len(charged) == 0 {
					t.Error("numbers are there, and nothing is charged")
				}
				again := q.measure(o, m, nil)
				if len(charged) > 0 {
					again.mustNotBeginAnew(t)
				}
				if _, err := again.run(t.Context()); err != nil {
					t.Fatalf("resuming: %v", err)
				}
				q.completed(t, o.Dir, chargesOf(t, o.Env.Ledger, o.Data.Fingerprint()), want)
			})
		}
	}
}

// TestMeasureRestless: a model that does not repeat itself is not asked again for free. A
// measurement that was begun and lost is paid for once more, and all of it is certified.
func TestMeasureRestless(t *testing.T) {
	p := newPlace(t)
	q := p.fresh(t)
	m := restless()
	a := q.measure(q.measureOptions(t, m), m, nil)
	_, err := a.run(t.Context())
	must(t, err)
	some := 0
	for point := 1; point <= len(a.points.log); point++ {
		q := p.fresh(t)
		m := restless()
		o := q.measureOptions(t, m)
		if _, err := q.measure(o, m, killAt(point)).run(t.Context()); err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		lost := false
		entries, _, err := readJournal(filepath.Join(o.Dir, journalFile))
		must(t, err)
		for _, e := range entries {
			lost = e.State == measuring || lost && e.State != measured
		}
		m.fail = nil
		w := newMeasurer(o, osDisk{})
		e := newEngine(w, w.exec)
		q.settle(e)
		if _, err := e.do(t.Context()); err != nil {
			t.Fatalf("%d %s: %v", point, a.points.log[point-1], err)
		}
		wanted := 1
		if lost {
			wanted, some = 2, some+1
		}
		got := chargesOf(t, o.Env.Ledger, o.Data.Fingerprint())
		if len(got) != wanted {
			t.Errorf("%d %s: %d charges, want %d", point, a.points.log[point-1], len(got), wanted)
		}
		report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: q.trust, Evaluator: unitEvaluator{}})
		must(t, err)
		if !report.OK || len(report.Predicate.Events) != wanted {
			t.Errorf("%d: %v, %v", point, report.Failures(), report.Predicate.Events)
		}
	}
	if some == 0 {
		t.Error("no measurement was lost: nothing was tested")
	}
}

// TestMeasureRefusals: all before anything is charged.
func TestMeasureRefusals(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *place, *MeasureOptions){
		"no model":  func(_ *testing.T, _ *place, o *MeasureOptions) { o.Env.Model = lm.TrustedScorer{} },
		"no data":   func(_ *testing.T, _ *place, o *MeasureOptions) { o.Data = nil },
		"no signer": func(_ *testing.T, _ *place, o *MeasureOptions) { o.Env.Signer = nil },
		"in parts":  func(t *testing.T, p *place, o *MeasureOptions) { o.Data = p.open(t, planFor(tickets(), clipped())) },
		"unit":      func(_ *testing.T, _ *place, o *MeasureOptions) { o.Plan.Unit = "user:who" },
		"plan":      func(_ *testing.T, _ *place, o *MeasureOptions) { o.Plan.Prompts = o.Plan.Prompts[:1] },
		"size": func(_ *testing.T, _ *place, o *MeasureOptions) {
			o.Plan.Measure.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 5, Of: 41}
		},
		"long prompt": func(_ *testing.T, _ *place, o *MeasureOptions) {
			o.Plan.Prompts[1].Prompt.Examples = []prompt.Example{{Input: strings.Repeat("word ", 2000), Output: "red"}}
		},
		"long prompt in turns": func(_ *testing.T, _ *place, o *MeasureOptions) {
			m := chatting()
			m.around = 4000
			o.Env.Model = m.trusted()
			// As a text it fits.
			o.Plan.Prompts[1].Prompt.Form, o.Plan.Prompts[1].Prompt.Examples = prompt.ChatForm, []prompt.Example{{Input: "a wheel", Output: "red"}}
		},
		"turns of a model that does not chat": func(_ *testing.T, _ *place, o *MeasureOptions) {
			o.Plan.Prompts[1].Prompt.Form = prompt.ChatForm
		},
		"turns of a model that does not say its best token": func(_ *testing.T, _ *place, o *MeasureOptions) {
			m := chatting()
			m.info.Can.Top = false
			o.Env.Model = m.trusted()
			o.Plan.Prompts[1].Prompt.Form = prompt.ChatForm
		},
		"turns judged by probabilities": func(_ *testing.T, _ *place, o *MeasureOptions) {
			o.Env.Model = chatting().trusted()
			o.Plan.Prompts[1].Prompt.Form, o.Plan.Measure.Grade = prompt.ChatForm, measure.Probability
		},
		"model without scores": func(_ *testing.T, _ *place, o *MeasureOptions) {
			m := newHashModel()
			m.info.Can.Top, m.info.Can.All = false, false
			o.Env.Model = m.trusted()
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			o := p.measureOptions(t, newHashModel())
			data := o.Data
			change(t, p, &o)
			if _, err := Measure(t.Context(), o); err == nil {
				t.Errorf("%s is allowed", name)
			}
			if got := chargesOf(t, p.ledger, data.Fingerprint()); len(got) != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestMeasureForms: a prompt is measured in its form, and another form gives other counts of the
// same records.
func TestMeasureForms(t *testing.T) {
	counts := map[prompt.Form]measure.Outcome{}
	for _, f := range []prompt.Form{"", prompt.ChatForm, prompt.MessageForm} {
		p := newPlace(t)
		o := p.measureOptions(t, chatting())
		seed := uint64(7)
		o.Env.Seed, o.Env.Ledger, o.Env.Signer = &seed, nil, nil
		for i := range o.Plan.Prompts {
			o.Plan.Prompts[i].Prompt.Form = f
		}
		done, err := Measure(t.Context(), o)
		must(t, err)
		counts[f] = done.Outcome
	}
	if reflect.DeepEqual(counts[""].Counts, counts[prompt.ChatForm].Counts) {
		t.Errorf("a text and turns have the same counts: %v", counts)
	}
}

// TestMeasureSeeded: with a seed the numbers are known to anyone who knows the seed, and files
// say so.
func TestMeasureSeeded(t *testing.T) {
	p := newPlace(t)
	o := p.measureOptions(t, newHashModel())
	seed := uint64(7)
	o.Env.Seed, o.Env.Ledger, o.Env.Signer = &seed, nil, nil
	done, err := Measure(t.Context(), o)
	must(t, err)
	if done.Private || done.Certificate {
		t.Errorf("%+v", done)
	}
	if got := tree(t, o.Dir)[measurementFile]; !strings.Contains(got, `"not_private": true`) {
		t.Errorf("%s", got)
	}
}
