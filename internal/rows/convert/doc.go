// Package convert reads files that other programs write as rows of comma-separated values: Excel
// workbooks, JSON, and text in UTF-16.
//
// What is read here becomes a header and rows in memory, in the form that the reader of CSV files
// knows. So a workbook is drawn from, checked, counted and recognised by the ledger as its CSV
// twin is, with no code of its own. Nothing is written to disk.
//
// # Records
//
// A record is read by itself: what one looks like never decides how another is read, so that
// adding or removing a record changes one row. What decides about all rows (names of columns,
// formats of dates, the sheet) is in a file's own metadata.
//
// # Hostile files
//
// Files may come from anybody. Sizes are bounded before memory is taken, names of parts are not
// paths, and errors never quote content.
package convert
