// Package report shows the rows of an evaluation as tables in Markdown.
//
// A report is computed from rows alone, so it can be made again from a file of them, and the
// same rows always give the same bytes.
//
// # What the numbers are
//
// All values are in points of 100; the papers' are [suite.PublishedValue] as printed. A cell is
// the mean over seeds, that is over demonstration sets, with their standard deviation and a
// 95 % interval by a bootstrap that draws seeds and then test items, because both are
// samples and all seeds share the items (package stat). Comparisons are paired: by item
// within each seed. Their p-values are adjusted together by Holm's method, so that the
// chance of a single false difference among all of a table is at most the level.
//
// # What it promises
//
// A report holds names, settings and numbers, never a text of the data. It is marked NOT
// PRIVATE, since evaluations are seeded. It states which model made which number: the
// papers' numbers are from other, larger models, and stand beside ours for orientation.
package report
