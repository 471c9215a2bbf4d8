// Package ensemble answers a question from private records with whole answers: several
// prompts with records answer by themselves, and one noisy look at all answers decides.
//
// The answers of the prompts are a histogram, or a cloud of points,
// in which one unit moves one entry. What a prompt answers (a label, a sentence) is any
// function of its own records and of public values; only bounded whole numbers made of it
// meet those of other prompts.
//
//	vote       labels: the one that most prompts vote for, or that they favour together
//	product    labels: drawn by the product of the probabilities that prompts give them
//	embedding  sentences: the public candidate nearest to the noisy sum of their vectors
//	keyword    sentences: words that many of them have, from which the answer is written
//
// # What the proofs rest on
//
// Package draw changes one prompt at most when one unit is added or removed. A prompt's
// answer is a function of its tokens alone where the model (and the encoder) are
// batch-invariant. So between adjacent data sets, in the same draw, one answer is added
// or removed (one record in a prompt, add-remove adjacency), or exchanged for another
// (prompts of several records, where the other may be that of an empty prompt; draws of a
// fixed size). [Method.Event] declares what that does, for the mechanism that runs, and
// every file says why.
//
// A prompt without records answers as the public prompt does, as everywhere: with a fixed
// number of prompts, the fewer are drawn, the more public the answer.
//
// Candidates, word lists and the public answer come of the question and of randomness
// that no record has a part in, hence are free. What is written from released words is
// post-processing.
package ensemble
