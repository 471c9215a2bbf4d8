package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// likeThem is an author of texts like others, who repeats itself.
func likeThem(_ context.Context, round int64, like []prompt.Example, n int) (out []prompt.Example, _ error) {
	for i := range n {
		out = append(out, prompt.Example{Input: fmt.Sprintf("like %d.%d of %s", round, i, like[0].Input), Output: like[0].Output})
	}
	return out, nil
}

// varyingPlan has texts written like the winner's after the first and the second round.
func varyingPlan() plan.Plan {
	made := choosingPlan(tickets(), public())
	made.Choose.Rounds, made.Choose.Vary, made.Choose.Next, made.Choose.MaxShots = 4, 3, 4, 3
	made.Choose.Made = &plan.PoolContent{
		Model: "hosted", Instructions: []string{"Is it red, or blue?"},
		Examples: []prompt.Example{{Input: "a hosted text", Output: "red"}, {Input: "another", Output: "blue"}},
	}
	return made
}

// journalOf folds the journal of a folder.
func journalOf(t testing.TB, dir string) *progress {
	t.Helper()
	entries, _, err := readJournal(filepath.Join(dir, journalFile))
	must(t, err)
	state, err := fold(entries)
	must(t, err)
	return state
}

// varied runs the plan in places of its own until a winner has examples to be like.
func variedPlace(t testing.TB) *place {
	t.Helper()
	made := varyingPlan()
	for range 20 {
		p := newPlace(t)
		p.made = &made
		q := p.fresh(t)
		o := q.options(t, made, newHashModel())
		q.finish(t, o)
		if state := journalOf(t, o.Dir); len(state.varied[1]) > 0 && len(state.varied[2]) > 0 {
			return p
		}
	}
	t.Fatal("no winner has examples")
	return nil
}

// firstAsk is the point at which an author is asked first.
func firstAsk(t testing.TB, log []string) int {
	t.Helper()
	at := slices.Index(log, "ask the author")
	if at < 0 {
		t.Fatal("no author is asked")
	}
	return at + 1
}

// TestVaryingKilledAtEveryPoint: as for other runs, with texts that an author wrote between
// rounds.
func TestVaryingKilledAtEveryPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("a run is repeated for each point at which it can end")
	}
	p := variedPlace(t)
	want, log := p.reference(t)
	if !strings.Contains(want[journalFile], `"varied":[`) {
		t.Fatal("nothing was varied")
	}
	for point := firstAsk(t, log); point <= len(log); point++ { // what is before is as in other runs
		t.Run(fmt.Sprintf("%d %s", point, log[point-1]), func(t *testing.T) {
			if err := p.disturb(t, want, killAt(point), nil); !errors.Is(err, errKilled) {
				t.Errorf("the run ended with %v before it was killed", err)
			}
		})
	}
}

// TestAuthorsThatDoNotRepeatThemselves: what an author wrote is kept once it is in the
// journal, and nobody is asked again for it: a round is asked about the same candidates,
// wherever the run was killed.
func TestAuthorsThatDoNotRepeatThemselves(t *testing.T) {
	if testing.Short() {
		t.Skip("a run is repeated for each point at which it can end")
	}
	p := variedPlace(t)
	_, log := p.reference(t)
	kept := 0
	for point := firstAsk(t, log); point <= min(len(log), firstAsk(t, log)+60); point++ {
		q := p.fresh(t)
		m := newHashModel()
		o := q.options(t, q.plan(), m)
		o.Repeats = false
		calls := 0
		o.Vary = func(ctx context.Context, round int64, like []prompt.Example, n int) ([]prompt.Example, error) {
			calls++
			list, err := likeThem(ctx, round, like, n)
			for i := range list {
				list[i].Input += fmt.Sprintf(", call %d", calls)
			}
			return list, err
		}
		if _, err := q.attempt(o, m, killAt(point)).run(t.Context()); err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		var before *progress
		if entries, _, err := readJournal(filepath.Join(o.Dir, journalFile)); err == nil && len(entries) > 0 {
			before = journalOf(t, o.Dir)
		}
		m.fail = nil
		if before != nil && before.committed && !before.closed() {
			continue
		}
		q.finish(t, o)
		after := journalOf(t, o.Dir)
		if len(charges(t, o)) != 1 || int64(len(after.winners)) != o.Plan.Choose.AllRounds() {
			t.Errorf("killed at %d %s: %d charges, %d winners", point, log[point-1], len(charges(t, o)), len(after.winners))
		}
		if before == nil {
			continue
		}
		for at, list := range before.varied {
			kept++
			if !reflect.DeepEqual(list, after.varied[at]) {
				t.Errorf("killed at %d %s: after round %d there were %q, and then %q", point, log[point-1], at, list, after.varied[at])
			}
		}
	}
	if kept == 0 {
		t.Error("nothing was kept: nothing was tested")
	}
}

