// Package rows turns rows of a table, in words, into vectors, so that all records of a table can be evidence for
// labels as texts are (package internal/evidence).
//
// The public schema is the encoder. It reads a row from its words, by the code that wrote them
// ([schema.Wording]), and gives each value features of its own: one for each value of a column that lists them, and
// for a number its place between eight knots from the lower bound to the upper, on two scales: an even one, and one
// that has most knots near the lower bound. Each column has the same part of the vector's length, so that it is one.
//
// Nothing of any row but that one has a part in its vector: no mean, no deviation, no quantile, and no dictionary.
// That is what the guarantee of evidence asks of an encoder (package internal/private/sums).
//
// A text that is no row of the schema has a vector too, which says that and nothing else: whether a record can be
// read must not end a run. [Encoder.Reads] is for questions, which are public: they can be refused.
package rows
