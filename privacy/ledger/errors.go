package ledger

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// ErrBudget is in every [*RefusedError].
var ErrBudget = errors.New("the privacy budget does not allow it")

// ErrUnknown means that it is not known whether a change was written. The caller must act
// as if a charge was made, and must not touch any data. Repeating the request with the same
// key settles it.
var ErrUnknown = chain.ErrUnknown

// ErrMissing means that there is no ledger at the address.
var ErrMissing = chain.ErrMissing

// TamperedError names the first row that is not as it was written.
type TamperedError = chain.TamperedError

// FormatError means that another version of the program wrote the ledger.
type FormatError = chain.FormatError

// RefusedError reports the budget that a charge does not fit. Nothing was charged.
type RefusedError struct {
	// Dataset is the data set, Budget the name of the budget.
	Dataset Fingerprint `json:"dataset"`
	Budget  string      `json:"budget"`
	// Closed: the charge falls outside every validity window of the budgets with
	// this scope. The numbers below are then 0.
	Closed bool `json:"closed,omitempty"`
	// Limit is the budget's ε at Delta.
	Limit float64 `json:"limit"`
	Delta float64 `json:"delta"`
	// Spent is the ε charged so far, and Needed the ε including the refused charge, both as
	// the budget's composition measures them.
	Spent  Epsilon `json:"spent"`
	Needed Epsilon `json:"needed"`
	// SpentDelta and NeededDelta are the corresponding δ of a [Sums] budget: Needed is at
	// NeededDelta.
	SpentDelta  float64 `json:"spent_delta,omitempty"`
	NeededDelta float64 `json:"needed_delta,omitempty"`
	// Composition of the budget.
	Composition Composition `json:"composition,omitempty"`
	// AsOf is the number of the last row when it was refused.
	AsOf int64 `json:"as_of"`
}

// Left returns the ε that is left.
func (e *RefusedError) Left() float64 { return left(e.Limit, float64(e.Spent)) }

// Error names the budget and its numbers.
func (e *RefusedError) Error() string {
	if e.Closed {
		return fmt.Sprintf("refused: no validity window of budget %q is open now; ask the owner of the data for a budget for this time", e.Budget)
	}
	if e.Composition == Sums {
		return fmt.Sprintf("refused: budget %q allows ε = %s at δ = %g; ε = %s and δ = %.3g are left, and with this charge the sums would be ε = %s and δ = %.3g. A budget for several runs needs the sum of their ε and of their δ: ask the owner of the data for a grant, or add noise and run fewer steps",
			e.Budget, number(e.Limit), e.Delta, number(e.Left()), left(e.Delta, e.SpentDelta), number(float64(e.Needed)), e.NeededDelta)
	}
	return fmt.Sprintf("refused: budget %q allows ε = %s at δ = %g; %s is spent, %s left, and with this charge the total would be %s; add noise, run fewer steps, or ask the owner of the data for a grant",
		e.Budget, number(e.Limit), e.Delta, number(float64(e.Spent)), number(e.Left()), number(float64(e.Needed)))
}

// Unwrap makes errors.Is(err, ErrBudget) true.
func (e *RefusedError) Unwrap() error { return ErrBudget }

// UnknownDatasetError means that the ledger has no such data set.
type UnknownDatasetError struct{ Dataset string }

// Error explains what to do.
func (e *UnknownDatasetError) Error() string {
	return fmt.Sprintf("the ledger knows no data set %q: give it a budget first, or correct the name", e.Dataset)
}

// KeyIDError means that data was identified with another key than the ledger's data sets.
type KeyIDError struct {
	// Ledger and Given are the ids of the keys, Path is where the given one is.
	Ledger, Given, Path string
}

// Error reports how to share a key.
func (e *KeyIDError) Error() string {
	at := ""
	if e.Path != "" {
		at = " in " + e.Path
	}
	return fmt.Sprintf("the ledger knows its data by the fingerprint key %s, and the key%s is %s: with it, data that is in the ledger would look new and get a second budget. Take over the ledger's key: where it is, sotto ledger key export FILE; bring the file here in a safe way; then sotto ledger key import FILE (with --private DIR for another private folder than the one that has this key)", e.Ledger, at, e.Given)
}

// OverlapError means that data shares records with data sets, and that its owner has to
// decide what that means. Nothing was entered or charged.
type OverlapError struct {
	Fingerprint Fingerprint
	// Known is the data set that holds the data, if it is in the ledger.
	Known string
	// With are the data sets that it shares records with, the most first.
	With []SharedDataset
}

