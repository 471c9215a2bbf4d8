// Package icl does in-context learning: it answers questions with demonstrations
// in the prompt.
//
// Nothing here is private. The demonstrations have been released and paid
// for; using them is post-processing, which costs nothing however often it is done (Dwork
// and Roth 2014, proposition 2.1). So any model may answer, also one that is not trusted
// with private records. [Open] takes any model and uses the best way it offers;
// [Answerer.Describe] names it.
//
// # Labels of a list
//
// A [Classifier] computes the common prefix of all questions (instruction and
// demonstrations) once and forks it for each. A label's score is the probability of its
// tokens after the question, each token's taken over the whole vocabulary:
//
//	log P(label | question) = Σ log p(token | question, the tokens before it)
//
// and the labels' probabilities are normalised. Common prefixes of labels are computed
// once, and only the labels' rows of the output head, where that suffices.
//
// A model without scores generates text, and the answer is the label that the text begins
// with; there may be none.
//
// # Calibration
//
// Demonstrations bias a model towards labels that occur often, or last, whatever the
// question. Contextual calibration (Zhao et al. 2021, "Calibrate before use") measures the
// bias on questions without content ("N/A", "[MASK]" and nothing) and divides by the mean
// probability that each label has there. It needs no data. A [Prediction] has the answers
// with and without.
//
// # Evidence
//
// A prompt may use evidence, what all records together say about a question's label (package
// internal/evidence). Combined, the probabilities of labels, raw or calibrated, are multiplied by the
// evidence's to the power of a weight. Hinted, the model is told in a line, in each question and
// demonstration; questions without content have none. [Alone] asks no language model.
//
// # The nearest demonstrations
//
// A prompt may give each question only the demonstrations that are nearest to it (package internal/evidence/nearest). Then the
// instruction alone is common to all questions, and labels are not calibrated.
//
// # Free-form answers
//
// Extraction and generation have no list. A [Writer] generates greedily, to the end of the
// line or another end of the task's texts. It shares the prefix too, and generates many
// answers in one batch. For a model that only takes whole prompts, [Open] sends whole
// prompts.
package icl
