// Package bert turns sentences into vectors with encoders of BERT's architecture: all-MiniLM-L6-v2, a
// BERT of six layers ([Open]), and others such as bge, e5 and gte ([OpenModel]). The outputs are averaged
// over the word pieces, or that of the first is taken, as the model says, and scaled to length one; they are also
// given for each word piece ([Encoder.Tokens]).
//
// Sentences need nothing of each other, so each goes through the
// layers on its own rows, with no padding, however many share a matrix product.
//
// # What is guaranteed
//
// A vector is a function of its text, the weights, the vocabulary and the settings that
// [Encoder.Fingerprint] names alone, bit for bit: alone or in any batch, with any number of threads, on any processor. That
// follows from package kernel, in which every number is one fixed chain of
// operations, and from this package using nothing else to compute with; the tests
// check it.
//
// Token ids are those of the tokenizers library, and vectors those of
// sentence-transformers, to a cosine of 0.999 or better; the fixtures say which
// versions (testdata/reference.py makes them). A text of 16 tokens or more is computed in
// bytes, with exact sums (see MulBytes of package kernel): rounding weights to eight bits and
// activations to seven takes about 4e-4 off the cosine with the vector in float32, and
// 8e-4 at most in the tests. A shorter one is computed in float32, and so are the vectors
// of word pieces: where few or none are averaged, the errors would be larger. Which way is
// taken depends on the text alone. Other encoders, for which that was not measured, are computed in float32; tests hold
// tiny ones with random weights to plain arithmetic, in all forms of files. A text's word pieces after
// the maximal length are ignored, all-MiniLM-L6-v2's after the 254th, and the names of special tokens in a text, such as [MASK],
// mean these tokens.
//
// # References
//
// Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for
// Language Understanding", NAACL 2019; Wang et al., "MiniLM: Deep Self-Attention
// Distillation for Task-Agnostic Compression of Pre-Trained Transformers", NeurIPS
// 2020; Reimers and Gurevych, "Sentence-BERT", EMNLP 2019, for the mean.
package bert
