// Package accountant evaluates privacy events: it turns the tree of values that
// a mechanism declares into the ε it costs at a given δ.
//
// Every accountant answers with an interval. The upper end is a guarantee, the
// lower end is attained by a mechanism that fits the event, and all errors of
// the calculation (rounding of losses to a grid, cut tails, Fourier transforms,
// floating point) are charged to the ends:
//
//   - [PLD] composes privacy loss distributions numerically (pld_cells.go has
//     the argument for rounding, pld_sample.go for sampling, pld_tilt.go and pld_compose.go for
//     the transform). It handles every node.
//   - [RDP] bounds from above and adds up.
//   - [Auto] asks both, composes equal bounded-range steps optimally, and says which was the
//     tightest.
//
// PLD and Auto first bring an event to a normal form (reduce.go): partitions, approx leaves
// and a single sample are taken off, each by an exact theorem.
//
// A node that an accountant has no theorem for is an [UnsupportedError] that
// names it, never an approximation.
//
// [Calibrate] solves an expression for one unknown number, [Total] composes the
// charges of a ledger, and [RDPFilter] spends step by step when
// the steps are chosen adaptively.
package accountant
