// Package schema defines tables: their columns, the values of these, and how a row is put
// into words.
//
// A schema is public. It is written without looking at the rows: bounds,
// bins, domains and templates are knowledge about the subject, never statistics of the
// data. So nothing here costs privacy, and nothing here may ever be filled in from private
// rows. (A program that cuts a column at its private mean has published that mean.) Names
// and kinds of columns may be taken from a header or from a catalogue of a database
// ([Infer]); values may not.
//
// # Values
//
// Every value has a place: a code of a discrete column, or a number within the bounds of a
// numeric one ([Encoder]). What is outside is mapped by the rule that the column declares,
// or refused, and never guessed:
//
//	                     categorical                     numeric
//	not listed, outside  other = "value"                 clamp = true
//	empty, NULL, NaN     missing = "value"               missing = "number"
//	another spelling     aliases = { "?" = "value" }     aliases = { "?" = "" }: missing
//
// The guarantees of tables rest on this: a number that is used lies within its bounds and a
// code within its domain, whatever the data holds, so that one row moves a sum or a count
// by no more than the schema allows. Tests check it for every text and every number.
//
// # Words
//
// A template has {column} where the phrase of a value goes, and {column.form} for another
// form of it, such as a pronoun; braces that are meant are written twice. A row in words
// depends on that row and the schema alone, and does not hold the label, which the question
// asks for ([Schema.Text], [Schema.Answer], [Schema.Task]).
//
// # Files
//
// A schema is a TOML file. Those of [Builtins] are in the folder schemas and serve as
// examples: they are for the eight data sets of Carey et al., "DP-TabICL: In-Context
// Learning with Differentially Private Tabular Data" (2024), each in the two variants of
// tables VIII (few values a column, for local privacy: NAME-local) and IX (for profiles).
// [Parse] reports all problems of a file at once.
package schema
