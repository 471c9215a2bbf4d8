// Package schema says what a table is: its columns, what values they can have, and how a
// row is put into words.
//
// The one idea is that a schema is public. It is written without looking at the rows:
// bounds, bins, domains and templates are knowledge about the subject, never statistics of
// the data. So nothing in here costs privacy, and nothing in here may ever be filled in
// from private rows. (A program that cuts a column at its private mean has published that
// mean.) Names and kinds of columns may be taken from a header or from a catalogue of a
// database; values may not.
//
// Every value has a place: a code of a discrete column, or a number within the bounds of a
// numeric one. What is outside is mapped by the rule that the column declares, or refused.
package schema
