package plan_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// cheap understates what a method costs.
type cheap struct{ decode.Method }

func (cheap) Step() privacy.Event { return privacy.Compose{} }

// cheapWhole understates what an answer costs.
type cheapWhole struct{ ensemble.Method }

func (cheapWhole) Event() privacy.Event { return privacy.Compose{} }

// TestForeignMethodsHaveNoPlan: a plan with a type around a method is refused, is not
// private, and costs everything.
func TestForeignMethodsHaveNoPlan(t *testing.T) {
	task, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	texts, err := plan.New(plan.Request{Task: task, Size: 30000, Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	answers, err := plan.NewAnswers(plan.Request{Task: task, Size: 30000, Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !texts.Private() || !answers.Private() {
		t.Fatal("plans of genuine methods are not private")
	}
	texts.Parts[2].Method = decode.Settings{Method: cheap{texts.Parts[2].Method.Method}}
	answers.Ensemble = ensemble.Settings{Method: cheapWhole{answers.Ensemble.Method}}
	for name, p := range map[string]interface {
		Check() error
		Private() bool
		Event() privacy.Event
	}{"texts": texts, "answers": answers} {
		t.Run(name, func(t *testing.T) {
			if err := p.Check(); !errors.Is(err, private.ErrForeign) || p.Private() {
				t.Errorf("private: %v, %v", p.Private(), err)
			}
			if !strings.Contains(p.Event().String(), (privacy.NonPrivate{}).String()) {
				t.Errorf("costs %v", p.Event())
			}
		})
	}
}

// TestOwn: a copy says the same and shares no method with the plan.
func TestOwn(t *testing.T) {
	task, err := prompt.Builtin("samsum")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range method.Names(method.List(method.Texts)) {
		p, err := plan.New(plan.Request{Task: task, Method: name, Size: 30000, Epsilon: 8, Shots: 4, Tokens: 5, Conditions: []string{"one", "two"}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		own, err := plan.Own(p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		at := expect.At(t, "the copy of %s", name)
		expect.Equal(at, "own.Event()", own.Event().String(), p.Event().String())
		expect.NoError(at, own.Check())
		expect.Equal(at, "own.Method()", own.Method(), name)
		if own.Parts[0].Method.Method == p.Parts[0].Method.Method {
			t.Errorf("%s: the copy shares its method", name)
		}
	}
}

// TestPlainPlansKeepToTheirDraws: a plan that was read from a file, and says another adjacency
// than the theorem about its draws has, is refused: fixed-size draws under add-remove, and
// Poisson draws under replace-one, whose event would be too cheap.
func TestPlainPlansKeepToTheirDraws(t *testing.T) {
	task, err := prompt.Builtin("samsum")
	if err != nil {
		t.Fatal(err)
	}
	for _, sampler := range []scheme.Kind{scheme.Poisson, scheme.FixedSize} {
		r := plan.Request{Task: task, Size: 30000, Epsilon: 8, Tokens: 5, Sampler: sampler}
		answers, err := plan.NewAnswers(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Conditions = []string{"one", "two"}
		texts, err := plan.New(r)
		if err != nil {
			t.Fatal(err)
		}
		other := privacy.ReplaceOne
		if texts.Adjacency == other {
			other = privacy.AddRemove
		}
		texts.Adjacency, answers.Adjacency = other, other
		for name, err := range map[string]error{"texts": texts.Check(), "answers": answers.Check()} {
			t.Run(name, func(t *testing.T) {
				if err == nil || !strings.Contains(err.Error(), "under "+string(other)+" adjacency") {
					t.Errorf("%s draws under %s: %v", sampler, other, err)
				}
			})
		}
	}
}
