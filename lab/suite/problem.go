package suite

import "github.com/sotto-dp/sotto/internal/sys/document"

// Problem is one thing that is wrong with a suite: where it is, what it is, and what to do
// about it.
type Problem = document.Problem

// InvalidError lists all that is wrong with a suite.
type InvalidError = document.InvalidError

// UnknownError reports that there is no such suite.
type UnknownError = document.UnknownError
