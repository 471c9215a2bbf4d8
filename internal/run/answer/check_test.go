package answer

import (
	"errors"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/lm"
)

// TestBadQuestions are refused before anything is charged, and so are all that come with
// them.
func TestBadQuestions(t *testing.T) {
	small := newToy()
	small.info.Context = 150
	for _, c := range []struct {
		name, input string
		model       *toy
		want        string
	}{
		{"empty", "", newToy(), "empty"},
		{"blank", " \n\t ", newToy(), "empty"},
		{"no text", "a\xff", newToy(), "UTF-8"},
		{"long", strings.Repeat("x", 41), newToy(), "41 tokens"},
		{"too long for the model", strings.Repeat("x", 40), small, "150"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			s, err := Open(t.Context(), p.options(t, planFor(clipped()), c.model))
			if err == nil {
				_, err = s.Answer(t.Context(), c.input, nil)
			}
			var input *plan.InputError
			if !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want an error about %q", err, c.want)
			}
			if s, err = Open(t.Context(), p.options(t, planFor(clipped()), newToy())); err != nil {
				t.Fatal(err)
			}
			if c.model != small {
				err = s.All(t.Context(), []string{"fine", c.input}, func(int, *Answer) error { t.Error("answered"); return nil })
				if !errors.As(err, &input) || !strings.Contains(err.Error(), "input 2 of 2") {
					t.Error(err)
				}
			}
			if len(p.charges(t)) != 0 {
				t.Errorf("charges %+v", p.charges(t))
			}
		})
	}
}

// TestCut: long questions are cut if that is wanted, also within letters of several tokens.
func TestCut(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(clipped()), newToy())
	seed := uint64(1)
	o.Cut, o.Env.Seed = true, &seed
	s := p.session(t, o)
	for input, want := range map[string]string{
		strings.Repeat("x", 50):       strings.Repeat("x", 40),
		strings.Repeat("é", 50):       strings.Repeat("é", 20),
		"x" + strings.Repeat("é", 50): "x" + strings.Repeat("é", 19),
		"short":                       "short",
	} {
		t.Run(input, func(t *testing.T) {
			a, err := s.Answer(t.Context(), input, nil)
			if err != nil || a.Input != want {
				t.Errorf("%q is asked as %+v, %v", input, a, err)
			}
		})
	}
}

// TestWrongOptions are found when a session is opened.
func TestWrongOptions(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"no plan", func(o *Options) { o.Plan = plan.Answers{} }, "plan"},
		{"no model", func(o *Options) { o.Env.Model = lm.TrustedScorer{} }, "model"},
		{"no data", func(o *Options) { o.Data = nil }, "no data"},
		{"no ledger", func(o *Options) { o.Env.Ledger = nil }, "ledger"},
		{"other unit", func(o *Options) { o.Plan.Unit = "user:who" }, "unit"},
		{"no room", func(o *Options) {
			m := newToy()
			m.info.Context = 50
			o.Env.Model = m.trusted()
		}, "more than the model's 50"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			o := p.options(t, planFor(clipped()), newToy())
			c.change(&o)
			if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want an error about %q", err, c.want)
			}
		})
	}
}
