package ledger

import (
	"time"

	"github.com/sotto-dp/sotto/privacy"
)

// ChargeID names a charge. It is derived from the hash of the row that reserved
// it, so no charge of another ledger, or of another history of this one, has the
// same.
type ChargeID string

// State is where a charge stands. In every state it counts.
type State string

const (
	// Reserved: the run may be under way, or may have died. Counts in full.
	Reserved State = "reserved"
	// Committed: the run released its result. Counts what was spent.
	Committed State = "committed"
	// Forfeited: the run was given up and may have released something. Counts in
	// full, for ever.
	Forfeited State = "forfeited"
)

// Charge is an event booked to a data set.
type Charge struct {
	ID      ChargeID    `json:"id"`
	Dataset Fingerprint `json:"dataset"`
	// Row is the number of the row that reserved it.
	Row   int64 `json:"row"`
	State State `json:"state"`
	// Event is the reserved worst case, in canonical form.
	Event string `json:"event"`
	// Spent is what counts now, if a privacy filter handed part of Event back.
	Spent  string            `json:"spent,omitempty"`
	Run    string            `json:"run"`
	Key    string            `json:"key"`
	Labels map[string]string `json:"labels,omitempty"`
	// Budgets are the names of the budgets it counts toward.
	Budgets []string `json:"budgets"`
	// Costs are what it costs those of them that add up costs.
	Costs []Cost `json:"costs,omitempty"`
	// Series: the runs of Event are drawn one by one ([Ledger.Draw]); Drawn of them were.
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

// Proof says what the guarantee behind an event rests on.
type Proof string

const (
	// Proven: a theorem about the code that runs. The only one that is booked.
	Proven Proof = "proven"
	// Claimed: a published claim whose proof does not hold or was not checked.
	Claimed Proof = "claimed"
	// Seeded: the randomness is known, as in a test or simulation.
	Seeded Proof = "seeded"
)

// ReserveRequest asks for the worst case of a run, before it touches any data.
type ReserveRequest struct {
	// Dataset is a fingerprint or the name of a data set; required.
	Dataset string
	// Event is the most that the run may do; required.
	Event privacy.Event
	// Adjacency and Unit under which Event was worked out. Default: add-remove,
	// record.
	Adjacency privacy.Adjacency
	Unit      privacy.Unit
	// Proof is required and must be [Proven].
	Proof Proof
	// Run identifies the run for people; required.
	Run string
	// Key makes the request repeatable; required. A second request with the key
	// and otherwise the same content returns the charge of the first. So one key
	// stands for one set of random numbers: a caller that gets a charge that
	// existed may only go on with the randomness it had.
	Key string
	// Labels decide which scoped budgets apply, such as team=risk. They are
	// taken at the caller's word.
	Labels map[string]string
	// Series reserves the event for uses to come: each takes its part by [Ledger.Draw].
	// Together they cost less than one charge for each.
	Series bool
}

// CommitRequest reports that a run released its result.
type CommitRequest struct {
	// Charge is required.
	Charge ChargeID
	// Spent is what the run really did, nil for all that was reserved. It must be
	// made of the reserved event's terms, none of them more often.
	Spent privacy.Event
	// Filtered says that the run decided with a privacy filter when to stop; only
	// then may Spent be less than what was reserved, and only if every budget of
	// the charge is adaptive.
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
