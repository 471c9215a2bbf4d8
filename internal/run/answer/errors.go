package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/privacy/ledger"
)

// ChargedError says that questions were charged and not answered.
type ChargedError struct {
	// Charges that stay. Empty: it could not be found out whether one was made.
	Charges []ledger.ChargeID
	Err     error
}

// Error says what counts.
func (e *ChargedError) Error() string {
	switch len(e.Charges) {
	case 0:
		return fmt.Sprintf("%v; it is not known whether this was charged, and nothing was drawn: see sotto ledger show", e.Err)
	case 1:
		return fmt.Sprintf("%v; the charge %s stays, since records may have been drawn for it: asking again is charged again", e.Err, e.Charges[0])
	}
	names := make([]string, len(e.Charges))
	for i, c := range e.Charges {
		names[i] = string(c)
	}
	return fmt.Sprintf("%v; the charges %s stay, since records may have been drawn for them: asking again is charged again", e.Err, strings.Join(slices.Compact(names), ", "))
}

// Unwrap returns the cause.
func (e *ChargedError) Unwrap() error { return e.Err }
