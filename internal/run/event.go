package run

import (
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// Kind says what an [Event] is about.
type Kind string

// The kinds of events.
const (
	// Noted: people are told something once.
	Noted Kind = "notice"
	// Resumed: the folder holds a run that did not end, which goes on.
	Resumed Kind = "resumed"
	// Budgeted: the ledger did not know the data set, and it got a budget.
	Budgeted Kind = "budget"
	// Reserved: the ledger holds the charge.
	Reserved Kind = "reserved"
	// Counted: noisy sizes of the parts are known.
	Counted Kind = "counted"
	// Discovered: labels are known.
	Discovered Kind = "labels"
	// Wrote: a text has one more token.
	Wrote Kind = "token"
	// Released: a text is complete.
	Released Kind = "text"
	// Judged: a part of the records of a round have said what they think.
	Judged Kind = "judged"
	// Chose: the records have chosen a prompt in a round.
	Chose Kind = "round"
	// Recharged: a text that was begun and lost is charged again, since the model would
	// not write it again as it was.
	Recharged Kind = "recharged"
	// Cautioned: something weakens the guarantee, what people may read into it, or what the
	// examples are worth.
	Cautioned Kind = "caution"
	// Averaged: the profile of a table is known.
	Averaged Kind = "profile"
	// Exchanged: the rows of a table are perturbed.
	Exchanged Kind = "perturbed"
	// Written: the files are there.
	Written Kind = "written"
	// Committed: the ledger knows that the run has released.
	Committed Kind = "committed"
	// Certified: the certificate is signed.
	Certified Kind = "certified"
	// Completed: the key is erased.
	Completed Kind = "completed"
)

// Event tells how a run goes, in numbers and public words. Usage depends on the records
// that were drawn: it is not in JSON, and not to be published.
type Event struct {
	Kind Kind `json:"event"`
	// Text from 1, the Condition it is for, and how many Tokens of at most Most it has.
	Text      int    `json:"text,omitempty"`
	Condition string `json:"condition,omitempty"`
	Tokens    int    `json:"tokens,omitempty"`
	Most      int    `json:"most,omitempty"`
	// Done of Texts are complete.
	Done  int `json:"done"`
	Texts int `json:"texts"`
	// Round from 1 of Rounds in which records choose, and how many Examples the winner has.
	Round    int64 `json:"round,omitempty"`
	Rounds   int64 `json:"rounds,omitempty"`
	Examples int   `json:"examples,omitempty"`
	// Usage of the model in this call.
	Usage lm.Usage `json:"-"`
	// Charge that was reserved.
	Charge ledger.ChargeID `json:"charge,omitempty"`
	// Message says what people should know.
	Message string `json:"message,omitempty"`
}

func (r *engine) tell(e Event) {
	if r.Observe == nil {
		return
	}
	of := r.work.written()
	e.Done, e.Texts, e.Most = of.done, of.all, of.tokens
	r.Observe(e)
}

// warn adds to what the result says, and tells it at once.
func (r *engine) warn(e Event) {
	r.warnings = append(r.warnings, e.Message)
	r.tell(e)
}
