package prompt

import "github.com/sotto-dp/sotto/internal/document"

// Problem is one problem of a task: where it is, what it is, and what to do about it. A
// task with a warning can be used, but may not do what is meant.
type Problem = document.Problem

// InvalidError lists everything that is wrong with a task.
type InvalidError struct {
	// Name of the task or path of its file.
	Name string
	// Problems are those found, warnings among them.
	Problems []Problem
}

func (e *InvalidError) Error() string { return document.Invalid("task", e.Name, e.Problems) }

// UnknownError reports that there is no such task.
type UnknownError struct {
	Name string
	// Near are built-in tasks with similar names.
	Near []string
}

func (e *UnknownError) Error() string { return shelf.Unknown(e.Name, e.Near) }
