package ledger

import (
	"time"

	"github.com/sotto-dp/sotto/privacy"
)

// ChargeID names a charge. It is derived from the hash of the row that reserved it, so no
// other ledger, and no other history of this one, has a charge with the same ID.
type ChargeID string

// State is the state of a charge. A charge counts in every state.
type State string

const (
	// Reserved: the run may be under way, or may have died. Counts in full.
	Reserved State = "reserved"
	// Committed: the run released its result. Counts what was spent.
	Committed State = "committed"
	// Forfeited: the run was given up and may have released something. Counts in full,
	// forever.
	Forfeited State = "forfeited"
)

// Charge is an event charged to a data set.
type Charge struct {
	ID      ChargeID    `json:"id"`
	Dataset Fingerprint `json:"dataset"`
	// Row is the number of the row that reserved it.
	Row   int64 `json:"row"`
	State State `json:"state"`
	// Coverage is what was reserved, with the worst case as its event.
	Coverage
	// Spent is what counts now, if a privacy filter handed part of Event back.
	Spent string `json:"spent,omitempty"`
	Run   string `json:"run"`
	Key   string `json:"key"`
	// Budgets are the names of the budgets it counts toward.
	Budgets []string `json:"budgets"`
	// Costs are its costs to the sums budgets among them.
	Costs []Cost `json:"costs,omitempty"`
	// Series: the runs of Event are drawn one by one ([Ledger.Draw]); Drawn counts those
	// drawn.
	Series   bool      `json:"series,omitempty"`
	Drawn    int64     `json:"drawn,omitempty"`
	Reserved time.Time `json:"reserved"`
	// Ended is when it was committed or forfeited, EndRow the number of that row,
	// Reason why it was forfeited.
	Ended  time.Time `json:"ended,omitzero"`
	EndRow int64     `json:"end_row,omitempty"`
	Reason string    `json:"reason,omitempty"`
	// Existed is set when a retry found the charge: it was made by an earlier
	// request with the same key.
	Existed bool `json:"existed,omitempty"`
}

// Proof states what the guarantee of an event rests on.
type Proof string

const (
	// Proven: a theorem about the code that runs. Only proven events are charged.
	Proven Proof = "proven"
	// Claimed: a published claim whose proof does not hold or was not checked.
	Claimed Proof = "claimed"
	// Seeded: the randomness is known, as in a test or simulation.
	Seeded Proof = "seeded"
)

// ReserveRequest asks for the worst case of a run, or for one use out of a series
// ([Ledger.Draw]), before any record is drawn.
type ReserveRequest struct {
	// Dataset is a fingerprint or the name of a data set; required.
	Dataset string
	// Event is the worst case of the run; required.
	Event privacy.Event
	// Adjacency is that under which Event holds; required. It must be the one of the data
	// set's budgets.
	Adjacency privacy.Adjacency
	// Unit is the unit of privacy for which Event holds; required. It must be the one of the
	// data set's budgets.
	Unit privacy.Unit
	// Proof is required and must be [Proven].
	Proof Proof
	// Run names the run for people; required.
	Run string
	// Key makes the request idempotent; required. A second request with the same key and
	// content returns the first one's charge. So one key stands for one set of random
	// numbers: a caller whose charge existed already may only continue with the randomness
	// it had.
	Key string
	// Labels decide which scoped budgets apply, such as team=risk. The ledger does not
	// verify them.
	Labels map[string]string
	// Series reserves the event for uses to come; each takes its part by [Ledger.Draw].
	// Together they cost less than separate charges.
	Series bool
}

// CommitRequest reports that a run released its result.
type CommitRequest struct {
	// Charge is required.
	Charge ChargeID
	// Spent is what the run really did; nil means all that was reserved. It must consist of
	// the reserved event's terms, none of them more often.
	Spent privacy.Event
	// Filtered states that the run decided with a privacy filter when to stop. Only then
	// may Spent be less than what was reserved, and only if every budget of the charge is
	// adaptive.
	Filtered bool
}

// ForfeitRequest gives a run up. Its charge keeps counting in full.
type ForfeitRequest struct {
	// Charge and Reason are required.
	Charge ChargeID
	Reason string
}

// shrinks reports whether every term of spent is a term of reserved, and runs
// at most as often. Then spent is reserved with some of its runs left out.
func shrinks(spent, reserved []privacy.Term) bool {
	n := make(map[string]int64, len(reserved))
	for _, t := range reserved {
		n[t.Event.String()] = t.N
	}
	for _, t := range spent {
		if t.N > n[t.Event.String()] {
			return false
		}
	}
	return true
}
