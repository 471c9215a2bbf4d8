package decode

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Method is one way to choose the tokens of a text from private prompts. Its exported
// fields are its settings: public values, kept in plans as JSON.
//
// It is sealed: a method sees the scores of private prompts, and its Step and Proof are
// charged and signed, so that only this package makes one. Other packages do not compile
// an implementation, and one that embeds a method is refused: see [Genuine].
type Method interface {
	// Name is what the command line, plans and certificates call it.
	Name() string
	// Proof cites why Step is right, for certificates; "" for a method that has no
	// guarantee and must not have a certificate.
	Proof() string
	// Check finds what is wrong with the settings.
	Check() error
	// Scheme says who is drawn, and when.
	Scheme() scheme.Scheme
	// Step is what picking one token costs those whose records were drawn; nil if the
	// method has no guarantee.
	Step() privacy.Event
	// Choice says which candidates a pick is among.
	Choice() Choice
	// Pick chooses one of the candidates. All private randomness comes from s.
	Pick(v View, s *noise.Stream) (int, error)

	// own returns a copy that nobody else holds: what runs is what was charged, whatever
	// becomes of the settings meanwhile.
	own() Method
}

// Choice describes the public candidates of a step: the tokens with the largest public
// scores.
type Choice struct {
	// Best of them; 0 takes the whole vocabulary.
	Best int
	// Margin adds those whose score is less than that below the last of them.
	Margin float64
}

// View is what a pick may look at.
type View struct {
	// Public are log-probabilities among the candidates without any record.
	Public []float64
	// Base are the same after the public rules, such as penalties of repetition.
	Base []float64
	// Prompts are log-probabilities among the candidates, of each prompt with records.
	Prompts [][]float64
	// Empty prompts have no record: their scores are Public.
	Empty int
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

// Genuine checks that a method is one of this package, itself: a type of another package
// that embeds one could state another cost than that of what runs. The error is
// [private.ErrForeign].
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
func Names() []string {
	names := make([]string, 0, len(methods))
	for name := range methods {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

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
	s.Method = m
	return m.Check()
}

// TextEvent is the cost of one text of at most steps tokens; nil for a method without
// a guarantee. A method that is not [Genuine] costs everything, whatever it says.
func TextEvent(m Method, steps int) privacy.Event {
	if Genuine(m) != nil {
		return privacy.NonPrivate{}
	}
	step := m.Step()
	if step == nil {
		return nil
	}
	return m.Scheme().Event(step, int64(steps))
}
