// Package learn makes naive Bayes of sums over rows that may be seen, or of noisy ones that
// were released.
//
// A schema fixes the features. A [Form] turns a discrete value into
// one entry of a list, and a number into its distance from the middle of its public
// bounds, as a share of half their width. Nothing is learnt from the rows to prepare them
// (no means, no deviations), so that the same form serves rows that nobody may see: the noisy
// moments of a private profile give a [NaiveBayes], as post-processing. Numbers have normal
// laws, and discrete columns either their frequencies or, as is common, normal laws of the
// zeros and ones.
//
// The package makes no claim of privacy: anyone who hands it private rows publishes them.
package learn
