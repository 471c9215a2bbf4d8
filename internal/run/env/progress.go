package env

import (
	"encoding/json"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// Kind names what a [Progress] reports.
type Kind string

// The kinds of progress.
const (
	// Noted reports a message for people, once.
	Noted Kind = "notice"
	// Resumed reports that the folder holds an unfinished run, which continues.
	Resumed Kind = "resumed"
	// Budgeted reports that the ledger did not know the data set, which got a budget.
	Budgeted Kind = "budget"
	// Recognised reports that the ledger knows the data set in another state, or that its
	// size differs from the declared one.
	Recognised Kind = "recognised"
	// Cautioned reports what weakens the guarantee, or what the examples are worth.
	Cautioned Kind = "caution"
	// Reserved reports that the ledger holds the charge.
	Reserved Kind = "reserved"
	// Counted reports that noisy counts are known.
	Counted Kind = "counted"
	// Discovered reports that labels are known.
	Discovered Kind = "labels"
	// Wrote reports one more token of a text or an answer.
	Wrote Kind = "token"
	// Released reports that a text is complete.
	Released Kind = "text"
	// Encoded reports that some records were encoded, again and again.
	Encoded Kind = "encoded"
	// Summed reports that all records were added up as evidence for labels.
	Summed Kind = "evidence"
	// Judged reports that some records of a round have judged the prompts.
	Judged Kind = "judged"
	// Chose reports that the records have chosen a prompt in a round.
	Chose Kind = "round"
	// Recharged reports a second charge: what was begun and lost is charged again where
	// the model does not repeat itself exactly.
	Recharged Kind = "recharged"
	// Averaged reports that the profile of a table is known.
	Averaged Kind = "profile"
	// Exchanged reports that the rows of a table are perturbed.
	Exchanged Kind = "perturbed"
	// Written reports that the files are there.
	Written Kind = "written"
	// Committed reports that the ledger knows of the release.
	Committed Kind = "committed"
	// Certified reports that the certificate is signed.
	Certified Kind = "certified"
	// Completed reports that the key of the run is erased.
	Completed Kind = "completed"
)

// Progress reports how a run or a session goes, in numbers and public words. Usage and Share depend
// on the records: they are not in JSON, and not to be published; nor is how often Encoded and Judged come.
type Progress struct {
	Kind Kind `json:"event"`
	// Text from 1, and the Condition it is for.
	Text      int    `json:"text,omitempty"`
	Condition string `json:"condition,omitempty"`
	// Question from 1, of Questions in this call. Answering: a session reports, not a run.
	Question  int  `json:"question,omitempty"`
	Questions int  `json:"questions,omitempty"`
	Answering bool `json:"-"`
	// Tokens of the text or the answer so far, and how many it may have.
	Tokens    int `json:"tokens,omitempty"`
	MaxTokens int `json:"max_tokens,omitempty"`
	// Done of Texts are complete; runs alone have them.
	Done  int `json:"done"`
	Texts int `json:"texts"`
	// Round from 1 of Rounds in which records choose, and how many Examples the winner has.
	Round    int64 `json:"round,omitempty"`
	Rounds   int64 `json:"rounds,omitempty"`
	Examples int   `json:"examples,omitempty"`
	// Share of the declared number of records that were encoded.
	Share float64 `json:"-"`
	// Usage of the model in this call.
	Usage lm.Usage `json:"-"`
	// Charge that was reserved.
	Charge ledger.ChargeID `json:"charge,omitempty"`
	// Message is for people.
	Message string `json:"message,omitempty"`
}

// MarshalJSON leaves Done and Texts out of what a session reports.
func (p Progress) MarshalJSON() ([]byte, error) {
	type all Progress
	if !p.Answering {
		return json.Marshal(all(p))
	}
	return json.Marshal(struct {
		all
		Done  int `json:"done,omitempty"`
		Texts int `json:"texts,omitempty"`
	}{all: all(p)})
}
