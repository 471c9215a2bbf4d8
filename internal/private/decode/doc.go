// Package decode writes texts and answers from private records, token by token: one
// loop, and a file for each method.
//
// The loop (loop.go) is the same for all: draw records, lay them out as prompts beside
// the public prompt that has none, ask the model for scores over public candidates, let
// the method pick one, append it everywhere, until the text ends. A [Method] says who
// is drawn and when (a [draw.Scheme]), which candidates there are, how scores become a
// token, and what that costs (an event). It never computes an ε.
//
//	clipped     one draw a text; differences to the public scores, clipped; exponential mechanism
//	mixing      one draw a text, or a token; differences to the public scores, scaled to a range; exponential mechanism
//	gaussian    a draw a token; noisy sum of probabilities
//	noisymax    a draw a token; noisy maximum of scaled probabilities
//	radius      a draw a token; noisy mean, projected to where the prompts agree
//	public      no record at all
//	nonprivate  gaussian without noise; real: records as they are. Neither is private.
//	mixing-published  mixing by the paper's rule: claimed, not proven
//
// A text is written for a condition, or with Options.Answering it is the answer to a
// question; the loop, the methods and what a text costs are the same.
//
// # What the proofs rest on
//
// Package draw changes one prompt at most when one unit is added or removed, and a
// batch-invariant model gives every other prompt the same scores to the last bit. So an
// aggregator sees a multiset of prompt vectors of which one is added, removed or
// exchanged. Each aggregator turns every vector, by itself, into integers on a grid
// whose bound it declares ([Method.Step]), and adds them up exactly. Sensitivity is then
// a statement about the integers that are there, whatever floating-point scores came
// in: NaN, infinities and garbage included. Noise and choices are exact (package noise).
//
// Candidates, stop rules and penalties are functions of the instruction and of tokens
// chosen before, hence public and free. The token that ends a text is one the mechanism
// chose; steps that a text did not need stay charged.
package decode
