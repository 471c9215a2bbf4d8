// Package reply is how a model answers a question that follows a prompt: how the two are laid
// out in tokens, how an answer is written and where it ends, how a label is chosen, and when an
// answer counts as right.
//
// What private records say about a prompt is only of use if it is what people get
// with the prompt later. So both are computed here: package grader, where records judge prompts,
// and package icl, which answers with what was released, lay out, write, end, choose and compare
// by this package alone.
//
// # Guarantee
//
// If the model is batch-invariant, the answer to a question is a function of its own tokens
// alone, whatever is answered beside it: each question has a sequence of its own, and nothing is
// summed over questions. The package keeps, logs and returns nothing but answers: it is used
// below internal/private, by whose rules it is tested.
package reply
