// Package draw decides which records a text is written from, and which prompt each of
// them goes to.
//
// A [scheme.Scheme] is both what runs and what is accounted. A [Drawer] draws
// by it, and the scheme says how drawing changes the event of what is done with the records.
// There is no other sampler in the program.
//
// Schemes draw units. Where a unit is a person with many records, one of them stands for
// the person in a draw, chosen uniformly.
//
// # One record, one prompt
//
// Drawn records go to prompts uniformly and independently of each other. (Cutting the
// drawn list into chunks would let one record more shift every later chunk.) A prompt
// with more records than it may hold keeps a uniform choice of its own. So between data
// sets that differ in one unit, under the same randomness for all others, one prompt at
// most differs: the precondition of every aggregator in package decode.
//
// # Sizes
//
// The rate of a scheme is a number that was declared, or made from a noisy count. How many
// units there are really is sealed; it decides how many coins are tossed and nothing
// else. A rate that was meant for another size costs quality, never privacy.
package draw
