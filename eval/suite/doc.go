// Package suite runs declarative comparisons: a file lists data sets, methods, values of
// ε and seeds, and every combination becomes a row of results.
package suite
