// Package labels scores the labels of a list after sequences of a session.
//
// The one idea is that a label is scored by its tokens, each over the whole vocabulary,
// and that labels share work: what several begin with alike is computed once (a trie),
// and of the model's head only the rows of the labels where that is enough.
//
//	log P(label | question) = Σ log p(token | question, the tokens before it)
//
// A number that is common to all labels of a question may be missing: the first token's
// probability is one among the labels' first tokens, unless [Options.Whole] asks for more.
//
// # Guarantee
//
// The scores after a question are a function of its own tokens alone, whichever questions
// are asked beside it, if the model is batch-invariant: each question has sequences of its
// own, and nothing is added up over questions.
package labels
