// Package stat computes means with confidence intervals from the scores of an evaluation,
// and tests whether one method is better than another.
//
// Scores have two sources of randomness. A method makes other demonstrations
// from another seed, and a test file could have held other items; all seeds of a data set
// are measured on the same items. So a table of scores is seeds × items, crossed, and its
// mean varies with both. [Crossed] resamples both: seeds with replacement, and items with
// replacement once for all seeds, since they share them (the pigeonhole bootstrap; Owen,
// "The pigeonhole bootstrap", Annals of Applied Statistics 1(2), 2007). Resampling single
// scores, or items anew for every seed, would take the same hard items for independent
// evidence and give intervals that are too short; the tests show that it does. [Compare]
// compares methods by differences of scores for the same seed and item, so that the
// difficulty of items cancels out.
//
// # What is guaranteed
//
// Functions are deterministic: the same scores and options give the same bits. The
// generator is a PCG of math/rand/v2; nothing in here is private, so nothing has to be
// secret.
//
// [SignFlip] is an exact test: without a difference, the probability of a P below α is at
// most α. It tries all sign changes when there are few; otherwise it draws them and adds
// one to both counts (Phipson and Smyth, "Permutation P-values should never be zero",
// 2010). Bootstrap intervals have their level only as numbers grow; for few seeds Crossed
// widens them as far as Student's distribution would, and the tests measure what remains.
// [Holm] keeps the probability of any false finding among several below the level (Holm
// 1979), whatever the dependence between them.
//
// [Noisy] and [NoisyPair] are counts of right answers released with noise of a known
// distribution. Their intervals cover both the noise and the sampling of records; tests
// measure how often they miss.
//
// # References
//
// Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, for BCa intervals.
package stat
