package accountant

import (
	"fmt"

	"sotto/privacy"
)

// Accountant evaluates privacy events. Every implementation passes the one
// conformance suite in this package's tests.
type Accountant interface {
	// Name is what the command line and certificates call it.
	Name() string
	// Epsilon encloses the least ε at which e is (ε, δ)-differentially private.
	// Upper holds always. Lower is attained by a mechanism that fits e; an
	// accountant that only bounds from above returns 0. Upper is +Inf when no
	// finite ε holds.
	Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error)
	// Delta encloses the least δ at which e is (ε, δ)-differentially private.
	Delta(e privacy.Event, adj privacy.Adjacency, epsilon float64) (privacy.Interval, error)
}

// UnsupportedError names a node that an accountant has no theorem for.
type UnsupportedError struct {
	Accountant string
	Node       string
	Expr       string
	Offset     int // of the node in Expr, in bytes
	Reason     string
}

// Error says which node, where, and what to do instead.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("the %s accountant cannot handle %s at column %d of %s: %s", e.Accountant, e.Node, e.Offset+1, e.Expr, e.Reason)
}

// supported rejects an event that is not valid, or that has a node for which
// refuse gives a reason, before anything is computed.
func supported(name string, e privacy.Event, refuse func(privacy.Event) string) error {
	if err := privacy.Validate(e); err != nil {
		return err
	}
	return privacy.Walk(e, func(n privacy.Event, offset int) error {
		if reason := refuse(n); reason != "" {
			return &UnsupportedError{name, n.Node(), e.String(), offset, reason}
		}
		return nil
	})
}
