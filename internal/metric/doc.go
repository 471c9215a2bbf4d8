// Package metric scores answers against references, and texts against each other.
//
// The name of a metric decides everything. Two values are comparable if and
// only if they have the same [Metric.Name]. What other programs leave open is fixed here
// and documented: what a word is, which answers count as equal, which encoder.
//
// # Answers
//
//	accuracy       share of answers that are the wanted label, character for character
//	macro_f1       mean over labels of the harmonic mean of precision and recall; labels
//	               are all that were wanted or given, as in scikit-learn
//	balanced_accuracy
//	               mean over the wanted labels of the share of them that was given; one
//	               answer to everything gets 1 over the number of labels
//	mcc            Matthews' correlation of wanted and given labels, from -1 to 1, after
//	               Gorodkin, "Comparing two K-category assignments by a K-category
//	               correlation coefficient", 2004; one answer to everything gets 0
//	exact_match    share of answers that are the wanted text after both are put in lower
//	               case and runs of white space are one space, none at the ends;
//	               punctuation and accents count
//	rouge_1, rouge_2, rouge_l, rouge_lsum
//	               F1 of package rouge, without stemming; with "_stem" after the name
//	               with it
//	embedding_precision, embedding_recall, embedding_f1
//	               greedy matching of token embeddings, after BERTScore (Zhang et al.,
//	               "BERTScore: Evaluating Text Generation with BERT", ICLR 2020)
//
// # Scores from different encoders are not comparable
//
// What an embedding metric gives depends on the encoder as much as on the texts: where all
// of an encoder's vectors point much the same way, unrelated texts get nearly 1. So the
// name of such a metric contains the encoder and how it is used: compare only values of the
// same name. Values are not those of the Python package bert-score, which uses other
// encoders, layers and baselines.
//
// # Texts
//
// Of the texts alone, without references: distinct_1, distinct_2 and distinct_3 (different
// sequences of words per sequence; Li et al., "A Diversity-Promoting Objective Function for
// Neural Conversation Models", NAACL 2016), self_bleu (how much each text is made of
// sequences of the others; Zhu et al., "Texygen", SIGIR 2018) and words (their mean
// number).
package metric
