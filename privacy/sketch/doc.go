// Package sketch tells whether two sources hold the same records, from a few kilobytes
// that contain no record.
//
// A sketch is made of bottom-k lists: of all rows of a source, the k smallest keyed hashes.
// Two sources with equal rows have equal lists, whatever the order of their rows, and the
// share of one list that is in the other estimates the share of the rows (Bar-Yossef et
// al. 2002; Beyer et al. 2007; Cohen and Kaplan 2007). Below the smaller of the two k-th
// values both lists are complete, so that sources of different sizes compare as well.
// Package private computes the hashes; this package sees nothing else, and imports
// nothing of the program.
//
// # Lists
//
// Rows has a hash of every row. Less has the rows without one of their columns, for each
// column in turn: it recognises a table with a column added, dropped, renamed or
// rewritten. Read has the columns that a schema reads. Values has single long values,
// such as texts and addresses, whatever their column is called. [Compare] looks at all of
// them and believes the one that finds most.
//
// # Rows that are alike by nature
//
// Two samples of a population share rows by chance, if its rows are not distinct: answers
// of yes and no. How often a row occurs twice within one source estimates how often it
// occurs in an independent one, and only what goes beyond that counts. Where most rows have
// an equal in their own source, no sketch can tell a new version from new people: sources
// that then look alike are Partly the same, for their owner to decide, unless the sum of
// the hashes of all rows shows that they are equal row by row.
//
// # What a sketch reveals
//
// Whoever has a sketch and the key of the private folder can test whether a row that they
// know is in the source: with certainty for a source of up to k rows, and for the k rows
// of a larger one that have the smallest hashes. Without the key the hashes are random
// numbers: they reveal about how many distinct rows there are (exactly, below k), which
// part of them occurs more than once, and, between sketches of the same key, how many rows
// the sources share.
//
// # Errors
//
// A share estimated from m hashes has a standard error of at most 1/(2√m); [Share] has an
// interval. Hashes have 64 bits: lists of k = 1024 from two unrelated sources of n rows
// have a common hash with probability of about k·n/2^64, 6e-7 for 10 billion rows. What a
// sketch cannot see is a small part of a large source: of a source with n rows, a subset
// of s rows leaves about k·s/n hashes, so that one below 3n/k goes unseen with
// probability 5 % or more.
package sketch
