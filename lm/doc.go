// Package lm defines the interface to language models.
//
// The private methods need what ordinary completion interfaces hide: the scores of chosen
// tokens, for many prompts that share prefixes, at every step. A [Session] provides them.
// Sequences are opened empty, extended many at once and forked for free. Each can be asked
// for its scores over a list of candidates, for its best tokens, for the whole vocabulary,
// or for tokens it was just given.
//
// Three capabilities, from the widest to the narrowest:
//
//   - [Model] generates text. Every back-end does.
//   - [Scorer] also has a tokeniser and sessions, which texts from records need.
//   - [Embedder] turns sentences into vectors.
//
// A prompt that holds a private record may only go to a [TrustedScorer]. That is another
// type than [Scorer], so the compiler refuses the rest. [Trust] makes one and is called in
// two places only: where the embedded engine is opened, and where a configuration marks an
// end point as trusted.
//
// # What scores mean
//
// Back-ends differ in what they can normalise over: one that evaluates the output head for
// a hundred rows cannot know the probability of a token among all 49152. So candidate
// scores are log-probabilities *among the candidates* (they sum to one over the list).
// Every back-end can compute these exactly, and they are what the methods need. Best
// tokens, whole distributions and given tokens have log-probabilities over the vocabulary.
//
// # Privacy
//
// Each proof of "one record affects one prompt" needs a sequence's scores to be a function
// of that sequence alone. [Info] states whether a back-end promises it (BatchInvariant) and
// whether its results repeat (Deterministic). Where it does not promise it, [Isolate] has
// prompts scored alone and compares bits before a run begins; where records judge prompts, it is
// enough that one record is asked about at a time ([IsolateRecords]). Without an [IsolatedScorer]
// nothing is charged as proven or certified. Errors of this package and of back-ends never
// hold text or tokens of a prompt.
//
// Package lmtest is the conformance suite that every back-end passes.
package lm