// Error reports what is shared, and what the owner can do.
func (e *OverlapError) Error() string {
	what := "the data"
	if e.Known != "" {
		what = fmt.Sprintf("data set %q", e.Known)
	}
	var parts []string
	for i := range e.With {
		parts = append(parts, fmt.Sprintf("with %q: %s", e.With[i].title(), e.With[i].Overlap))
	}
	other := "sotto ledger init NAME --new-people --epsilon E --delta D --reason …"
	if e.Known != "" {
		other = "sotto ledger link DATASET… --new-people --reason …"
	}
	return fmt.Sprintf("%s shares records with data sets that have a budget (%s). Its owner decides, with the same --data: if they are the same people, sotto ledger link %s --reason … (it then counts toward their budgets); if they are other people, %s",
		what, strings.Join(parts, "; "), titles(e.With), other)
}

// UnknownChargeError means that the ledger has no such charge.
type UnknownChargeError struct{ Charge ChargeID }

// Error names the charge.
func (e *UnknownChargeError) Error() string {
	return fmt.Sprintf("the ledger has no charge %q", string(e.Charge))
}

// MismatchError means that a charge and the data set's budgets have different neighbours.
type MismatchError struct {
	// What is "adjacency" or "unit".
	What, Budget, Charge string
}

// Error names both sides.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("the charge has %s %q, the data set's budgets are for %q: account for it under theirs", e.What, e.Charge, e.Budget)
}

// StateError means that a charge cannot go from its state to the wanted one, or, if they are
// the same, that a use cannot be drawn from it.
type StateError struct {
	Charge   ChargeID
	From, To State
	Reason   string
}

// Error names the states and the reason.
func (e *StateError) Error() string {
	if e.From == e.To {
		return fmt.Sprintf("charge %s does not pay for this use: %s", e.Charge, e.Reason)
	}
	return fmt.Sprintf("charge %s is %s and cannot become %s: %s", e.Charge, e.From, e.To, e.Reason)
}

// KeyError means that a key was used before, for something else.
type KeyError struct{ Key string }

// Error explains what to do.
func (e *KeyError) Error() string {
	return fmt.Sprintf("the key %q was used before for a different request: a retry must repeat the request exactly, a new request needs a new key", e.Key)
}

// ExistsError means that a name is taken, or that the records have one.
type ExistsError struct {
	// What is "data set" or "budget".
	What, Name string
	// Records: the name may be free, and the records are in the ledger under Name.
	Records bool
}

// Error explains what to do.
func (e *ExistsError) Error() string {
	if e.Records {
		return fmt.Sprintf("these records are the data set %q already, and have its budget under any name: use them as they are, or change the budget by a grant or revocation", e.Name)
	}
	return fmt.Sprintf("there is a %s %q already: choose another name, or change the budget by a grant or revocation", e.What, e.Name)
}

// UnprovenError means that an event has no proven guarantee and so cannot be charged.
type UnprovenError struct {
	Proof Proof
	// Offset is where nonprivate() stands in Event, when it does.
	Event  privacy.Event
	Offset int
}

// Error reports why.
func (e *UnprovenError) Error() string {
	switch e.Proof {
	case Proven:
		return fmt.Sprintf("nonprivate() at column %d of %s: a run without a guarantee cannot be charged to a budget", e.Offset+1, e.Event)
	case Claimed:
		return "the guarantee is claimed, not proven: it cannot be charged to a budget"
	case Seeded:
		return "the run uses a fixed seed and is not private: it cannot be charged to a budget"
	}
	return fmt.Sprintf("the request says %q about its proof: only a %q guarantee can be charged to a budget", string(e.Proof), string(Proven))
}

// OverspentError means that the charges of a budget cost more than it ever allowed. It can
// only come from rows that this package did not write, or from a tighter or corrected
// accountant.
type OverspentError struct {
	Dataset Fingerprint
	Budget  string
	Limit   float64
	Spent   Epsilon
}

// Error names the budget and its numbers.
func (e *OverspentError) Error() string {
	return fmt.Sprintf("budget %q of data set %s allows ε = %s, its charges cost %s", e.Budget, e.Dataset, number(e.Limit), number(float64(e.Spent)))
}

// InputError means that a request is not well formed.
type InputError struct{ msg string }

// Error reports what is wrong and what is allowed.
func (e *InputError) Error() string { return e.msg }

func input(format string, args ...any) error {
	return &InputError{fmt.Sprintf(format, args...)}
}
