package answer

import (
	"errors"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/privacy"
)

// Types around methods that understate what they cost.
type (
	cheap      struct{ decode.Method }
	cheapWhole struct{ ensemble.Method }
)

func (cheap) Step() privacy.Event       { return privacy.BoundedRange{C: 1e-9} }
func (cheapWhole) Event() privacy.Event { return privacy.BoundedRange{C: 1e-9} }

// TestForeignMethodsAnswerNothing: a method of another package, around one of ours, is
// refused before anything is charged or the model is asked.
func TestForeignMethodsAnswerNothing(t *testing.T) {
	for name, of := range map[string]plan.Answers{
		"tokens":        planFor(cheap{clipped()}),
		"whole answers": whole(sorting(), cheapWhole{voting()}),
	} {
		t.Run(name, func(t *testing.T) {
			p, m := newPlace(t), newToy()
			if of.Private() || of.Event() != (privacy.NonPrivate{}) {
				t.Errorf("the plan says it is private, at %v", of.Event())
			}
			if _, err := Open(t.Context(), p.options(t, of, m)); !errors.Is(err, private.ErrForeign) {
				t.Errorf("%v", err)
			}
			if charges := p.charges(t); len(charges) > 0 || m.usage.Computed > 0 {
				t.Errorf("%v was charged, and %v computed", charges, m.usage)
			}
		})
	}
}

// TestThePlanIsTheSessionsOwn: settings that change after a session was opened change
// neither what is charged nor what runs.
func TestThePlanIsTheSessionsOwn(t *testing.T) {
	p, m := newPlace(t), clipped().(*decode.Clipped)
	s := p.session(t, p.options(t, planFor(m), newToy()))
	want := privacy.Canonical(planFor(clipped()).Event()).String()
	m.Range, m.Draw.Rate = 500, 1
	a, err := s.Answer(t.Context(), "who?", nil)
	must(t, err)
	if got := a.Event.String(); got != want || p.charges(t)[0].Event != want {
		t.Errorf("the answer costs %s and %v was charged, not %s", got, p.charges(t), want)
	}
}
