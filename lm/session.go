package lm

import "context"

// Sequence identifies a sequence of a session. The zero value is none.
type Sequence int

// Session holds sequences, as a tree: a fork shares everything with its parent. It is for
// one goroutine at a time.
type Session interface {
	// New returns an empty sequence.
	New() (Sequence, error)
	// Fork returns a new sequence with the same tokens. It costs no computation,
	// and what both hold is stored once.
	Fork(Sequence) (Sequence, error)
	// Drop forgets a sequence. Its forks stay.
	Drop(Sequence) error
	// Len returns the number of tokens of a sequence.
	Len(Sequence) (int, error)
	// Step extends sequences, all at once, and returns the requested scores in the order of
	// the steps.
	//
	// It is all or nothing: after an error, also that of an ended context, every sequence
	// is as it was before. Invalid steps (a sequence would pass the context length, a token
	// or candidate is outside the vocabulary, a sequence is unknown or named twice) fail
	// before any work is done.
	Step(ctx context.Context, steps []Step) ([]Scores, error)
	// Usage returns the cost of this session's steps.
	Usage() Usage
	// Close drops all sequences.
	Close() error
}

// Step extends one sequence and asks it for scores of the next token, or of the last of its
// own tokens.
//
// Tokens may be empty when the sequence is not: then only the scores are returned. So a
// method may extend all its sequences, choose candidates from the answer of one, and ask
// the others for those, at the price of one pass.
type Step struct {
	Sequence Sequence
	Tokens   []Token
	Ask      Ask
}

// Ask requests scores of the next token, or of the step's own last tokens. At most one
// field is set; the zero value requests nothing.
type Ask struct {
	// Candidates requests log-probabilities among these tokens: distinct, at least one, in
	// any order.
	Candidates []Token
	// Top requests the best tokens with their log-probabilities over the vocabulary.
	Top int
	// All requests the log-probability of every token.
	All bool
	// Given requests the log-probabilities over the vocabulary of the last Given tokens of
	// this very step, each given everything before it, and the best token at each of these
	// positions: a known output is scored in one pass. The step must also hold the token
	// before the first given one, so Given is less than the number of its tokens.
	Given int
}

// IsZero reports whether the ask is empty.
func (a Ask) IsZero() bool { return a.Candidates == nil && a.Top == 0 && !a.All && a.Given == 0 }

// Scores answers an [Ask].
type Scores struct {
	// Tokens are the requested candidates, or the best tokens in descending order (equal
	// scores by ascending token), or the given tokens. Nil after All: index is token.
	Tokens []Token
	// LogProbs of Tokens, or of every token after All. Natural logarithms, never
	// NaN, never positive beyond rounding. Those of given tokens are of as many
	// distributions, and equal what All gives one token at a time: to the bit where the
	// back-end is batch-invariant, within its tolerance elsewhere.
	LogProbs []float64
	// Best is the most likely token at the position of each given token; of equally likely
	// ones, the lowest. Nil unless Given was requested.
	Best []Token
}
