// Package pool has a model make up what prompts are built from: examples, other wordings of
// an instruction, and examples like those that were chosen before.
//
// The one idea: the model sees no record, so it need not be trusted, and what it writes costs
// no ε. What it is asked is made from a task, from public labels, phrases and inputs, and from
// texts that were released: nothing else is among the arguments of this package, it does not
// import the packages that hold records, and it takes an [lm.Model], which writes, where
// records need an [lm.Trusted].
//
// What comes back is checked and not believed. A reply may be anything: texts that name the
// prompt's fields, that lack their label's phrase, that are too long or come twice are left
// out, and the [Tally] says how many. Requests, tokens and time are bounded. A model that
// does not write enough is an [*Error], which holds nothing of what it said.
package pool
