// Package global makes profiles of private tables: rows are divided into public groups,
// and each group is described by a typical row, made of noisy means and most frequent values.
// The idea is from GDP-TabICL (Carey et al. 2024).
//
// All that is learnt of the rows is a list of whole numbers, of which
// one row moves few, and by how much is a fact about integers. [Sums] are those numbers,
// [Mechanism.Release] adds exact noise to each and forgets them, and a [Profile] is worked
// out from what is left.
//
// # Guarantee
//
// A profile has the guarantee of [Settings.Event], for any rows. With c = RowsPerUnit, or
// 1:
//
//   - Encoding. Package table encodes a row by itself: a discrete value is a code of its
//     domain, a number is clamped and becomes at most ±Steps. Sums.Add looks at the range
//     of every value again, and refuses a batch in which one is outside.
//   - Groups are a product of public partitions of the values of single columns. A row is
//     in exactly one, and which one depends on that row alone. So all groups together are
//     one vector for each query, and adding or removing a row moves one entry of it.
//   - Counts. A row moves the count of its group by 1, and one entry of each histogram by
//     1. Histograms are over the whole domain: values that no row has get noise too.
//   - Sums. A row moves a column's sum by at most Steps, since a number is added as its
//     distance from the middle of the bounds; and the sum of squares by at most Steps,
//     see table.Square. Rounding to units of 2^-20 keeps that (noise.Grid.Round). A sum
//     that is not centred is in units of the larger bound M, and moves by at most M.
//   - Noise is continuous, rounded to whole numbers (noise.RoundedLaplace,
//     noise.RoundedGaussian), of c·b times what a row can do. For c = 1 each query is the
//     Laplace mechanism on one entry, laplace(b) (Dwork, McSherry, Nissim, Smith 2006),
//     or the Gaussian one, gaussian(σ). For c > 1 the rows of a unit may move several
//     entries, together by c in ℓ1 and so by at most c in ℓ2: pure(1/b), and gaussian(σ)
//     as before, for the Gaussian mechanism in many dimensions is that in one.
//   - Quantiles. A cell's score is minus the distance between the rank that is wanted and
//     the ranks of the cell's rows. The wanted rank moves by q with a row and the ranks of
//     the rows above it by 1, so a score moves by at most max(q, 1−q), and two scores
//     apart by at most twice that. So the exponential mechanism is c-bounded-range
//     (McSherry, Talwar 2007; Dong, Durfee, Rogers 2020). Groups are independent, and the
//     ranges of those that a unit's rows are in add up to the same c.
//   - Modes that are drawn. A row raises one count of its group by 1 and lowers none, so
//     permute-and-flip at rate c is c-differentially private, pure(c) (McKenna, Sheldon
//     2020; noise.Selector has the proof), and the exponential mechanism
//     c-bounded-range. Ranges add up over a unit's groups as above.
//   - Replace-one. Exchanging a row is removing one and adding one: entries move by twice
//     as much in ℓ1, pure(2/b), pure(2c) and boundedrange(2c). In ℓ2 a sum moves by twice as much,
//     gaussian(σ/2); two counts move in two different entries or not at all, by √2,
//     gaussian(σ/√2).
//   - Queries compose, adaptively if need be.
//   - Units. Of each unit at most c rows are used, chosen from that unit's rows alone by a
//     keyed pseudo-random function, uniformly. Other units' rows have no part in it.
//   - Sampling comes first: each unit is kept with probability q or a little less, which
//     depends on no other unit: poisson(q, …).
//   - All else is post-processing: the division by the count, clamping to the bounds and
//     to what the group allows, the choice of the largest count (the first of several),
//     counts put together from all that counts rows. A column that its group determines
//     is not asked for at all. An empty group comes out as noise, as any other does.
//
// Tests compute the laws of what is released for all neighbouring tables of a few rows,
// and compare them with the event; the same audit finds each of a list of planted bugs.
//
// # Limits
//
// The guarantee is computational, as in all of package noise. Units are told apart by keyed
// hashes of 128 bits ([table.Unit]), which need no term in δ.
//
// A table of more than 2^31 rows is refused, which reveals that it is that large.
package global
