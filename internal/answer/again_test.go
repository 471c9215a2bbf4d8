package answer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/env"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// list asks questions as a program does that keeps answers: it goes on after those that it
// has, and stops at the given event of the given question, as if it were killed.
type list struct {
	place   *place
	key     string
	inputs  []string
	answers []string
	// lost are answers that were released and not kept.
	lost map[int]string
}

// ask returns what ended it. kept is how many answers may be kept before it is killed; below 0
// for all.
func (l *list) ask(t *testing.T, o Options, at env.Kind, question, kept int) error {
	t.Helper()
	ctx, kill := context.WithCancelCause(t.Context())
	defer kill(nil)
	o.Parallel = 3
	o.Observe = func(e env.Progress) {
		if e.Kind == at && e.Question == question {
			kill(errKilled)
		}
	}
	s := l.place.session(t, o)
	if _, err := s.Again(l.key, l.inputs, len(l.answers)); err != nil {
		return err
	}
	before := len(l.answers)
	err := s.All(ctx, l.inputs[before:], func(i int, a *Answer) error {
		if kept >= 0 && i >= kept {
			l.lost[before+i] = a.Text
			return errKilled
		}
		if was, ok := l.lost[before+i]; ok && was != a.Text {
			t.Errorf("question %d was answered %q before it was lost, and %q after", before+i, was, a.Text)
		}
		l.answers = append(l.answers, a.Text)
		return nil
	})
	if err != nil {
		must(t, s.Release())
		return err
	}
	must(t, s.Complete())
	return nil
}

// paid is how many answers are charged.
func (l *list) paid(t *testing.T) (n int64) {
	t.Helper()
	for _, c := range l.place.charges(t) {
		if c.Series {
			n += c.Drawn
			continue
		}
		n++
	}
	return n
}

// TestListGoesOn stops a list of questions wherever it can be stopped, several times. Every
// question is charged once, an answer that was lost comes again as it was, and the key is gone
// at the end.
func TestListGoesOn(t *testing.T) {
	for _, composition := range []ledger.Composition{ledger.Sums, ledger.Adaptive} {
		t.Run(string(composition), func(t *testing.T) {
			l := &list{place: newPlace(t), key: filepath.Join(t.TempDir(), "answers.key"), lost: map[int]string{}}
			for i := range 7 {
				l.inputs = append(l.inputs, fmt.Sprintf("question %d?", i))
			}
			l.place.budget(t, ledger.Budget{Epsilon: 100, Delta: 1e-3, Composition: composition})
			o := l.place.options(t, planFor(clipped()), newToy())
			stops := 0
			for i, at := range []env.Kind{env.Reserved, env.Wrote, env.Committed, env.Reserved} {
				if err := l.ask(t, o, at, 2, 1+i%2); err != nil {
					stops++
				}
			}
			if stops < 3 {
				t.Errorf("the list was stopped %d times: the test shows little", stops)
			}
			must(t, l.ask(t, o, "", 0, -1))
			if len(l.answers) != len(l.inputs) {
				t.Errorf("%d of %d questions are answered", len(l.answers), len(l.inputs))
			}
			if _, err := os.Stat(l.key); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the key is there after the end: %v", err)
			}
			if got := l.paid(t); got != int64(len(l.inputs)) {
				t.Errorf("%d answers are charged for %d questions", got, len(l.inputs))
			}
			if len(l.lost) == 0 {
				t.Error("no answer was lost: the test shows little")
			}
		})
	}
}

// TestListRestless: with a model that does not repeat itself, what is lost is charged again and
// has randomness of its own.
func TestListRestless(t *testing.T) {
	l := &list{place: newPlace(t), key: filepath.Join(t.TempDir(), "answers.key"), inputs: []string{"a?", "b?", "c?", "d?"}, lost: map[int]string{}}
	m := newToy()
	m.info.Deterministic, m.info.BatchInvariant, m.info.Tolerance = false, false, 1
	l.place.budget(t, ledger.Budget{Epsilon: 100, Delta: 1e-3})
	o := l.place.options(t, planFor(clipped()), m)
	if err := l.ask(t, o, "", 0, 1); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	clear(l.lost)
	must(t, l.ask(t, o, "", 0, -1))
	// Three were asked at once, and one was kept.
	if got := l.paid(t); got != 6 {
		t.Errorf("%d answers are charged, want 6: two that were lost, and four", got)
	}
}

// TestOtherList: a key serves the questions, the plan, the model and the data that it was made
// for.
func TestOtherList(t *testing.T) {
	l := &list{place: newPlace(t), key: filepath.Join(t.TempDir(), "answers.key"), inputs: []string{"a?", "b?"}, lost: map[int]string{}}
	o := l.place.options(t, planFor(clipped()), newToy())
	if err := l.ask(t, o, "", 0, 1); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	charged := len(l.place.charges(t))
	model := newToy()
	model.info.Fingerprint = "sha256:4567"
	shorter := planFor(clipped())
	shorter.Tokens = 5
	elsewhere := newPlace(t)
	must(t, os.WriteFile(elsewhere.data, []byte("{\"chat\": \"another\", \"summary\": \"other\"}\n"), 0o600))
	other := elsewhere.options(t, planFor(clipped()), newToy())
	other.Plan.Size = 1
	for name, change := range map[string]func() (*list, Options){
		"questions": func() (*list, Options) { c := *l; c.inputs = []string{"a?", "c?"}; return &c, o },
		"plan":      func() (*list, Options) { c := *l; return &c, l.place.options(t, shorter, newToy()) },
		"model":     func() (*list, Options) { c := *l; return &c, l.place.options(t, planFor(clipped()), model) },
		"data": func() (*list, Options) {
			c := *l
			c.place = elsewhere
			same := other
			same.Plan = o.Plan
			return &c, same
		},
	} {
		c, options := change()
		var wrong *OtherListError
		if err := c.ask(t, options, "", 0, -1); !errors.As(err, &wrong) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if got := len(l.place.charges(t)); got != charged {
		t.Errorf("%d charges, and %d before", got, charged)
	}
}

// TestConcurrentLists: one process asks a list, the other is refused.
func TestConcurrentLists(t *testing.T) {
	p := newPlace(t)
	key := filepath.Join(t.TempDir(), "answers.key")
	o := p.options(t, planFor(clipped()), newToy())
	first, second := p.session(t, o), p.session(t, o)
	_, err := first.Again(key, []string{"a?"}, 0)
	must(t, err)
	var busy *BusyError
	if _, err := second.Again(key, []string{"a?"}, 0); !errors.As(err, &busy) {
		t.Errorf("a second process: %v", err)
	}
	must(t, first.Release())
	begun, err := second.Again(key, []string{"a?"}, 0)
	must(t, err)
	if !begun {
		t.Error("the list was begun, and the second process does not know")
	}
	must(t, second.Complete())
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(key), "*")); err != nil || !slices.Equal(left, nil) {
		t.Errorf("left: %q, %v", left, err)
	}
}

// TestTornKey: a key that was not written to its end was not used.
func TestTornKey(t *testing.T) {
	p := newPlace(t)
	key := filepath.Join(t.TempDir(), "answers.key")
	must(t, os.WriteFile(key, []byte(`{"name": "X`), 0o600))
	s := p.session(t, p.options(t, planFor(clipped()), newToy()))
	if begun, err := s.Again(key, []string{"a?"}, 0); err != nil || begun {
		t.Errorf("begun %v, %v", begun, err)
	}
	must(t, s.Complete())
}
