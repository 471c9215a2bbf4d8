package prompt

import "github.com/sotto-dp/sotto/internal/document"

// Problem is one problem of a task: where it is, what it is, and what to do about it. A
// task with a warning can be used, but may not do what is meant.
type Problem = document.Problem

// InvalidError lists all that is wrong with a task.
type InvalidError = document.InvalidError

// UnknownError reports that there is no such task.
type UnknownError = document.UnknownError
