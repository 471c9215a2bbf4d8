package suite

import "github.com/sotto-dp/sotto/internal/document"

// Problem is one thing that is wrong with a suite: where it is, what it is, and what to do
// about it.
type Problem = document.Problem

// InvalidError says all that is wrong with a suite.
type InvalidError struct {
	// Name of the suite or path of its file.
	Name     string
	Problems []Problem
}

func (e *InvalidError) Error() string { return document.Invalid("suite", e.Name, e.Problems) }

// UnknownError says that there is no such suite.
type UnknownError struct {
	Name string
	// Near are built-in suites with similar names.
	Near []string
}

func (e *UnknownError) Error() string { return shelf.Unknown(e.Name, e.Near) }

// problems collects.
type problems document.Problems

func (p *problems) wrong(where, what, fix string, args ...any) {
	(*document.Problems)(p).Wrong(where, what, fix, args...)
}
