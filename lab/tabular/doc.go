// Package tabular evaluates methods for tables on benchmark tables, whose rows are public.
//
// It evaluates the code that runs. The same packages that process private
// rows encode, perturb, sum and release them, from plans of package plan, and the guarantee
// in a row of results is computed from their event.
//
// # What is not private
//
// All of it. Randomness comes from a seed, so that a result can be repeated, and a seed is
// no secret. A [Guarantee] holds for the same method with fresh randomness.
package tabular
