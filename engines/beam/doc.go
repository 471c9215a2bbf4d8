// Package beam runs profiles and perturbations of tables as Apache Beam pipelines, for
// tables that one machine does not want to read.
//
// Everything random belongs to a key and to a number that rows have
// before the job begins. Beam runs a bundle again when it fails, runs it twice when it is
// slow, and splits it where it likes; were noise or a sample drawn anew each time, two
// copies of it could get out for the price of one. Here a source is cut into blocks once
// and for all, a block is the batch of package table, and a second attempt at it repeats
// the first bit by bit. The mechanisms are in the main module: there is no second
// encoding, clamping, sampling or noise.
//
// # Profiles
//
// Workers read blocks, take the sample that belongs to each, and add up whole numbers: one
// aggregate for each range of blocks, in which all groups of the settings are cells,
// whether they have rows or not. No group is a key of the pipeline, so that none can
// appear or be missing because of the data. Aggregates are merged in any order. The exact
// sums go to the driver in an envelope that it alone can open, and the driver adds noise,
// once, from a key that no worker has.
//
// With units, rows are first sent to the worker that has their unit, sealed, and at most
// so many of each are kept, by a keyed priority that does not depend on who reads them.
//
// # Perturbations
//
// Workers exchange the rows that they read, and write them to files whose names follow
// from the blocks. However many attempts there are, they write the same bytes under the
// same names: one perturbed copy of each row exists.
//
// # Guarantee
//
// That of packages global and local, and of the same event. What a pipeline releases is
// a function of the rows, the keys and the settings: the one that those packages compute
// in memory, if the batches are the same (tests compare them bit by bit), and else one
// with the same distribution, since batches only name streams of randomness. So proofs
// carry over, provided that the source does not change while a job runs: the same streams
// on other rows would reveal their difference. A file whose size has changed is refused.
//
// # Who has to be trusted
//
// Workers see rows: they, and who controls them, are trusted, as the driver is. The job
// graph holds no key and nothing about rows, because runners show graphs and log them.
// Workers read the key of sampling and perturbing from a file in the scratch folder, which
// exists while the job runs. Anyone who reads it can undo what was perturbed and knows who was
// sampled, though not the noise of a profile. A profile of all rows needs no such file.
// The package computes and nothing else: [Source] is a table for a [sotto.Client], which
// charges it, adds the noise of a profile and signs. The key is from the
// run, of which workers have one that is derived from it, so that a job that failed continues.
//
// Files that are released and the scratch folder are all that a job writes; a runner may
// keep sealed rows (units) and aggregates on its own disks while it runs: aggregates are
// not sealed there.
package beam
