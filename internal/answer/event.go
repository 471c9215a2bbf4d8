package answer

import (
	"fmt"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// Kind says what an [Event] is about.
type Kind string

// The kinds of events.
const (
	// Budgeted: the ledger did not know the data set, and it got a budget.
	Budgeted Kind = "budget"
	// Recognised: the data is a data set that the ledger knows, in another state, or has
	// another size than declared.
	Recognised Kind = "recognised"
	// Cautioned: something weakens the guarantee, or what people may read into it.
	Cautioned Kind = "caution"
	// Reserved: the ledger holds the charge of a question.
	Reserved Kind = "reserved"
	// Wrote: an answer has one more token.
	Wrote Kind = "token"
	// Committed: an answer is complete, and the ledger knows.
	Committed Kind = "committed"
)

// Event tells how answering goes, in numbers and public words. Usage depends on the
// records that were drawn: it is not in JSON, and not to be published.
type Event struct {
	Kind Kind `json:"event"`
	// Question from 1, of Questions in this call.
	Question  int `json:"question,omitempty"`
	Questions int `json:"questions,omitempty"`
	// Tokens that the answer has, of at most Most.
	Tokens int `json:"tokens,omitempty"`
	Most   int `json:"most,omitempty"`
	// Usage of the model for the questions that are being answered together.
	Usage lm.Usage `json:"-"`
	// Charge of the question.
	Charge ledger.ChargeID `json:"charge,omitempty"`
	// Message says what people should know.
	Message string `json:"message,omitempty"`
}

// tell hands an event on, one at a time.
func (s *Session) tell(e Event) {
	if s.Observe == nil {
		return
	}
	e.Most = s.Plan.Tokens
	s.telling.Lock()
	defer s.telling.Unlock()
	s.Observe(e)
}

// warn tells something once, and adds it to the next answer.
func (s *Session) warn(k Kind, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	s.mu.Lock()
	s.warnings = append(s.warnings, message)
	s.mu.Unlock()
	s.tell(Event{Kind: k, Message: message})
}

// caution tells what is allowed and yet not as it should be.
func (s *Session) caution() {
	for _, w := range s.Plan.Warnings() {
		s.warn(Cautioned, "%s", w)
	}
	// It depends on the records: no answer, which may be kept, has it.
	if s.Data != nil {
		if message := s.Data.Declared([]int64{s.Plan.Size}); message != "" {
			s.tell(Event{Kind: Recognised, Message: message})
		}
	}
	if !s.charged {
		return
	}
	if s.Plan.Delta*float64(s.Plan.Size) >= 1 {
		s.warn(Cautioned, "δ = %v is not below 1/n for %d units: such a δ permits to release one of them in clear", s.Plan.Delta, s.Plan.Size)
	}
	if s.isolation == lm.Exclusive {
		s.warn(Cautioned, "the guarantee assumes that nobody else uses the server while questions are answered, as you say")
	}
}
