// Package choose lets private records choose among public prompts.
//
// Writing with the records moves little of what they know into a few short
// texts; choosing moves far more. In a round some records are drawn, each says how well the
// model answers its own question with each candidate (package grader: a number from 0 to 1),
// and the candidate with utility u(s), the sum of what they say, is chosen with probability
// proportional to exp(ε_r·u(s)).
//
// # Guarantee
//
// Theorem: a round is boundedrange(Range) for those who were drawn, whatever the number of
// candidates, and the rounds of a [Choice] together are
// repeat(Rounds, poisson(Rate, boundedrange(Range))).
//
// Proof. Let D' be D with one drawn unit more. One record of the unit is drawn, it adds the
// vector (g(x, s))_s to the utilities, and g(x, s) ∈ [0, 1] is a function of that record and
// of s alone. So u'(s) − u(s) ∈ [0, 1] for every s: the utilities of two candidates move
// against each other by at most 1. With ε_r = Range the log-probabilities of candidates
// move by a common constant (the normalisation) and by at most Range against each other,
// which is the definition of bounded range (Durfee and Rogers 2019; Dong et al. 2020).
// Where a unit is exchanged for another, u'(s) − u(s) ∈ [−1, 1], the range of utilities is
// 2, and ε_r = Range/2 runs. Every round has a draw of its own, with randomness of its own,
// so each is poisson(Rate, ·) or fixedsize(Of, Take, ·) of that. Candidates of a round are a
// function of public things and of earlier winners, so that rounds compose adaptively. ∎
//
// The utilities are sums of whole steps, the weights are exact ([noise.Selector]), and so
// is the draw: no rounding is left over.
//
// # What would break it, and what keeps it from happening
//
//   - Utilities divided by the number of drawn records would let one record move all of
//     them: the sum is never divided.
//   - A candidate that is left out, or a search that ends, because of what records said:
//     [Chooser.Round] takes all candidates of a round at once, and asked a second time for
//     the same round it takes no others. What it returns is the winner, and nothing else:
//     no utilities, no number of records, no ties.
//   - The same draw used in two rounds: the draw follows from the number of the round, and a
//     round has one outcome.
//   - More rounds than were paid for: refused.
//
// How long a round takes depends on how many records were drawn and how long they are, as
// with every method.
package choose
