// Package suite runs declarative comparisons: a file lists data sets, methods, values of
// ε and seeds, and every combination becomes a row of results.
//
// A row is a function of public names. A [Cell] says all that
// determines one demonstration set and who answers with it, or how records answer by
// themselves. Its two stages, writing and answering, are kept in a folder under a hash of
// everything they depend on: the plan, the content of the files, the seed, the weights of
// the model, the demonstrations and the questions. So nothing is done twice, a suite that
// was interrupted resumes by the same call, and cells can be worked on in any order and at
// once: the rows are the same.
//
// # Files
//
//	title = "Two ways to write demonstrations"
//	seeds = 5                  # sets for each combination
//	items = 300                # of each test file
//	epsilon = [0.3, 1]
//
//	[[dataset]]
//	name = "agnews"            # and the built-in task of this name
//	train = "{data}/agnews/train.jsonl.gz"
//	test = "{data}/agnews/test.jsonl.gz"
//	size = 27632               # declared: sampling rates follow from it
//
//	[[method]]
//	method = "clipped"
//
//	[[method]]
//	method = "real"            # private records as they are, to compare with
//
//	[[method]]
//	method = "vote"            # online: records answer the test items
//	queries = [100]            # ε is for so many answers together
//
// [Suite] lists all that a file can say; those of [Builtins] are in the folder suites. A
// file with anything unknown or impossible in it is refused, with all that is wrong at
// once.
//
// # What is not private
//
// All of it. Runs are seeded so that they can be repeated, and a seed is no secret: what
// they write has no privacy guarantee, whatever the method guarantees when it is run by
// [sotto.Client.Synthesize] with fresh randomness. There is no certificate and nothing is charged.
// The cache holds demonstrations, also real records, and is readable by its owner alone;
// rows hold numbers and public words. The ε of a row is what the same plan costs, run with
// fresh randomness.
//
// Records go to models that are trusted ([lm.TrustedScorer]); who only answers sees
// demonstrations and test items.
package suite
