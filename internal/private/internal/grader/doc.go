// Package grader lets private records judge public prompts: for each record and each prompt
// a number from 0 to 1 that says how well the model answers the record's question with the
// prompt.
//
// A grade g(x, s) is a function of one record x, one public prompt s, the
// public task and the model, and of nothing else. It does not depend on which other
// records were drawn, how many, on other prompts, or on their order. All that is proven
// about choosing and measuring rests on that, and on 0 ≤ g ≤ 1.
//
//   - hard: 1 if the answer is the record's, else 0. Of a closed list the answer is the
//     label with the largest probability (the first of equal ones); else it is what the
//     model writes, its best token at each step.
//   - soft: the probability that the model gives to the record's answer.
//   - written: the mean probability of the tokens of the record's output.
//   - rouge: ROUGE-L of what the model writes, its best token at each step, against the
//     record's output.
//
// A prompt may use evidence, what all records say about labels (package internal/evidence): combined with
// the model's probabilities, as a hint in the question, or alone. Evidence is public, and what it says of
// a record follows from the record's input alone, which only a trusted encoder sees.
//
// A prompt may give each question the nearest of its examples (package internal/evidence/nearest). Which those are follows from
// the record's input and the public prompt, by a trusted encoder; the question is then asked with them before it, and
// shares only the instruction with others.
//
// Grades are whole numbers of steps of 2^-20, rounded down, so that sums are exact. What
// is outside of [0, 1], or no number, is a fault of the model; it is clamped, so that not
// even that makes a record count for more than one.
//
// A record whose label the task does not know, whose answer is empty, or whose question
// does not fit the model after a prompt, scores 0 there. An error would reveal that somebody
// has such a record.
package grader
