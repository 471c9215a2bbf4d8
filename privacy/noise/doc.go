// Package noise draws the randomness that privacy rests on, exactly.
//
// The idea: a sampler of real-valued noise on a computer is an approximation,
// and the difference can leak everything (Mironov 2012). Here every released
// number lives on a [Grid] of integers, and every draw has exactly the law
// that the proof of its mechanism assumes. A draw compares a uniform real
// number, whose binary digits come one word at a time, with a number such as
// exp(-x) that integer arithmetic encloses. The first 64 digits decide almost
// always; when they do not, more digits are drawn and the enclosure is
// narrowed until the answer is certain. No floating-point operation and no
// rounding error takes part in a decision.
//
// # Keys and streams
//
// A run has one [Key] from the operating system. [Key.Stream] derives from it
// an independent stream of bits for each purpose and index, so that a run
// replays bit for bit from its key, on any machine. Guarantees are therefore
// computational: they hold against anyone who cannot break HMAC-SHA256 or
// AES-256. A key made from a seed reports Private() == false, and so does every
// stream made from it: results are NOT PRIVATE and must not be released.
//
// # Mechanisms
//
// Each mechanism's comment states its precondition, its postcondition and the
// proof.
//
//   - [NewGaussian] and [NewLaplace] add noise on a grid. The default form is
//     continuous noise rounded to the grid: post-processing of the continuous
//     mechanism, so that the events gaussian(σ) and laplace(b) describe what
//     runs, for every accountant. The discrete Gaussian and discrete Laplace
//     are there too; they satisfy the same zCDP and pure-DP bounds but are not
//     dominated by the continuous mechanisms.
//   - [Selector.Softmax] draws ∝ exp(score): the exponential mechanism and
//     bounded-range decoding.
//   - [Selector.PermuteAndFlip] is report-noisy-max with exponential noise.
//   - [Inclusion] is Poisson sampling, [Stream.Subset] sampling without
//     replacement, [Stream.Assign] the assignment of records to prompts.
//
// # Limits
//
// How long a draw takes depends on the values drawn, and for the selectors
// slightly on the scores; the package does not hide timing from someone who
// shares the machine. Adding noise needs values within ±2^62 steps: clip first,
// since an error that depends on private values reveals something about them.
// Deviates are cut where the probability of continuing is below exp(-32767).
package noise
