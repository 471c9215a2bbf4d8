// Package table reads private tables: rows from files and databases, encoded by a public
// schema, column by column.
//
// A row is encoded before anything is computed from it. A discrete
// value becomes a code, a number is clamped to its public bounds and becomes a whole
// number of steps from the middle, at most [Steps] either way. Sums of rows are then exact
// integers, and how far one row moves them is a fact about the encoding that a test can
// check, not a statement about real numbers.
//
// # Guarantee
//
// For every source, whatever is in it: a code is below the size of the column's domain,
// and a number of steps is within ±Steps. So adding or removing a row moves a count by at
// most 1, a sum and a sum of squares ([Square]) by at most Steps, one cell of a histogram
// by 1, and only cells of the one group that the row is in. Proof: [Scale.Steps] and
// [Encoding] end with a clamp that no value, NaN included, gets around, groups are a
// function of the row alone, and sums are integers that do not overflow up to [MaxRows].
// Values that the schema does not allow are refused: the row is left out, or the source is
// refused as a whole.
//
// # What stays inside
//
// No content of a row is in an error: those carry a code, the row's ordinal and the name of
// the column, which is public. Messages of databases are held back once rows are read.
// Units of privacy are known by a keyed hash.
package table
