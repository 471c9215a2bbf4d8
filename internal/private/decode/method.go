package decode

import (
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
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
	method.Method
	// Step is what picking one token costs those whose records were drawn; nil if the
	// method has no guarantee.
	Step() privacy.Event
	// Shortlist says which candidates a pick is among.
	Shortlist() Shortlist
	// Select chooses one of the candidates. All private randomness comes from s.
	Select(v View, s *noise.Stream) (int, error)

	// draw returns a copy of the method with other draws.
	draw(s scheme.Scheme) Method
}

// WithScheme returns the same method with other draws.
func WithScheme(m Method, s scheme.Scheme) Method { return m.draw(s) }

// Roomy is a method that bounds how much a record says about a token.
type Roomy interface {
	// Room returns that bound in nats, between two candidates.
	Room() float64
}

// Shortlist describes the public candidates of a step: the tokens with the largest public
// scores.
type Shortlist struct {
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

// register adds a method by its description and by how it meets what a plan asks for, and
// admits its type.
func register[T any, M interface {
	*T
	Method
}](spec method.Spec, plan func(method.Ask) (M, error)) {
	seal.Admit[M]()
	spec.Kind = method.Texts
	method.Add[T](spec, plan)
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
			return seal.Own(m, method.Names(method.List(method.Texts)))
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
	s.Method, err = method.Unmarshal[Method](data, method.Texts)
	return err
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
