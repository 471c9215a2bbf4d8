// Package record reads private records: from files and databases, by the unit of
// privacy, without ever holding more of them than were drawn.
//
// Records are *enrolled*. Opening a source reads it once, from end to end: every
// record is checked, the whole content gets a keyed fingerprint, by which the ledger
// knows the data set, and an index on disk notes where each record lies. A draw then
// names units by number ([Data.Size], [Data.Choose]) and reads only those records that
// it names ([Data.Fetch]). Memory does not grow with the number of records; sorting by
// unit happens on disk.
//
// # Units and parts
//
// A unit of privacy is a record, or all records that share a value of a column. With a
// closed list of labels, each label is a part. Every unit is in at most one part: a
// unit whose records carry several labels takes part under the one that a keyed hash
// of the unit and the label puts first, and only its records with that label can be
// chosen. That choice is a function of the unit's own records and the key. So adding or
// removing a unit changes one part, by one unit, and no other unit: which is what
// parallel composition over the parts, and sampling of units, assume.
//
// The guarantee is about the records that are read. Where a malformed record ends is a
// guess: in CSV, a quote without its pair can take up the records after it. A source
// with malformed records is therefore refused unless one asks for it.
//
// Equal units are found by 128 bits of HMAC-SHA-256; two different ones count as one
// with probability below n²/2^129.
//
// # Tables
//
// Rows of a table are records too: [Options.Schema], which is public, puts each into words.
// What a row says, and whether it is malformed, is a function of that row and the schema:
// values are encoded one by one as package table encodes them. So one row more is one record
// more, and what holds of records holds of rows. Fingerprint and sketch are of the
// table, by which the ledger knows it again however it is read.
//
// # What stays inside
//
// No content of a record is in an error, in the index or in any other file that the
// package writes. Errors carry a code and an ordinal, the place of a record in its
// source, counted from 1. The index holds ordinals, offsets, and keyed hashes; the key
// is drawn from the operating system and lies in the private folder, mode 0600. Column
// names are public.
//
// The index keeps 40 bits of a keyed checksum for each record, and [Data.Fetch]
// compares: a record that is not the one that was enrolled gives [Changed], not a
// draw from other data than was accounted for.
package record
