package ensemble

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// Method is one way to make an answer of those of many prompts. Its exported fields are
// its settings: public values, kept in plans as JSON.
//
// It is sealed, as [decode.Method] is: only this package makes one.
type Method interface {
	// Name is what the command line, plans and certificates call it.
	Name() string
	// Proof cites why Event is right, for certificates.
	Proof() string
	// Check finds what is wrong with the settings.
	Check() error
	// Scheme says who is drawn.
	Scheme() scheme.Scheme
	// Event is what one answer costs, sampling included.
	Event() privacy.Event
	// Serves is an error if a task's answers are of another kind.
	Serves(t prompt.Task) error

	// answer reads records by way of the round, and nowhere else.
	answer(ctx context.Context, r *round) (outcome, error)
	// own returns a copy that nobody else holds.
	own() Method
}

// outcome is what a method decided.
type outcome struct {
	text string
	// used is the part of the event that came to pass; nil for all.
	used privacy.Event
}

// methods by name. Each file of a method registers it.
var methods = map[string]func() Method{}

// register adds a method by its name, and admits its type.
func register[T any, M interface {
	*T
	Method
}](name string) {
	seal.Admit[M]()
	methods[name] = func() Method { return M(new(T)) }
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
			break
		}
		m = s.Method
	}
	if !seal.Admitted(m) {
		return nil, fmt.Errorf("a method of type %T cannot be used: %w. Use one of %s", m, seal.ErrForeign, strings.Join(Names(), ", "))
	}
	return m.own(), nil
}

// New returns a method of a name with its zero settings, to be filled.
func New(name string) (Method, error) {
	make, ok := methods[name]
	if !ok {
		return nil, fmt.Errorf("unknown method %q: one of %s", name, strings.Join(Names(), ", "))
	}
	return make(), nil
}

// Names lists the methods.
func Names() []string { return slices.Sorted(maps.Keys(methods)) }

// Settings is a method in a plan: its name and its settings as JSON.
type Settings struct{ Method }

type settingsJSON struct {
	Method   string          `json:"method"`
	Settings json.RawMessage `json:"settings"`
}

// MarshalJSON writes name and settings.
func (s Settings) MarshalJSON() ([]byte, error) {
	if s.Method == nil {
		return []byte("null"), nil
	}
	raw, err := json.Marshal(s.Method)
	if err != nil {
		return nil, fmt.Errorf("encode the settings of %s: %w", s.Name(), err)
	}
	return json.Marshal(settingsJSON{Method: s.Name(), Settings: raw})
}

// UnmarshalJSON reads what MarshalJSON wrote, and checks it.
func (s *Settings) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		s.Method = nil
		return nil
	}
	var in settingsJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("the settings of a method: %w", err)
	}
	m, err := New(in.Method)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(in.Settings, m); err != nil {
		return fmt.Errorf("the settings of %s: %w", in.Method, err)
	}
	if err := m.Check(); err != nil {
		return err
	}
	s.Method = m
	return nil
}

// exchanges reports whether a unit exchanges a prompt's answer for another instead of
// adding one: where prompts hold several records, or the size of the draw is fixed and
// adjacent data sets have one unit replaced.
func exchanges(l scheme.Scheme) bool { return l.Prompts > 0 || l.Kind == scheme.FixedSize }

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

// writes is the error of methods that choose among sentences, for tasks with a list.
func writes(name string, t prompt.Task) error {
	if listed(t) {
		return fmt.Errorf("%s is for answers that are written, and the answers of task %s are of a list: use vote", name, t.Name)
	}
	return nil
}
