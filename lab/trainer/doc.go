// Package trainer fits logistic regression to rows that may be seen: those of benchmarks, or
// a distribution that was reconstructed from perturbed rows. It is a baseline of the suites.
//
// [FitLogistic] minimises the ridge-penalised loss by Newton's method until the gradient is
// 0 except for rounding. A [Table] holds the rows, and has the exact moments that naive
// Bayes needs. The features are those of a [learn.Form], in which nothing is learnt from
// rows. Package private fits the same model with noise.
package trainer
