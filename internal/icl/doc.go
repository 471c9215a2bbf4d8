// Package icl is stage two: questions are answered with demonstrations in the prompt.
//
// The one idea is that nothing in here is private. Demonstrations have been released,
// at a price that was paid then; using them is post-processing, which costs nothing
// however often it is done (Dwork and Roth 2014, proposition 2.1). So any model may be
// asked, also one that is not trusted with private records. [Open] takes any, and
// answers the best way that it offers; [Answerer.Describe] says which.
//
// # Labels of a list
//
// A [Classifier] computes what all questions begin with once (instruction and
// demonstrations) and forks it for each. A label's score is the probability of its
// tokens after the question, each token's taken over the whole vocabulary:
//
//	log P(label | question) = Σ log p(token | question, the tokens before it)
//
// and the labels' probabilities are made to sum to one. What labels begin with alike is
// computed once, and of the head only the rows of the labels, where that is enough.
//
// A model that gives no scores writes, and the answer is the label that the text begins
// with; there may be none.
//
// # Calibration
//
// Demonstrations bias a model towards labels that occur often, or last, whatever the
// question. Contextual calibration (Zhao et al. 2021, "Calibrate before use") measures
// the bias on questions without content ("N/A", "[MASK]" and nothing) and divides by
// the mean probability that each label has there. It needs no data. A [Prediction] has
// the answers with and without.
//
// # Answers that are written
//
// Extraction and generation have no list. A [Writer] lets the model write, its best
// token at each step, to the end of the line or what else ends a text of the task; it
// shares what questions begin with too, and writes many answers side by side. [Answer]
// does with a model that takes whole prompts.
package icl
