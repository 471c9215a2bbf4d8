// Package given scores outputs that are known (teacher forcing): how likely a model finds
// each token of an output after a question and the tokens of the output before it.
//
// The one idea is that a known output needs no writing: all its tokens go through the
// model at once, and so do those of other questions. Where a back-end cannot do that
// ([lm.Capabilities.Given]) the outputs are walked along, one token of all questions a
// step, which gives the same numbers in more passes.
//
// # Guarantee
//
// A question's line is a function of its own tokens alone, whichever questions are asked
// beside it, if the model is batch-invariant: each question has a sequence of its own, and
// nothing is added up over questions. Whole distributions, where the back-end gives them,
// lead to the same bits as one pass does.
package given
