// Package likelihood scores known outputs by teacher forcing: the log-probability of each
// output token, given a prompt and the output tokens before it.
//
// A known output needs no generation. All its tokens, and those of other
// outputs, go through the model in one pass. Where a back-end cannot do that
// ([lm.Capabilities.Given]), each step feeds one token of every output, which gives the
// same numbers in more passes.
//
// # Guarantee
//
// If the model is batch-invariant, the scores of an output are a function of its own prompt
// and tokens alone, whatever is scored beside it: each output has a sequence of its own,
// and nothing is summed over outputs. Reading the scores off whole distributions gives the
// same bits as one pass.
package likelihood
