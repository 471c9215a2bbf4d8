// Package forecast says what prompts that records choose are likely to be worth, before
// anything is spent: how many points above no examples, above model-generated examples and
// above real records, from a plan and the name of a model alone. It reads no record.
//
// Two things decide. One is how much choosing can bring for this kind of
// task and model at all, which suites have measured on a few data sets. The other is how much
// of that the noise leaves. A round chooses a prompt with probability ∝ exp(c·u), where u is
// the number of its B records that the prompt is right for, so that prompts whose accuracies
// differ by a share d have odds of exp(c·B·d): what counts is the weight w = c·B. A choice by
// chance (w = 0) is worth what model-generated examples are worth, since that is what
// candidates are made of. So for a data set
//
//	chosen(w) = own + G·w/(w + h)
//
// with a gain G of its own and one half weight h for all, both fitted to what suites measured
// by least squares ([NewFit]). Those measurements are in table.json, which
//
//	go run ./lab/forecast -out internal/plan/forecast/table.json DIR …
//
// makes from the folders of suites (rows and suite.toml), and "make forecast" from those of
// lab/results, so that anyone can repeat it. The
// fit is made from that table whenever a forecast is asked for: there are no coefficients
// that could be out of date.
//
// The number of rounds is not in the formula: suites ran as many as plans have by default. Fewer
// rounds have more weight each, and whether that makes up for the others was not measured. So a
// plan with fewer than runs of its size had is counted with no more weight than its rounds would
// have at that number, and with less than half as many there is no forecast ([RoundsError]).
//
// # How sure
//
// What suites saw is a handful of data sets, and yours is another one. An interval goes from
// the least to the most that the gain is on any of them, and as far beyond as single runs
// deviate. [Coverage] leaves out one data set after the other and counts how often what was
// measured on it lies within what the others forecast: that is what a forecast says of
// itself. A model that no suite ran gets the curves of one of about its size, or of all, and
// is said to be a guess. Where nothing like the task was measured there is no forecast. Of a plan with evidence
// it is said what private classifiers were worth where records said as much of each label ([EvidenceError]).
package forecast
