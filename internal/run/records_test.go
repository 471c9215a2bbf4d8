package run

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/prompt"
)

// apart is a model that keeps records apart, each with all its prompts at once.
type apart struct {
	*hashModel
	fails error
}

func (a *apart) ByRecord(ctx context.Context) (lm.Scorer, lm.Isolation, error) {
	s, _, err := a.Solo(ctx)
	return s, lm.RecordsWatched, errors.Join(err, a.fails)
}

func trusted(t *testing.T, s lm.Scorer) lm.TrustedScorer {
	t.Helper()
	m, err := lm.Trust(s, lm.Declared)
	must(t, err)
	return m
}

// TestRecordsApart: where records judge they are asked about one at a time, what is written from them
// is written prompt by prompt, and the certificate says which of it was done.
func TestRecordsApart(t *testing.T) {
	cannot := &lm.NotIsolatedError{Backend: "test", Why: "it cannot", Do: "wait"}
	for name, test := range map[string]struct {
		from  bool // texts are written from records
		fails error
		want  lm.Isolation
	}{
		"judging":             {false, nil, lm.RecordsWatched},
		"writing and judging": {true, nil, lm.Exclusive.And(lm.RecordsWatched)},
		"judging, one by one": {false, cannot, lm.Exclusive},
		"both, one by one":    {true, cannot, lm.Exclusive},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			m := public()
			if test.from {
				m = clipped()
			}
			o := p.options(t, choosingPlan(tickets(), m), restless())
			o.Env.Model = trusted(t, &apart{restless(), test.fails})
			p.finish(t, o)
			report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: unitEvaluator{}})
			must(t, err)
			if got := report.Predicate; !report.OK || got.Model.Isolation != string(test.want) {
				t.Errorf("%+v, isolated %q, not %q", report.Failures(), got.Model.Isolation, test.want)
			}
			if said := strings.Join(report.Predicate.Assumptions, "\n"); strings.Contains(said, "asked about one at a time") != strings.Contains(string(test.want), "one record") {
				t.Errorf("the certificate assumes\n%s", said)
			}
		})
	}
}

// onlyWrites is a model without scores.
type onlyWrites struct{ *hashModel }

func (onlyWrites) Info() lm.Info {
	return lm.Info{Name: "writer", Backend: "test", Can: lm.Capabilities{Chat: true}}
}

// TestOnlyWrites: a model that only writes is refused for whatever needs scores before anything is
// charged, and told what it can do.
func TestOnlyWrites(t *testing.T) {
	turns := choosingPlan(tickets(), public())
	turns.Choose.Form = prompt.ChatForm
	for want, made := range map[string]func(p *place) Options{
		"--form chat": func(p *place) Options { return p.options(t, planFor(tickets(), clipped()), newHashModel()) },
		"only writes": func(p *place) Options {
			return p.options(t, choosingPlan(tickets(), public()), newHashModel())
		},
		"--pool-model": func(p *place) Options { return p.options(t, turns, newHashModel()) },
	} {
		t.Run(want, func(t *testing.T) {
			p := newPlace(t)
			o := made(p)
			o.Env.Model = trusted(t, onlyWrites{newHashModel()})
			var unsupported *lm.UnsupportedError
			if _, err := p.runner(o, osDisk{}).do(t.Context()); !errors.As(err, &unsupported) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
			if left, _ := os.ReadDir(o.Dir); len(left) != 0 {
				t.Errorf("the folder has %v", left)
			}
			if _, err := p.ledger.Show(t.Context(), "tickets"); err == nil {
				t.Errorf("%s: the data set got a budget", want)
			}
		})
	}
}
