package run

import (
	"errors"
	"os"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// cheap embeds a method and understates its cost; eager reads the scores of private
// prompts.
type (
	cheap struct{ decode.Method }
	eager struct{ *decode.Clipped }
)

func (cheap) Step() privacy.Event { return privacy.BoundedRange{C: 1e-9} }
func (cheap) Proof() string       { return "trust me" }

func (eager) Select(decode.View, *noise.Stream) (int, error) {
	return 0, errors.New("a foreign method was shown scores")
}

// TestForeignMethodsGetNoCertificate: a method of another package, around one of ours, is
// refused before there is a folder, a charge or a question to the model. A method without
// any of ours does not compile (package private, TestOutsideDoesNotCompile).
func TestForeignMethodsGetNoCertificate(t *testing.T) {
	for name, m := range map[string]decode.Method{
		"states another cost": cheap{clipped()},
		"looks at scores":     eager{clipped().(*decode.Clipped)},
		"within settings":     decode.Settings{Method: cheap{clipped()}},
	} {
		t.Run(name, func(t *testing.T) {
			p, model := newPlace(t), newHashModel()
			o := p.options(t, planFor(tickets(), m), model)
			if o.Plan.Private() || o.Plan.Event().String() == planFor(tickets(), clipped()).Event().String() {
				t.Errorf("the plan says it is private, at %v", o.Plan.Event())
			}
			_, err := Do(t.Context(), o)
			if !errors.Is(err, private.ErrForeign) {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(o.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("there is a folder: %v", err)
			}
			if _, err := p.ledger.Show(t.Context(), "tickets"); err == nil || model.steps > 0 {
				t.Errorf("the ledger knows of it (%v), or the model was asked %d times", err, model.steps)
			}
		})
	}
}

// TestThePlanIsTheRunsOwn: anyone who holds the plan changes its settings after the charge,
// and back before the certificate. What runs is what was charged.
func TestThePlanIsTheRunsOwn(t *testing.T) {
	all := newPlace(t)
	run := func(change bool) (*Result, string) {
		p := all.fresh(t)
		m := clipped().(*decode.Clipped)
		o := p.options(t, planFor(tickets(), m), newHashModel())
		o.Env.Observe = func(e env.Progress) {
			switch {
			case change && e.Kind == env.Reserved:
				m.Range, m.Draw.Rate = 500, 1
			case change && e.Kind == env.Written:
				*m = *clipped().(*decode.Clipped)
			}
		}
		out, err := p.runner(o, osDisk{}).do(t.Context())
		must(t, err)
		return out, out.Event.String()
	}
	want, cost := run(false)
	got, event := run(true)
	if event != cost {
		t.Errorf("the run cost %s, not %s", event, cost)
	}
	for i, e := range want.Examples {
		if got.Examples[i] != e {
			t.Errorf("text %d is %v, not %v: other settings ran than were charged", i+1, got.Examples[i], e)
		}
	}
}

// TestTablePlansAreTheRunsOwn: the same of plans on tables, whose settings are lists that
// the caller holds.
func TestTablePlansAreTheRunsOwn(t *testing.T) {
	p := newPlace(t)
	of, err := plan.NewLocal(plan.LocalRequest{Schema: pets(), Epsilon: 6})
	must(t, err)
	want := of.Event().String()
	j := perturbJob(t)
	o := p.tableOptions(t, j, petsFile(t, t.TempDir(), 60))
	o.Env.Observe = func(e env.Progress) {
		if e.Kind == env.Reserved {
			clear(of.Settings.Epsilons)
		}
	}
	out, err := Perturb(t.Context(), of, o)
	must(t, err)
	if got := out.Event.String(); got != want || out.Sidecar.Event != want {
		t.Errorf("rows cost %s, the sidecar says %s, and %s was charged", got, out.Sidecar.Event, want)
	}
	profile, err := plan.NewProfile(plan.ProfileRequest{Schema: pets(), Epsilon: 4, Size: 60, Groups: []schema.Group{{Column: "kind"}}})
	must(t, err)
	want = profile.Event().String()
	o = p.fresh(t).tableOptions(t, profileJob(t), petsFile(t, t.TempDir(), 60))
	o.Env.Observe = func(e env.Progress) {
		if e.Kind == env.Reserved {
			for i := range profile.Settings.Columns {
				profile.Settings.Columns[i].Multiplier *= 1000
			}
		}
	}
	result, err := Profile(t.Context(), profile, o)
	must(t, err)
	if got := result.Event.String(); got != want {
		t.Errorf("the profile costs %s, and %s was charged", got, want)
	}
}

// TestTheMeterHasNoSayInCertificates: a program that opens its ledger with a meter of its
// own, to which everything is free, gets the ε that the accountant computes.
func TestTheMeterHasNoSayInCertificates(t *testing.T) {
	p := newPlace(t)
	p.ledger = ledgertest.New(t, func(*ledger.Budget) (ledger.Meter, error) { return freeMeter{}, nil })
	o := p.options(t, planFor(tickets(), clipped()), newHashModel())
	o.Plan.Epsilon = 1e-6
	out, err := Do(t.Context(), o)
	must(t, err)
	want, err := accountant.Auto{}.Epsilon(out.Event, privacy.AddRemove, o.Plan.Delta)
	must(t, err)
	report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: accountant.Auto{}})
	must(t, err)
	got := report.Recomputed.Upper
	at := expect.At(t, "the ε of the certificate")
	expect.True(at, "report.OK", report.OK)
	expect.Equal(at, "got", got, want.Upper)
	expect.Min(at, "got", got, 0.1)
}

// freeMeter says that everything fits and costs nothing.
type freeMeter struct{}

func (freeMeter) Allows([]privacy.Term, float64, float64) (float64, bool, error) { return 0, true, nil }
func (freeMeter) Add([]privacy.Term) error                                       { return nil }
func (freeMeter) Remove([]privacy.Term) error                                    { return nil }
func (freeMeter) Epsilon(float64, float64) (float64, error)                      { return 0, nil }
func (freeMeter) Price([]privacy.Term, float64, float64) (ledger.Cost, error) {
	return ledger.Cost{}, nil
}
