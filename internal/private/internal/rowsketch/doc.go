// Package rowsketch makes the sketch of a source from its rows, as they are before any task
// or schema is applied to them.
//
// It is made of canonical rows: what another program may change about a row without
// changing the record is removed first. That is the order of rows and columns, the format
// and the encoding; white space at the ends of a value and how much there is inside it;
// composed and decomposed letters; how a number, a truth value or a time is written
// (54, 54.0 and 5.4e1 are one number); whether a missing value is null, empty or not there;
// and capitals in the names of columns. So the same records give the same hashes from CSV,
// JSON, Parquet and databases.
//
// # Hashes
//
// A value is hashed by CBC-MAC with AES-128 over its length and its bytes, a pseudorandom
// function since no such encoding begins another one (Bellare, Kilian and Rogaway 2000).
// The hash of a value and its column is an affine function of that with secret
// coefficients of the column; the hash of a row is AES of the sum of these: a keyed hash of
// the multiset of cells, from which one cell can be taken out again. All have 64 bits, and
// all keys come from that of the private folder. AES is in the processor: a short cell
// takes about 30 ns.
package rowsketch
