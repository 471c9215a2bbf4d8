package accountant

import (
	"fmt"

	"github.com/sotto-dp/sotto/privacy"
)

// Accountant evaluates privacy events. Every implementation passes the one
// conformance suite in this package's tests.
type Accountant interface {
	// Name identifies the accountant on the command line and in certificates.
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

// Error names the node, its position and what to do instead.
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

// refuseDraws returns the reason why a draw of records has no theorem, for the accountants
// that handle all other nodes.
func refuseDraws(adj privacy.Adjacency) func(privacy.Event) string {
	return func(e privacy.Event) string {
		switch e := e.(type) {
		case privacy.FixedSize:
			if e.M == e.N {
				return ""
			}
			if adj == privacy.AddRemove {
				return "a sample of fixed size is only accounted under replace-one, where the number of records is public; use --adjacency replace-one, or sample with poisson"
			}
			for _, in := range fixedSizes(e.Event) {
				if in.N != e.M {
					return "the fixed-size draw inside it is from another number of records than it yields; make the two agree"
				}
			}
		case privacy.Poisson:
			if e.Q > 0 && e.Q < 1 && len(fixedSizes(e.Event)) > 0 {
				return "a fixed-size draw inside it would be from a random number of records; draw in one step"
			}
		case privacy.Parallel:
			if len(e.Events) > 1 && len(fixedSizes(e)) > 0 {
				return "a replaced record can move to another part and change how many records a fixed-size draw inside is from; account each part by itself, or sample with poisson"
			}
		}
		return ""
	}
}

// fixedSizes lists the fixed-size draws of e that have no such draw above them.
func fixedSizes(e privacy.Event) []privacy.FixedSize {
	if f, ok := e.(privacy.FixedSize); ok && f.M != f.N {
		return []privacy.FixedSize{f}
	}
	var all []privacy.FixedSize
	for _, c := range privacy.Children(e) {
		all = append(all, fixedSizes(c)...)
	}
	return all
}
