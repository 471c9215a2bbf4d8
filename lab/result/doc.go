// Package result keeps the results of suites in files.
//
// A [Row] is one demonstration set, made by one method from one seed, measured on one list
// of test items with one model. Package suite makes rows, package stat tests whether two
// lists of them differ, package report shows them. They are NOT PRIVATE: suites are seeded,
// so that they can be repeated. Rows hold numbers and public words, never a text.
package result
