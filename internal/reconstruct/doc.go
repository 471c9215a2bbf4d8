// Package reconstruct estimates the joint distribution of rows from perturbed ones, and
// draws new rows from it.
//
// Randomised response in one column is the matrix P = (p−q)·I + q·J on the
// distribution of that column, with p the probability of keeping a value, q the probability
// of each of the others and J all ones. On rows it is the Kronecker product of the columns'
// matrices, which has (Πd)² entries and is never built. P, its inverse and the squares of
// its inverse's entries all have that form, and applying one axis costs one pass over the
// Πd cells; all F columns cost F·Πd.
//
// # Estimates
//
// [Inverse] solves P·π = λ for the observed shares λ, which is unbiased and may be
// negative, and then takes the nearest distribution. [IBU], the iterative Bayesian update
// (Agrawal, Aggarwal 2001; ElSalamouny, Palamidessi 2020), climbs to the distribution under
// which the perturbed rows are most likely, and is never negative. Both come with standard
// errors. Tables of more than [maxCells] cells are estimated group by group of columns,
// with [NewCounts] for each; [NewSampler] states what drawing rows from several groups
// assumes.
//
// # Rows near a question
//
// [Sampler.Near] draws rows that resemble a given one, because small language models follow
// such examples. It draws from estimates or, with [FromHistograms], from a released
// profile.
//
// # Privacy
//
// Everything here is computed from perturbed rows or released counts, from public settings
// and from the caller's queries. That is post-processing: it costs nothing, however often
// it is done. The package sees no raw row, and imports nothing that does.
package reconstruct
