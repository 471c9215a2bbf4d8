// Package rows reads rows of files: comma-separated values (RFC 4180), JSON lines and Parquet, and whatever package
// convert makes rows of. Records, tables, what the ledger knows both by, and public tests are views of it.
//
// A row is refused alone. Where quotes of comma-separated values do not match, its first line is
// the row, and the next line begins another one: a malformed row that took others along
// would be worth more than one row to whatever is computed. And what a row is does not
// depend on where reading begins or stops, so that a row is found again by its place.
//
// Memory is bounded: a row by [MaxRow], and all else by what is read at a time. What is wrong with a row is a reason,
// never its content.
package rows
