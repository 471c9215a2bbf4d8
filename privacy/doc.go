// Package privacy describes what a mechanism does to privacy, apart from any
// evaluation of it.
//
// A mechanism declares an [Event], a tree of plain values such as
//
//	repeat(100, poisson(20/30000, gaussian(0.51)))
//
// and never an ε. Accountants turn events into ε, the ledger stores events,
// certificates print them, and verification evaluates them again. Beside an
// event stand the [Adjacency] under which it is meant and the [Unit] of privacy
// it protects; without them the numbers mean nothing.
//
// # What a leaf claims
//
// A leaf states a bound on one mechanism, for any pair of adjacent inputs:
//
//	gaussian(σ)       dominated by N(1,σ²) against N(0,σ²)
//	laplace(b)        dominated by Lap(1,b) against Lap(0,b)
//	pure(ε)           ε-differentially private
//	approx(ε,δ)       (ε,δ)-differentially private; 0 ≤ δ < 1, and approx(ε,0) is pure(ε)
//	boundedrange(c)   log-likelihood ratios lie in some interval [t−c, t], t in [0,c]
//	rr(ε,k)           k-ary randomised response that keeps the truth with odds e^ε
//	zcdp(ρ)           ρ-zero-concentrated differentially private
//	nonprivate()      no claim at all
//
// Under [AddRemove], adjacency is one record more or less. Under [ReplaceOne],
// one record is exchanged for another, and a leaf's bound must hold for the
// exchange and for one record more or less, because sampling turns the first
// into the second (a sample may hold the old record, the new one or neither).
//
// # What a node claims
//
//	compose(e,…)       all of them, adaptively, in any interleaving
//	repeat(n,e)        n times e, adaptively
//	poisson(q,e)       e on a sample that keeps each record with probability q
//	fixedsize(n,m,e)   e on m of n records drawn without replacement
//	parallel(e,…)      each on its own part of a partition of the records
//
// Printing and parsing round-trip exactly, and [Canonical] gives equal
// mechanisms equal text. The package imports nothing of Sotto.
package privacy
