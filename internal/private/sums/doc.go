// Package sums makes evidence from private records: a linear classifier of texts by their vectors, from
// noisy sums over all records.
//
// A trusted encoder turns each text into a vector φ of length one. What is added up over all
// records is a matrix with a row for each label, and every unit adds a matrix of norm at most one. Noise of
// the Gaussian mechanism is added to the whole sum, so that the number of labels costs nothing. There are
// two ways:
//
//   - Several sums, one after the other: a record adds what moves the classifier of the sums before towards
//     the record's label, (e_y − p) ⊗ φ with the classifier's probabilities p, cut to a norm. It is the noisy
//     gradient descent of Song, Chaudhuri and Sarwate (2013) and Abadi et al. (2016), over all records
//     and not over samples of them. The classifier may begin at the labels' names, which the encoder reads
//     too: the first noisy sum says with which weight, which is 0 for names that mislead.
//   - One sum: a record adds φ to the row of its label, and a label's vector is the direction of its row. Plans
//     have several.
//
// [Sums.Check] knows which settings are possible, [New] carries them out. Vectors of all records are needed for each
// sum: 64 MiB of them are held in memory, and the rest is in a file beside the index, encrypted by a key that is
// in memory alone, and gone with the run.
//
// # Guarantee
//
// Theorem: what [Summer.Evidence] releases is repeat(Sums, gaussian(Sigma)) under add-remove and under
// replace-one adjacency.
//
// Proof. (1) A unit is in one part of the pool. It is asked for Each of its records, drawn once for all
// sums with randomness of its own, and adds the mean of what they add. The draws do not depend on what
// records hold, so fix them. (2) What a record adds in sum t is a function of its vector and label and of
// the sums before, which are released: the product of a vector and of coefficients. Both are put on a grid
// by rounding each number towards zero, and then their norms are at most one in whole numbers: that is
// checked after rounding, in whole numbers. Coefficients that were longer would add nothing, and a vector
// that is longer is a fault of the encoder, with which nothing is released. The norm of a product is the
// product of the norms. A label that is not on the list adds nothing. The vector is a function of the
// record's text alone, since the encoder's result does not depend on the batch ([lm.Embedder]). (3) The mean
// of Each such matrices is put on the grid by rounding towards zero again, and has a norm of at most one. So
// one unit more or less moves the sum by at most one, and a unit that is exchanged for another by at most
// two, in ℓ2. (4) Normal noise of Sigma times that is added to whole steps and rounded to them, exactly
// (package noise): gaussian(Sigma). (5) The sums follow each other, and each is a function of the records
// and of what was released: adaptive composition. With the draws random again the laws are mixtures with the same
// weights, which are no further apart. Vectors of labels are made from released sums and from the names of the
// labels, which are public: post-processing. ∎
//
// # What would break it, and what keeps it from happening
//
//   - A vector that is longer than one, of another dimension, or none: it is checked, and nothing is
//     released. (The end of a run shows it. The embedded encoder has no such vectors.)
//   - The number of records, for example as a divisor: steps are divided by the declared size, which is
//     public.
//   - A weight of names that follows from the exact first sum: it is made after noise was added.
//   - An encoder whose vectors depend on the batch: the embedded one is tested for that; others are not
//     accepted.
//   - A second release with the same noise: the noise is of the run's key, which is bound to the data, and
//     settings and task are part of the noise's name. With noise of two scales from the same stream, two
//     releases would give the exact sum.
package sums
