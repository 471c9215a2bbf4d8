// Package pool generates the candidates of prompts with a model: examples, other wordings
// of an instruction, and examples like those chosen before.
//
// The model sees no record, so it need not be trusted, and its texts cost no
// ε. Requests are made from a task, from public labels, phrases and inputs, and from
// released texts. This package has no other arguments, does not import the packages that
// hold records, and takes an [lm.Model], where records need an [lm.TrustedScorer].
//
// Replies are checked, not trusted. Texts that name the prompt's fields, lack their label's
// phrase, are too long or duplicates are dropped, and the [Tally] counts them. Requests,
// tokens and time are bounded. A model that does not generate enough is an [*Error], which
// holds nothing of its replies.
package pool
