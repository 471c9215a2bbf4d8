// Package evidence reads what all records together say about a question's label.
//
// A handful of examples lets a handful of texts speak, a sum lets all records. A public
// encoder turns a text into a vector of length one. For each label there is a vector that was made from
// noisy sums of the records' vectors (package internal/private/sums, where the guarantee is). The inner
// products with a question's vector are the logarithms of the labels' odds: a linear classifier. It is
// released once, and everything here is post-processing: any number of questions, with any model.
//
// Evidence is used in three ways ([prompt.Use]): combined with a model's scores of labels, as a hint in
// the prompt, or alone, without a language model.
//
// Traps:
//
//   - Vectors of different encoders are not comparable: evidence names its encoder with its fingerprint, and
//     [Open] refuses another one.
//   - An encoder that sees private questions must be as trusted as a model: package grader takes an
//     [lm.TrustedEmbedder] alone. A client's questions are the client's own.
package evidence
