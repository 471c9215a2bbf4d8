// Package icl is stage two: questions are answered with demonstrations in the prompt.
//
// The one idea is that nothing in here is private. Demonstrations have been released,
// at a price that was paid then; using them is post-processing, which costs nothing
// however often it is done (Dwork and Roth 2014, proposition 2.1). So any model may be
// asked, also one that is not trusted with private records.
//
// A [Classifier] computes what all questions begin with once (instruction and
// demonstrations) and forks it for each. A label's score is the probability of its
// tokens after the question, each token's taken over the whole vocabulary:
//
//	log P(label | question) = Σ log p(token | question, the tokens before it)
//
// and the labels' probabilities are made to sum to one.
//
// # Calibration
//
// Demonstrations bias a model towards labels that occur often, or last, whatever the
// question. Contextual calibration (Zhao et al. 2021, "Calibrate before use") measures
// the bias on questions without content ("N/A", "[MASK]" and nothing) and divides by
// the mean probability that each label has there. It needs no data.
//
// Where answers are not of a list, [Answer] lets the model write them.
package icl
