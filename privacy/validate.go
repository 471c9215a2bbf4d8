package privacy

import (
	"fmt"
	"math"
)

// ParameterError reports a node whose parameter is outside its domain, and the position of
// that node.
type ParameterError struct {
	// Node is the name of the node.
	Node string
	// Expr is the expression that holds it: as it was given to [Parse], else
	// as the event prints.
	Expr string
	// Offset is where the node begins in Expr, in bytes.
	Offset int
	// Msg explains what is wrong and what is allowed.
	Msg string
}

// Error names the node, its position and the remedy.
func (e *ParameterError) Error() string {
	return fmt.Sprintf("column %d: %s: %s%s", e.Offset+1, e.Node, e.Msg, pointer(e.Expr, e.Offset))
}

// Validate reports the first node whose parameters are outside their domain as
// a [*ParameterError], or nil. [Parse] validates too; Validate is for events
// built as values.
func Validate(e Event) error {
	var first *ParameterError
	depth := depthOf(e, maxDepth+1)
	if depth > maxDepth {
		return &ParameterError{Node: e.Node(), Msg: fmt.Sprintf("events are nested more than %d deep", maxDepth)}
	}
	p := printer{at: func(e Event, offset int) {
		if first != nil {
			return
		}
		if e == nil {
			first = &ParameterError{Node: "event", Offset: offset, Msg: "a nil event stands here"}
		} else if err := e.check(); err != nil {
			err.Offset = offset
			first = err
		}
	}}
	p.event(e)
	if first == nil {
		return nil
	}
	first.Expr = p.String()
	return first
}

// depthOf returns the depth of an event, counting up to a limit.
func depthOf(e Event, limit int) int {
	if e == nil || limit == 0 {
		return 0
	}
	d := 0
	for _, c := range e.children() {
		d = max(d, depthOf(c, limit-1))
	}
	return d + 1
}

func bad(e Event, format string, args ...any) *ParameterError {
	return &ParameterError{Node: e.Node(), Msg: fmt.Sprintf(format, args...)}
}

// checkNoise allows noise multipliers far beyond any use, as long as losses and their
// squares stay ordinary numbers in every accountant.
func checkNoise(e Event, name string, v float64) *ParameterError {
	const lo, hi = 1e-9, 1e15
	if !(v >= lo && v <= hi) {
		return bad(e, "%s is %v, it should be above 0 (between %g and %g)", name, v, lo, hi)
	}
	return nil
}

func checkLoss(e Event, name string, v float64) *ParameterError {
	const hi = 1e18
	if !(v >= 0 && v <= hi) {
		return bad(e, "%s is %v, it should be between 0 and %g; for no guarantee at all use nonprivate()", name, v, hi)
	}
	return nil
}

func (e Gaussian) check() *ParameterError     { return checkNoise(e, "σ", e.Sigma) }
func (e Laplace) check() *ParameterError      { return checkNoise(e, "b", e.B) }
func (e Pure) check() *ParameterError         { return checkLoss(e, "ε", e.Epsilon) }
func (e BoundedRange) check() *ParameterError { return checkLoss(e, "c", e.C) }
func (e ZCDP) check() *ParameterError         { return checkLoss(e, "ρ", e.Rho) }
func (e NonPrivate) check() *ParameterError   { return nil }
func (e Compose) check() *ParameterError      { return nil }

func (e Parallel) check() *ParameterError {
	if len(e.Events) == 0 {
		return bad(e, "it has no parts; give at least one event")
	}
	return nil
}

func (e Approx) check() *ParameterError {
	if err := checkLoss(e, "ε", e.Epsilon); err != nil {
		return err
	}
	if !(e.Delta >= 0 && e.Delta < 1) {
		return bad(e, "δ is %v, it should be at least 0 and below 1; for no guarantee at all use nonprivate()", e.Delta)
	}
	return nil
}

func (e RandomizedResponse) check() *ParameterError {
	if err := checkLoss(e, "ε", e.Epsilon); err != nil {
		return err
	}
	if e.K < 2 || e.K > 1<<53 {
		return bad(e, "k is %d, a domain needs at least 2 values (and at most 2^53)", e.K)
	}
	return nil
}

func (e Repeat) check() *ParameterError {
	if e.N < 1 || e.N > 1<<53 {
		return bad(e, "n is %d, it should be between 1 and 2^53", e.N)
	}
	return nil
}

func (e Poisson) check() *ParameterError {
	if !(e.Q >= 0 && e.Q <= 1) || math.IsNaN(e.Q) {
		return bad(e, "q is %v, a probability should be between 0 and 1", e.Q)
	}
	return nil
}

func (e FixedSize) check() *ParameterError {
	switch {
	case e.N < 1 || e.N > 1<<53:
		return bad(e, "n is %d, the number of records should be between 1 and 2^53", e.N)
	case e.M < 1 || e.M > e.N:
		return bad(e, "m is %d, a sample of %d records without replacement holds between 1 and %d", e.M, e.N, e.N)
	}
	return nil
}
