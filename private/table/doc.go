// Package table reads private tables: rows from files and databases, encoded by a public
// schema, column by column.
//
// The one idea is that a row is encoded before anything is computed from it. A discrete
// value becomes a code, a number is clamped to its public bounds and becomes a whole
// number of steps from the middle, at most [Steps] either way. Sums of rows are then exact
// integers, and how far one row moves them is a fact about the encoding that a test can
// check, not a statement about real numbers.
//
// No content of a row is in an error: those carry a code, the row's ordinal and the name of
// the column, which is public.
package table
