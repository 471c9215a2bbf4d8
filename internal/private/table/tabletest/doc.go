// Package tabletest states what every source of tables does, whatever holds the rows: one
// suite, run against all of them.
//
// The reference could not be simpler: made-up tables are kept in
// memory, encoded value by value by the rules of package schema, and added up row by row.
// A source passes if it reads the same rows and its own sums are the same to the last
// digit.
package tabletest
