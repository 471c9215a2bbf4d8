// Package labels scores the labels of a closed list after a prompt.
//
// A label is scored by its tokens, each over the whole vocabulary, and labels
// share work. A common prefix of several labels is computed once (a trie), and only the
// labels' rows of the output head are evaluated where that suffices.
//
//	log P(label | prompt) = Σ log p(token | prompt, the tokens before it)
//
// A constant common to all labels of a prompt may be missing: the first token's probability
// is one among the labels' first tokens, unless [Options.Whole] asks for more.
//
// # Guarantee
//
// If the model is batch-invariant, the scores after a prompt are a function of its own
// tokens alone, whatever is scored beside it: each prompt has sequences of its own, and
// nothing is summed over prompts.
package labels
