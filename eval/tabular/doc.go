// Package tabular tries methods for tables on tables of benchmarks, whose rows may be shown.
//
// The one idea is that what is tried is what runs: rows are encoded, perturbed, added up
// and released by the packages that do so with private rows, from plans that package plan
// makes, and the guarantee that goes into a row of results is that of their event.
//
// # What is not private
//
// All of it. Randomness comes from a seed, so that a result can be repeated, and a seed is
// no secret. A [Guarantee] is that of the same method with fresh randomness.
package tabular
