// Package rouge scores a text by the words that it shares with a reference: ROUGE-N
// counts sequences of n words, ROUGE-L takes the longest common subsequence, ROUGE-Lsum
// that of every sentence of the reference with all sentences of the text.
//
// It gives the numbers that others print: scores are those of the Python
// package rouge-score 0.1.2, with and without stemming, to 1e-9. Words are therefore
// what it takes for words, runs of the letters a to z and of digits after lower-casing,
// so that an accent or an apostrophe ends one, and a text in another script has none.
// With stemming, words of more than three letters go through [Stem], which is Porter's
// algorithm with the changes that NLTK makes by default. The fixtures in testdata say
// which versions made them, and the script there makes them again.
//
// # Cost
//
// The length of a longest common subsequence takes one pass over bits for every word of
// the text that the reference has, 64 words of the reference at a time, and memory for
// the reference alone (Hyyrö, "Bit-parallel LCS-length computation revisited", AWOCA
// 2004). ROUGE-Lsum needs the subsequence itself: time as the product of the lengths of
// two sentences, memory as an eighth of that in bytes.
//
// # References
//
// Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", Text Summarization
// Branches Out, 2004; Porter, "An algorithm for suffix stripping", Program 14(3), 1980.
package rouge
