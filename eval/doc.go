// Package eval reads public files of test questions and of texts that are to be labelled.
//
// Nothing in here is private, and nothing may be.
package eval
