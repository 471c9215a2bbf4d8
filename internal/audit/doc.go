// Package audit says what an adversary gets: lower bounds on the ε of a mechanism, from what it
// did.
//
// An audit is a game that differential privacy loses if its ε is too small. A mechanism runs
// with a record or without it, an adversary guesses which, and how often it is wrong bounds ε from
// below: whatever it does, with a guarantee of (ε, δ) its errors α and β keep
//
//	1 - β ≤ e^ε α + δ   and   1 - α ≤ e^ε β + δ.
//
// Bounds hold with a stated confidence, for any mechanism and any score, since errors are
// estimated by exact binomial intervals on runs that the decision was not chosen on. A bound above
// the ε that is claimed refutes the claim; one near it shows that the game has teeth and the
// accounting is tight.
//
//   - [Many] takes scores of many runs with the record and without it; [Judge] compares them with a
//     claim, by its whole curve of ε and δ.
//   - [Outputs] makes scores of what a [Program] printed, and [NewROC] says how well scores find members.
package audit
