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
//   - [BoundedRange] composes equal bounded-range steps optimally.
//   - [RDP] bounds from above and adds up.
//   - [Amplification] evaluates one sample around any of them, [Conditioning] the rest
//     of a composition with approx leaves (approx.go has the argument).
//   - [Auto] asks those that may be the tightest and says which was.
//
// A node that an accountant has no theorem for is an [UnsupportedError] that
// names it, never an approximation.
//
// [Calibrate] solves an expression for one unknown number, [Total] composes the
// charges of a ledger, and [RDPFilter] spends step by step when
// the steps are chosen adaptively.
package accountant
