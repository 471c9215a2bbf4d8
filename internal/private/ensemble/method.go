package ensemble

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// Method is one way to make an answer of those of many prompts. Its exported fields are
// its settings: public values, kept in plans as JSON.
//
// It is sealed, as [decode.Method] is: only this package makes one.
type Method interface {
	method.Method
	// Event is what one answer costs, sampling included.
	Event() privacy.Event
	// Serves is an error if a task's answers are of another kind.
	Serves(t prompt.Task) error
	// Loud reports whether the noise drowns what so many prompts say, even if all agree.
	Loud(prompts float64) bool
	// Work returns what an answer asks of the model.
	Work() Work

	// answer reads records by way of the round, and nowhere else.
	answer(ctx context.Context, r *round) (outcome, error)
}

// outcome is what a method decided.
type outcome struct {
	text string
	// used is the part of the event that came to pass; nil for all.
	used privacy.Event
}

// register adds a method by its description and by how it meets what a plan asks for, and
// admits its type.
func register[T any, M interface {
	*T
	Method
}](spec method.Spec, plan func(method.Ask) (M, error)) {
	seal.Admit[M]()
	spec.Kind, spec.Guarantee = method.Answers, method.Proven
	method.Add[T](spec, plan)
}

// Genuine checks that a method is one of this package, itself, as [decode.Genuine] does.
func Genuine(m Method) error {
	_, err := genuine(m)
	return err
}

// genuine returns the method's own copy.
func genuine(m Method) (Method, error) {
	for {
		s, ok := m.(Settings)
		if !ok {
			return seal.Own(m, method.Names(method.List(method.Answers)))
		}
		m = s.Method
	}
}

// Settings is a method in a plan: its name and its settings as JSON.
type Settings struct{ Method }

// MarshalJSON writes name and settings.
func (s Settings) MarshalJSON() ([]byte, error) { return method.Marshal(s.Method) }

// UnmarshalJSON reads what MarshalJSON wrote, and checks it.
func (s *Settings) UnmarshalJSON(data []byte) (err error) {
	s.Method, err = method.Unmarshal[Method](data, method.Answers)
	return err
}

// listed reports whether answers are of a closed list.
func listed(t prompt.Task) bool { return t.Kind != prompt.Generate && !t.Open() }

// checkOnce is for methods that look at one draw. Their event is one that can be accounted.
func checkOnce(m Method) error {
	if per := m.Scheme().Per; per != scheme.PerText {
		return fmt.Errorf("%s looks once: draw per text, not per %s", m.Name(), per)
	}
	return checkEvent(m)
}

func checkEvent(m Method) error {
	if err := m.Scheme().Check(); err != nil {
		return err
	}
	return privacy.Validate(m.Event())
}

// chooses is the error of methods that choose among labels, for tasks without a list.
func chooses(name string, t prompt.Task) error {
	if !listed(t) {
		return fmt.Errorf("%s is for answers of a list, and task %s has none: list its labels, or use embedding or keyword, or a method that writes", name, t.Name)
	}
	return nil
}

// writes is the error of methods that choose among sentences, for tasks with a list.
func writes(name string, t prompt.Task) error {
	if listed(t) {
		return fmt.Errorf("%s is for answers that are written, and the answers of task %s are of a list: use vote", name, t.Name)
	}
	return nil
}
