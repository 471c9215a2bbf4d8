package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// TestChoosingKilledAtEveryPoint: as for texts, with the same winners, files and charge.
func TestChoosingKilledAtEveryPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("a run is killed at each of many points")
	}
	p := newChoosingPlace(t)
	want, log := p.reference(t)
	t.Logf("killed at each of %d points, twice", len(log))
	for point := 1; point <= len(log); point++ {
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

// TestChoosingKilledProcess: as for texts, and the rounds continue in another process.
func TestChoosingKilledProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("a run is killed at each of many points")
	}
	newChoosingPlace(t).killProcesses(t)
}

// TestLostRound: with a model that does not repeat itself, a round that was begun and lost
// is not looked at again. The winner before it stands, nothing is charged again, and the
// records of the round are not asked a second time.
func TestLostRound(t *testing.T) {
	if testing.Short() {
		t.Skip("a run is killed at each of many points")
	}
	p := newPlace(t)
	made := choosingPlan(tickets(), public())
	q := p.fresh(t)
	m := restless()
	a := q.attempt(q.options(t, made, m), m, nil)
	_, err := a.run(t.Context())
	must(t, err)
	some := 0
	for point := 1; point <= len(a.points.log); point++ {
		t.Run(fmt.Sprintf("%d %s", point, a.points.log[point-1]), func(t *testing.T) {
			q := p.fresh(t)
			m := restless()
			o := q.options(t, made, m)
			if _, err := q.attempt(o, m, killAt(point)).run(t.Context()); err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			entries, _, err := readJournal(filepath.Join(o.Dir, journalFile))
			must(t, err)
			before, err := fold(entries)
			must(t, err)
			m.fail = nil
			looked := map[int64]bool{}
			o.Env.Observe = func(e env.Progress) {
				if e.Kind == env.Judged {
					looked[e.Round] = true
				}
			}
			result := q.finish(t, o)
			winners, lost := winnersOf(t, o.Dir)
			expect.Len(t, "winners", winners, 3)
			expect.Len(t, "result.Recharges", result.Recharges, 0)
			expect.Len(t, "charges", charges(t, o), 1)
			if !before.looking {
				if lost != 0 {
					t.Errorf("%d rounds are lost that were not begun", lost)
				}
				return
			}
			some++
			at := len(before.winners)
			if at == len(winners) { // the measurement in the end
				entries, _, err := readJournal(filepath.Join(o.Dir, journalFile))
				must(t, err)
				after, err := fold(entries)
				must(t, err)
				if string(after.measured) != lostCounts || len(looked) != 0 {
					t.Errorf("a measurement that was lost is %s, looked at again in %v", after.measured, looked)
				}
				return
			}
			var stands search.Point
			if at > 0 {
				stands = before.winners[at-1]
			}
			about := expect.At(t, "round %d was begun and lost", at+1)
			expect.Equal(about, "lost rounds", lost, 1)
			expect.True(about, "no second look", !looked[int64(at)+1], looked)
			expect.True(about, "winners[at].Set equal to stands.Set", reflect.DeepEqual(winners[at].Set, stands.Set), winners[at].Set, stands.Set)
		})
	}
	if some == 0 {
		t.Error("no round was lost: nothing was tested")
	}
}

// TestWinnersAreOfTheSpace: a journal with a winner that its pool does not have is refused
// before anything is asked or released, whether rounds are left or not.
func TestWinnersAreOfTheSpace(t *testing.T) {
	task, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	c := &plan.Choose{Examples: []prompt.Example{{Input: "a race", Output: "Sports"}}, Choice: choose.Choice{Rounds: 2}}
	for name, wrong := range map[string]search.Point{
		"another text":        {Set: []int{1}},
		"before the first":    {Set: []int{0, -1}},
		"another instruction": {Instruction: 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, before := range [][]search.Point{nil, {{Set: []int{0}}}} {
				r := &runner{plan: plan.Plan{Task: task, Choose: c}, exec: &execution{progress: &progress{winners: append(before, wrong)}}}
				if err := r.rounds(t.Context()); err == nil || !strings.Contains(err.Error(), "none of its prompts") {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

// TestWinnersOutOfPlace: a journal whose winners are not those of its rounds, or of its
// pool, is no journal of this run.
func TestWinnersOutOfPlace(t *testing.T) {
	point := func(set ...int) *search.Point { return &search.Point{Set: set} }
	for name, e := range map[string]entry{
		"skipped":           {State: won, Round: 2, Point: point(0)},
		"no round":          {State: won, Point: point(0)},
		"no point":          {State: won, Round: 1},
		"not of the pool":   {State: won, Round: 1, Point: point(3)},
		"below the pool":    {State: won, Round: 1, Point: point(-1)},
		"no such text":      {State: won, Round: 1, Point: &search.Point{Instruction: 1}},
		"a round too many":  {State: won, Round: 4, Point: point(0)},
		"a round after all": {State: won, Round: 4, Point: point()},
	} {
		t.Run(name, func(t *testing.T) {
			p := newChoosingPlace(t)
			m := newHashModel()
			o := p.options(t, p.plan(), m)
			stop := errors.New("stop")
			r := p.runner(o, osDisk{})
			upTo := int64(0)
			if e.Round > 3 {
				upTo = 3
			}
			m.fail = func(int) error {
				if r.exec.progress != nil && int64(r.exec.progress.done()) == 3 && int64(len(r.exec.progress.winners)) == upTo {
					return stop
				}
				return nil
			}
			if _, err := r.do(t.Context()); upTo == 0 && !errors.Is(err, stop) {
				t.Fatal(err)
			}
			appendEntry(t, o.Dir, e)
			m.fail = nil
			if result, err := p.runner(o, osDisk{}).do(t.Context()); err == nil {
				t.Errorf("continues, with %+v", result.Prompt)
			} else if !errors.As(err, new(*FolderError)) {
				t.Errorf("the error does not say what is wrong with the folder: %v", err)
			}
		})
	}
}

// appendEntry adds a line to a journal, linked as it should be.
func appendEntry(t testing.TB, dir string, e entry) {
	t.Helper()
	name := filepath.Join(dir, journalFile)
	entries, data, err := readJournal(name)
	must(t, err)
	if len(entries) == 0 {
		t.Fatal("there is no journal")
	}
	var last struct {
		Link string `json:"link"`
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	must(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	text, _, err := line(e, last.Link)
	must(t, err)
	must(t, os.WriteFile(name, append(data, text...), 0o600))
}
