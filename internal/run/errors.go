package run

import (
	"fmt"

	"github.com/sotto-dp/sotto/privacy/ledger"
)

// FolderError says why a folder cannot be used for a run.
type FolderError struct {
	Dir string
	// Reason says what is wrong and what to do.
	Reason string
}

// Error names the folder and the remedy.
func (e *FolderError) Error() string { return fmt.Sprintf("run folder %s: %s", e.Dir, e.Reason) }

// BusyError says that another process works in the folder.
type BusyError struct{ Dir string }

// Error says what to do.
func (e *BusyError) Error() string {
	return fmt.Sprintf("run folder %s: another run works in it; wait for it to end, or choose another folder", e.Dir)
}

// InterruptedError says that a run stopped on its way and can continue.
type InterruptedError struct {
	Dir string
	// Charge is what the ledger reserved, as far as the folder knows. Asked: the ledger
	// was asked for it, so that it may hold one in any case.
	Charge ledger.ChargeID
	Asked  bool
	// Done of Texts are released; a run of a table has none.
	Done, Texts int
	Err         error
}

// Error says how to continue.
func (e *InterruptedError) Error() string {
	state := "nothing was charged"
	switch {
	case e.Charge != "":
		state = "what was charged is not charged again"
	case e.Asked:
		state = "what may have been charged is not charged twice"
	}
	if e.Texts > 0 {
		state = fmt.Sprintf("%d of %d texts are done and %s", e.Done, e.Texts, state)
	}
	return fmt.Sprintf("%v; %s: run the same again with the folder %s to continue", e.Err, state, e.Dir)
}

// Unwrap returns the cause.
func (e *InterruptedError) Unwrap() error { return e.Err }
