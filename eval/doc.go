// Package eval measures the quality of examples: how well a model answers with them, and
// their cost in privacy and computation.
//
// Its unit is the [Row]: one demonstration set, made by one method from one seed,
// measured on one list of test items with one model. Everything else is bookkeeping around
// rows: package suite makes them, package stat tests whether two lists of them differ,
// package report shows them.
//
// Nothing in here is private, and nothing may be. Runs of an evaluation are seeded, so that
// they can be repeated; what they write is NOT PRIVATE, gets no certificate and charges no
// ledger. Rows hold numbers and public words, never a text.
package eval