// TestAuthorsMayFail: a run that is paid for continues without them, and says so; without an
// author at all it does not begin.
func TestAuthorsMayFail(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, varyingPlan(), newHashModel())
	o.Vary = func(context.Context, int64, []prompt.Example, int) ([]prompt.Example, error) {
		return nil, errors.New("the host is gone")
	}
	said := 0
	o.Env.Observe = func(e env.Progress) {
		if strings.Contains(e.Message, "no texts like the winner's came: the host is gone") {
			said++
		}
	}
	p.finish(t, o)
	if state := journalOf(t, o.Dir); int64(len(state.winners)) != o.Plan.Choose.AllRounds() || len(state.varied[1])+len(state.varied[2])+len(state.varied[3]) != 0 {
		t.Errorf("%d winners, %v", len(state.winners), state.varied)
	}
	o = withDir(o, "none")
	o.Vary, o.Env.Ledger = nil, memoryLedger(t)
	if _, err := p.runner(o, osDisk{}).do(t.Context()); err == nil || !strings.Contains(err.Error(), "nobody is there to write them") {
		t.Error(err)
	}
	if len(charges(t, o)) != 0 {
		t.Error("a run that cannot begin is charged")
	}
}

// TestVaryingCostsNothing: the event equals that of the same plan without authors, and what a
// certificate says of them.
func TestVaryingCostsNothing(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, varyingPlan(), newHashModel())
	p.finish(t, o)
	plain := varyingPlan()
	plain.Choose.Vary, plain.Choose.Made = 0, nil
	if got := charges(t, o); len(got) != 1 || got[0].Event != plain.Event().String() {
		t.Errorf("charged %+v, want %s", got, plain.Event())
	}
	for name, want := range map[string]string{
		planFile: `"a hosted text"`, "certificate.json": "", "report.html": "hosted",
	} {
		t.Run(name, func(t *testing.T) {
			if content := tree(t, o.Dir)[name]; !strings.Contains(content, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		})
	}
	r := p.runner(o, osDisk{})
	if said := r.authors(); !strings.Contains(said, "the model hosted wrote") || !strings.Contains(said, "what the records had chosen before, and no record") {
		t.Errorf("%q", said)
	}
}

// TestVariedOutOfPlace: a journal with texts of a round that was not won, or twice, is none.
func TestVariedOutOfPlace(t *testing.T) {
	header := entry{State: planned, Header: &header{Format: format, Run: "RUN"}}
	one := entry{State: won, Round: 1, Point: &search.Point{}}
	of := func(round int64) entry { return entry{State: varied, Round: round} }
	if _, err := fold([]entry{header, one, of(1)}); err != nil {
		t.Error(err)
	}
	for name, list := range map[string][]entry{
		"before a winner":       {header, of(1)},
		"of no round":           {header, of(0)},
		"of a later round":      {header, one, of(2)},
		"twice":                 {header, one, of(1), of(1)},
		"after a round's begin": {header, one, {State: begun, Round: 2}, of(1)},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := fold(list); err == nil || !strings.Contains(err.Error(), "out of place") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestVariedTextsAreTried: texts like the winner's come after all others, so that earlier
// winners stand, and variations try them.
func TestVariedTextsAreTried(t *testing.T) {
	p := variedPlace(t)
	o := p.options(t, p.plan(), newHashModel())
	r := p.runner(o, osDisk{})
	_, err := r.do(t.Context())
	must(t, err)
	space := r.space()
	before := len(space.Pool)
	for _, list := range r.exec.progress.varied {
		before -= len(list)
	}
	for i, e := range space.Pool {
		if strings.HasPrefix(e.Input, "like ") != (i >= before) {
			t.Errorf("text %d of %d is %q", i, len(space.Pool), e.Input)
		}
	}
	if space.Fresh == 0 || len(space.Instructions) != 1 {
		t.Errorf("%d texts are fresh, %q", space.Fresh, space.Instructions)
	}
	winner, tried := search.Point{Set: []int{0, 1}}, 0
	points := space.Next(winner, 200, noise.KeyFromSeed(1).Stream("test"))
	for _, point := range points {
		for _, i := range point.Set {
			if i >= len(space.Pool)-space.Fresh {
				tried++
			}
		}
	}
	if tried < 20 {
		t.Errorf("%d fresh texts in %d variations", tried, len(points))
	}
}
