// Package learn fits small classifiers to rows that may be seen: public ones, released
// ones, or a distribution that was reconstructed from perturbed ones. They are what
// answers of a language model are compared with.
//
// A schema fixes the features. A [Form] turns a discrete value into
// one entry of a list, and a number into its distance from the middle of its public
// bounds, as a share of half their width. Nothing is learnt from the rows to prepare them
// (no means, no deviations), so that the same form serves rows that nobody may see: private
// logistic regression (internal/private/table/learn) gives a [Logistic], and the noisy moments of a
// private profile give a [NaiveBayes], as post-processing.
//
//   - [FitLogistic]: ridge-penalised logistic regression, by Newton's method until the
//     gradient is 0 except for rounding.
//   - [NewNaiveBayes]: naive Bayes from [Moments], exact or noisy: normal laws for numbers,
//     and for discrete columns either their frequencies or, as is common, normal laws of
//     the zeros and ones.
//
// The package makes no claim of privacy: anyone who hands it private rows publishes them.
package learn
