// Package sketch decides whether two sources hold the same records, from a few kilobytes
// that contain no record.
//
// A sketch is made of bottom-k lists: the k smallest keyed hashes of all rows of a source.
// Two sources with equal rows have equal lists, whatever the order of their rows, and the
// share of one list that is in the other estimates the share of the rows (Bar-Yossef et al.
// 2002; Beyer et al. 2007; Cohen and Kaplan 2007). Below the smaller of the two k-th values
// both lists are complete, so sources of different sizes can be compared too. The trust
// boundary computes the hashes; this package sees nothing else and imports nothing of the
// program.
//
// # Lists
//
// Rows has a hash of every row. LeaveOneOut has every row without one of its columns, for
// each column in turn: it recognises a table with a column added, dropped, renamed or
// rewritten. ReadColumns has the columns that a schema reads. Values has single long
// values, such as texts and addresses, whatever their column is called. [Compare] looks at
// all lists and takes the one with the strongest evidence.
//
// # Populations with many equal rows
//
// Two samples of a population whose rows are not distinct, such as yes/no answers, share
// rows by chance. How often a row occurs twice within one source estimates how often it
// occurs in an independent one, and only matches beyond that count. Where most rows have a
// duplicate in their own source, no sketch can tell a new version from new people. Sources
// that look alike are then [Overlapping], for their owner to decide, unless a hash of the sum
// of all hashes shows that they are equal row by row. (The sum itself would show more: of two
// versions of a source, the difference is the hashes of the rows that came and went.)
//
// # What a sketch reveals
//
// Anyone who has a sketch and the key of the private folder can test whether a row they know
// is in the source: with certainty for a source of up to k rows, and for the k rows with
// the smallest hashes of a larger one. Without the key the hashes are random numbers. They
// reveal about how many distinct rows there are (exactly, below k), what share of them
// occurs more than once, and, between sketches made with the same key, how many rows the
// sources share.
//
// # Errors
//
// A share estimated from m hashes has a standard error of at most 1/(2√m); [Share] has an
// interval. Hashes have 64 bits: lists of k = 1024 from two unrelated sources of n rows
// have a common hash with probability about k·n/2^64, 6e-7 for 10 billion rows. A sketch
// cannot see a small part of a large source: in a source of n rows, a subset of s rows
// leaves about k·s/n hashes, so a subset below 3n/k goes unseen with probability 5 % or
// more.
package sketch
