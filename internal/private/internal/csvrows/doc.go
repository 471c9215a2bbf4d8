// Package csvrows splits comma-separated values (RFC 4180) into rows and fields.
//
// A row is refused alone. Where quotes do not match, its first line is
// the row, and the next line begins another one: a malformed row that took others along
// would be worth more than one row to whatever is computed. And what a row is does not
// depend on where reading begins or stops, so that a row is found again by its offset.
package csvrows
