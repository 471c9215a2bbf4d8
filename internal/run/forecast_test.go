package run

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan/forecast"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestExpected: what to expect is reported before anything is charged, and follows from the plan
// and the model alone. Of a plan with fewer rounds than were measured it is that there is no forecast.
func TestExpected(t *testing.T) {
	for rounds, start := range map[int64]string{9: "what to expect", 2: "there is no forecast"} {
		p := newChoosingPlace(t)
		p.made.Choose.Rounds = rounds
		o := p.options(t, p.plan(), newHashModel())
		o.Env.ModelName = "SmolLM2-135M-Instruct Q4_1"
		var seen []env.Progress
		o.Env.Observe = func(e env.Progress) { seen = append(seen, e) }
		p.finish(t, o)
		said := slices.IndexFunc(seen, func(e env.Progress) bool {
			return e.Kind == env.Noted && strings.HasPrefix(e.Message, start)
		})
		charged := slices.IndexFunc(seen, func(e env.Progress) bool { return e.Kind == env.Reserved })
		if said < 0 || charged < said {
			t.Fatalf("%d rounds: seen at %d, charged at %d", rounds, said, charged)
		}
		f, err := forecast.Of(p.plan(), o.Env.ModelName)
		if few, ok := errors.AsType[*forecast.RoundsError](err); ok != (rounds == 2) || ok && seen[said].Message != few.Error() {
			t.Errorf("%d rounds: %s, not %v", rounds, seen[said].Message, err)
		}
		if err == nil && (f.Guess || seen[said].Message != f.Words()) {
			t.Errorf("%s, not %s", seen[said].Message, f.Words())
		}
	}
}

// TestUnlikely: where none is better there is a warning, in the result too; a run that continues
// is told no forecast again.
func TestUnlikely(t *testing.T) {
	p := newChoosingPlace(t)
	o := p.options(t, p.plan(), newHashModel())
	var seen []env.Progress
	o.Env.Observe = func(e env.Progress) { seen = append(seen, e) }
	r := p.runner(o, osDisk{})
	r.exec.progress = &progress{}
	f := forecast.Forecast{OverNone: forecast.Interval{Low: -9, Middle: -4, High: 1}, DataSets: 3}
	r.expect(f)
	expect.Len(t, "seen", seen, 2)
	expect.Equal(t, "seen[0].Kind", seen[0].Kind, env.Noted)
	expect.Equal(t, "seen[1].Kind", seen[1].Kind, env.Cautioned)
	expect.True(t, "f.Warning() in r.exec.warnings", slices.Contains(r.exec.warnings, f.Warning()), r.exec.warnings)
	expect.True(t, "f.Warning() that is not empty", f.Warning() != "")
	seen, r.exec.progress.charge = nil, "charged"
	r.expect(forecast.Forecast{OverNone: forecast.Interval{Low: 1, Middle: 4, High: 9}, DataSets: 3, BetterOn: 3})
	if len(seen) != 0 {
		t.Errorf("%+v", seen)
	}
}
