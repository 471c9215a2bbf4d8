// Package private is the trust boundary: only what lives below this folder may see a
// raw record.
//
// The compiler keeps the boundary. A record is a value of
// internal/private/internal/seal, which packages outside of this folder cannot import: they can
// hold a record and hand it on, but not read it, print it or encode it. What leaves is
// an [Output], which only a mechanism in here can make, and only together with
// the event that says what it cost. Methods, whose word about the cost is charged and
// signed, are sealed too: only packages in here make one, and a type of another package
// that embeds one is refused ([ErrForeign]).
//
//	record    sources of records: files and databases, indexed, sampled ones are read
//	draw      who is drawn: Poisson, fixed size, disjoint batches; which prompt they go to
//	decode    the one loop that turns drawn records into tokens, a file for each method
//	ensemble  whole answers of many prompts, and one noisy look at them
//	choose    public prompts that the records choose among
//	measure   how many records public prompts are right for, with noise
//	sums      evidence: noisy sums of the vectors of all records
//	count     noisy sizes, and labels that enough units have
//	table     rows of tables, encoded by a public schema; below it:
//	  local   rows perturbed one by one
//	  global  noisy sums of groups of rows
//	  learn   models fitted to rows, with noise
//
// Nothing in here logs or prints. Errors carry a code and a record's ordinal, never
// its content. A test over the import graph states the rest, each rule with its reason.
package private

import "github.com/sotto-dp/sotto/internal/private/internal/seal"

// Output is something that may leave, with what it cost. Only mechanisms make one.
type Output = seal.Output

// ErrForeign says that a method or a pool is of a type of another package than its own:
// nothing was drawn for it and nothing was charged.
var ErrForeign = seal.ErrForeign
