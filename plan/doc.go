// Package plan decides how texts will be written before any record is read: which
// method, with which settings, at what cost.
//
// The one idea: a [Plan] is a public value that fixes everything about a run but its
// randomness. Its event is worked out from the very settings that will run, the
// accountant says what ε that is, and the ledger is asked for that and no more. [New]
// goes the other way, from an ε to the settings.
//
// # Defaults, and why
//
// The method is clipped: one draw of records serves a whole text, so sampling amplifies
// the text as a whole and a token costs one pass of Batch+1 sequences.
//
//   - Temperature 0.5. The range of a step is 2·C/(Batch·Temperature), so a low
//     temperature buys less room C for a record's opinion; a high one writes at random
//     what a small model does not know. Trials on news topics were flat from 0.3 to 1.
//   - Gain 2: the mean of what the records say counts twice. A prompt with one record
//     moves a small model only a little from what its instruction alone makes it say; a
//     larger weight does what more records in the prompt would. Texts get longer and
//     nearer to the records; it is paid for with half the clip.
//   - Batch: the smallest of 16, 32, 64, 128 records that leaves a record a clip of
//     [EnoughClip] nats, at which about a twelfth of the differences were clipped in a
//     trial on news topics. Beyond it a larger batch only costs time; under 16 records
//     the mean is that of a few texts.
//   - 100 candidates: what the papers use; more changes nothing that is likely.
//   - Records are cut at the task's limit (100 tokens), texts may not end before 3
//     tokens, no sequence of 4 tokens comes twice, and each repetition of a token costs
//     it a little: small models loop, and these rules are free.
//   - δ is min(1e-6, n^-1.1), with n the declared number of units.
//
// # Sizes
//
// A rate is Batch/size with the declared size of a part. Where sizes are to be counted
// ([Count]), the event is that of the largest rate that may come of it, Batch/Least:
// drawing with a smaller rate is drawing from a draw, which costs no more. So what is
// charged does not depend on what was counted.
package plan
