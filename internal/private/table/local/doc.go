// Package local perturbs rows at their owner: every value of a row is kept or exchanged
// for another one of its column by chance, and what comes out may be seen by anyone.
//
// The mechanism is k-ary randomised response (Warner 1965; Kairouz, Bonawitz, Ramage 2016).
// A column of d values with budget ε keeps a value with odds e^ε against each of the
// others. No row is compared or added up with another, so that nobody has to be trusted
// but the owner of the row, who may run this on that row alone.
//
// # Guarantee
//
// The event of a table is compose(rr(ε_1,d_1), …, rr(ε_F,d_F)), under replace-one: rows
// come out as many as they went in and in the same order, so that the number of rows, and
// that there is a row for somebody, is public. A column of one value has nothing to hide
// and no part in the event.
//
// Proof. Let x and x' be rows, y an output. Columns are perturbed independently, so that
// P(y|x)/P(y|x') is the product of the columns' ratios. In one column the ratio is 1, or
// the odds of the truth o = t(d−1)/(2^64−t), or 1/o, where t/2^64 is the chance to keep a
// value that runs. [Settings.Thresholds] has 1/e^ε ≤ o ≤ e^ε (see threshold): each column
// is dominated by rr(ε,d), whose odds are e^ε, and independent outputs compose. Other rows
// of the table have factors that cancel. ∎
//
// Rows that the schema refuses must stop the whole table, and not be left out of it: that
// one is missing would reveal for certain what it was not.
//
// It holds for each row by itself, also against anyone who knows all others: ε-local
// differential privacy. The event must not be put below a sampling node, which would ask
// for a bound on a row more or less.
//
// What can be learned from many perturbed rows is what package joint computes; that is
// post-processing and costs nothing.
package local
