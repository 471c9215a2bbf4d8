package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// list asks questions as a program does that keeps answers: it continues after those that it
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
	o.Env.Observe = func(e env.Progress) {
		if e.Kind == at && e.Question == question {
			kill(errKilled)
		}
	}
	s := l.place.session(t, o)
	if _, err := s.ResumeFrom(l.key, l.inputs, func(bool) (int, error) { return len(l.answers), nil }); err != nil {
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
			for i := range 2*blockSize + 3 {
				l.inputs = append(l.inputs, fmt.Sprintf("question %d?", i))
			}
			l.place.budget(t, ledger.Budget{Epsilon: 100, Delta: 1e-3, Composition: composition})
			o := l.place.options(t, planFor(clipped()), newToy())
			stops := 0
			for _, stop := range []struct {
				at   env.Kind
				kept int
			}{{env.Reserved, -1}, {"", 1}, {env.Wrote, -1}, {"", 4}, {env.Committed, -1}, {"", 2}, {env.Reserved, -1}} {
				if err := l.ask(t, o, stop.at, 2, stop.kept); err != nil {
					stops++
				}
			}
			if stops < 4 {
				t.Errorf("the list was stopped %d times: the test shows little", stops)
			}
			must(t, l.ask(t, o, "", 0, -1))
			if len(l.answers) != len(l.inputs) {
				t.Errorf("%d of %d questions are answered", len(l.answers), len(l.inputs))
			}
			data, err := os.ReadFile(l.key)
			about := expect.At(t, "the file after the end")
			expect.NoError(about, err)
			expect.True(about, `no "key" in data`, !strings.Contains(string(data), `"key"`), string(data))
			expect.Contains(about, "data", string(data), `"complete":true`)
			s := l.place.session(t, o)
			if standing, err := s.ResumeFrom(l.key, l.inputs, func(bool) (int, error) { return len(l.answers), nil }); err != nil || !standing.Complete {
				t.Errorf("the list once more: %+v, %v", standing, err)
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
		t.Run(name, func(t *testing.T) {
			c, options := change()
			var wrong *OtherListError
			if err := c.ask(t, options, "", 0, -1); !errors.As(err, &wrong) {
				t.Errorf("another %s: %v", name, err)
			}
		})
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
	none := func(bool) (int, error) { return 0, nil }
	_, err := first.ResumeFrom(key, []string{"a?"}, none)
	must(t, err)
	var busy *BusyError
	if _, err := second.ResumeFrom(key, []string{"a?"}, func(bool) (int, error) {
		t.Error("anyone who does not have the list looks at its answers")
		return 0, nil
	}); !errors.As(err, &busy) {
		t.Errorf("a second process: %v", err)
	}
	must(t, first.Release())
	standing, err := second.ResumeFrom(key, []string{"a?"}, none)
	must(t, err)
	if !standing.Begun || standing.Complete {
		t.Errorf("the list was begun, and the second process finds %+v", standing)
	}
	must(t, second.Abandon())
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(key), "*")); err != nil || !slices.Equal(left, nil) {
		t.Errorf("left: %q, %v", left, err)
	}
}

// TestTornKey: a key that was not written to its end was not used; of two states the newer one
// that is whole counts.
func TestTornKey(t *testing.T) {
	p := newPlace(t)
	key := filepath.Join(t.TempDir(), "answers.key")
	must(t, os.WriteFile(key, []byte(`{"name": "X`), 0o600))
	s := p.session(t, p.options(t, planFor(clipped()), newToy()))
	if standing, err := s.ResumeFrom(key, []string{"a?"}, func(bool) (int, error) { return 0, nil }); err != nil || standing.Begun {
		t.Errorf("%+v, %v", standing, err)
	}
	must(t, s.Release())
	f := &keyFile{path: key}
	if found, err := f.read(); err != nil || !found {
		t.Fatalf("%v, %v", found, err)
	}
	before, err := os.ReadFile(key)
	must(t, err)
	must(t, f.reach(3*blockSize))
	after, err := os.ReadFile(key)
	must(t, err)
	// A crash at any byte of the write leaves one of the two.
	for cut := range 2 * slotSize {
		torn := slices.Concat(after[:min(cut, len(after))], make([]byte, max(0, 2*slotSize-cut)))
		if cut < len(before) {
			copy(torn[cut:], before[cut:])
		}
		must(t, os.WriteFile(key, torn, 0o600))
		g := &keyFile{path: key}
		found, err := g.read()
		at := expect.At(t, "cut at %d", cut)
		expect.NoError(at, err)
		expect.True(at, "found", found)
		expect.Equal(at, "g.state.Name", g.state.Name, f.state.Name)
	}
}

// TestKeysGo: once the answers of a block are kept, nothing in the file leads back to its key.
func TestKeysGo(t *testing.T) {
	f := &keyFile{path: filepath.Join(t.TempDir(), "key")}
	must(t, os.WriteFile(f.path, nil, 0o600))
	must(t, f.begin("asked"))
	exported := func(block int) string {
		key, err := f.key(block)
		must(t, err)
		data, err := key.Export()
		must(t, err)
		return string(data)
	}
	want := exported(2)
	chains := [][]byte{bytes.Clone(f.state.Key)}
	for i := range 2*blockSize + 1 {
		must(t, f.reach(i))
		if i%blockSize == 0 && i > 0 {
			data, err := os.ReadFile(f.path)
			must(t, err)
			for _, old := range chains {
				if text, err := json.Marshal(old); err != nil || bytes.Contains(data, text) {
					t.Errorf("after %d answers the file has an old key: %v", i, err)
				}
			}
			chains = append(chains, bytes.Clone(f.state.Key))
		}
	}
	if exported(2) != want {
		t.Error("a block has another key than it would have had")
	}
	if _, err := f.key(1); err == nil {
		t.Error("a key is there whose answers are kept")
	}
	if err := f.reach(3); err == nil {
		t.Error("answers are missing, and nobody says so")
	}
}

// TestNotTheNextQuestion: a place in the list has one question. Another one would get its charge
// and its randomness.
func TestNotTheNextQuestion(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 100, Delta: 1e-3})
	o := p.options(t, planFor(clipped()), newToy())
	list := []string{"a?", "b?", "c?"}
	for name, ask := range map[string]func(s *Session) error{
		"another list":        func(s *Session) error { return s.All(t.Context(), []string{"x?", "y?"}, keep) },
		"from the first":      func(s *Session) error { return s.All(t.Context(), list, keep) },
		"one by itself":       func(s *Session) error { _, err := s.Answer(t.Context(), "x?", nil); return err },
		"more than there are": func(s *Session) error { return s.All(t.Context(), []string{"b?", "c?", "d?"}, keep) },
	} {
		t.Run(name, func(t *testing.T) {
			s := p.session(t, o)
			_, err := s.ResumeFrom(filepath.Join(t.TempDir(), "key"), list, func(bool) (int, error) { return 1, nil })
			must(t, err)
			var wrong *plan.InputError
			if err := ask(s); !errors.As(err, &wrong) {
				t.Errorf("%v", err)
			}
			must(t, s.Release())
		})
	}
	if n := len(p.charges(t)); n != 0 {
		t.Errorf("%d charges", n)
	}
}

func keep(int, *Answer) error { return nil }
