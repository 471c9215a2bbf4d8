package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// newNearPlace is a place of runs whose records choose among prompts that give questions the nearest examples, and others.
func newNearPlace(t testing.TB) *place {
	p := newPlace(t)
	made := choosingPlan(phrases(), public())
	p.made = &made
	p.encoder = &hashEncoder{name: "hash"}
	made.Choose.Nearest = &plan.Nearest{Encoder: "hash", Examples: []int{1, 2}}
	return p
}

// TestNearest: a run whose winner gives questions the nearest examples releases the whole pool, says how many a question
// gets and by which encoder, and is read again as that; it costs what the same rounds cost without.
func TestNearest(t *testing.T) {
	p := newNearPlace(t)
	plain := p.plan()
	of := *plain.Choose
	of.Nearest = nil
	plain.Choose = &of
	if got, want := p.plan().Event().String(), plain.Event().String(); got != want {
		t.Errorf("it costs %s, and %s without", got, want)
	}
	var result *Result
	var o Options
	// Grades are nearly alike, so that each of some ten candidates wins by chance, two or more of them such prompts:
	// that none does in 200 runs has a probability below 1e-18.
	for i := range 200 {
		q := p.fresh(t)
		q.encoder = p.encoder
		key, err := noise.NewKey()
		must(t, err)
		q.key, err = key.Export()
		must(t, err)
		o = q.options(t, p.plan(), newHashModel())
		o.Dir = filepath.Join(t.TempDir(), fmt.Sprint(i))
		if result = q.finish(t, o); result.Prompt.Nearest.Used() {
			p = q
			break
		}
	}
	if !result.Prompt.Nearest.Used() {
		t.Fatal("no prompt with the nearest examples ever won")
	}
	at := expect.At(t, "the prompt")
	expect.Equal(at, "result.Prompt.Nearest.Encoder", result.Prompt.Nearest.Encoder, "hash")
	expect.Min(at, "number of result.Prompt.Examples", len(result.Prompt.Examples), 2)
	expect.Len(at, "result.Examples", result.Examples, len(result.Prompt.Examples))
	set, err := worth.ReadSet(o.Dir, o.Plan.Task)
	must(t, err)
	at = expect.At(t, "the folder is read")
	if set.Chosen == nil {
		at.Fatalf("set.Chosen: got none")
	}
	expect.Equal(at, "set.Chosen.Nearest", set.Chosen.Nearest, result.Prompt.Nearest)
	expect.True(at, "set.Examples equal to result.Prompt.Examples", slices.Equal(set.Examples, result.Prompt.Examples), set.Examples, result.Prompt.Examples)
	said, err := os.ReadFile(filepath.Join(o.Dir, "use.md"))
	must(t, err)
	if want := fmt.Sprintf("each question the %d of these %d examples", result.Prompt.Nearest.Examples, len(result.Examples)); !strings.Contains(string(said), want) {
		t.Errorf("use.md does not say %q", want)
	}
	again, err := p.runner(o, osDisk{}).do(t.Context())
	must(t, err)
	if !again.Finished || !reflect.DeepEqual(again.Prompt, result.Prompt) {
		t.Errorf("a finished run has %+v", again.Prompt)
	}
	p.keepsSecrets(t, o.Dir)
}

// TestNearestKilled kills a run, or cuts its power, at some points around its rounds: it continues to the same bytes.
func TestNearestKilled(t *testing.T) {
	p := newNearPlace(t)
	want, log := p.reference(t)
	at := slices.Index(log, "ask the encoder")
	if at < 1 {
		t.Fatal("the encoder is never asked")
	}
	for point := max(1, at-1); point <= min(len(log), at+9); point += 2 {
		for _, power := range []bool{false, true} {
			err := p.disturb(t, want, killAt(point), func(a *attempt, o Options) {
				if power {
					a.disk.powerCut(t, o.Dir)
				}
			})
			if !errors.Is(err, errKilled) {
				t.Errorf("%d %s: the run ended with %v before it was killed", point, log[point-1], err)
			}
		}
	}
}

// TestNearestNeedsItsEncoder: without an encoder, or with another one, nothing is charged or written, and the encoder
// reads nothing.
func TestNearestNeedsItsEncoder(t *testing.T) {
	for name, encoder := range map[string]*hashEncoder{"none": nil, "another": {name: "other"}, "no name": {}} {
		t.Run(name, func(t *testing.T) {
			p := newNearPlace(t)
			p.encoder = encoder
			m := newHashModel()
			o := p.options(t, p.plan(), m)
			_, err := p.runner(o, osDisk{}).do(t.Context())
			if err == nil || !strings.Contains(err.Error(), "nearest to a question by the encoder hash") {
				t.Errorf("%v", err)
			}
			got := charges(t, o)
			expect.Len(t, "charges", got, 0)
			expect.Equal(t, "m.steps", m.steps, 0)
			if encoder != nil {
				expect.Equal(t, "encoder.asked", encoder.asked, 0)
			}
			if left, err := os.ReadDir(o.Dir); err == nil && len(left) != 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// TestNearestOfAnotherJournal: a winner in a journal that the plan would not have proposed is refused.
func TestNearestOfAnotherJournal(t *testing.T) {
	for name, point := range map[string]search.Point{
		"another number": {Nearest: 7, Of: 3},
		"a larger pool":  {Nearest: 1, Of: 99},
		"no pool":        {Nearest: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newNearPlace(t)
			o := p.options(t, p.plan(), newHashModel())
			r := p.runner(o, osDisk{})
			stop := errors.New("stop")
			p.encoder.fail = func() error { return stop }
			if _, err := r.do(t.Context()); !errors.Is(err, stop) {
				t.Fatal(err)
			}
			p.encoder.fail = nil
			appendEntry(t, o.Dir, entry{State: won, Round: 1, Point: &point})
			if _, err := p.runner(o, osDisk{}).do(t.Context()); !errors.As(err, new(*FolderError)) {
				t.Errorf("the run continues: %v", err)
			}
		})
	}
}

// TestMeasureNearest: prompts that give questions the nearest examples are measured with their encoder alone.
func TestMeasureNearest(t *testing.T) {
	p := newPlace(t)
	m := newHashModel()
	o := p.measureOptions(t, m)
	near := prompt.Prompt{Examples: []prompt.Example{{Input: "one", Output: "red"}, {Input: "two", Output: "blue"}, {Input: "three", Output: "red"}}, Nearest: prompt.Nearest{Examples: 1, Encoder: "hash"}}
	o.Plan.Prompts[0].Prompt = near
	for name, encoder := range map[string]*hashEncoder{"none": nil, "another": {name: "other"}} {
		t.Run(name, func(t *testing.T) {
			o.Env.Encoder = encoder.trusted()
			if _, err := newEngine(newMeasurer(o, osDisk{}), newMeasurer(o, osDisk{}).exec).do(t.Context()); err == nil || !strings.Contains(err.Error(), "nearest to them by the encoder hash") {
				t.Errorf("%v", err)
			}
		})
	}
	encoder := &hashEncoder{name: "hash"}
	o.Env.Encoder = encoder.trusted()
	if _, err := Measure(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if encoder.asked == 0 {
		t.Error("the encoder was not asked")
	}
}
