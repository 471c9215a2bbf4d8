// Package stream perturbs rows as they come, at the people whom they are about.
//
// Nobody else has to be trusted: rows go in as CSV, one after the
// other, and what comes out of each may be seen by anyone. There is no ledger and no
// fingerprint, since there is no table, only rows that their owner hands over; every time
// the same row is perturbed costs its ε again, and that is for the owner to remember.
//
// The guarantee of a row is as in package internal/private/table/local. Rows come out as many as
// went in, in the same order, each as soon as it is perturbed. A row that the schema
// refuses ends the stream: to leave it out would reveal that it was refused. Errors name
// its ordinal and column, never its content.
package stream
