package prompt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Problem is one thing that is wrong with a task.
type Problem struct {
	// Where it is: a key of the file, such as generate.instruction or labels[2],
	// counted from 1.
	Where string `json:"where"`
	// What is wrong, and what to do about it (Fix).
	What string `json:"what"`
	Fix  string `json:"fix"`
	// Warning: the task can be used, but may not do what is meant.
	Warning bool `json:"warning"`
}

func (p Problem) String() string { return fmt.Sprintf("%s: %s; %s", p.Where, p.What, p.Fix) }

// InvalidError says all that is wrong with a task.
type InvalidError struct {
	// Name of the task or path of its file.
	Name string
	// Problems are those found, warnings among them.
	Problems []Problem
}

func (e *InvalidError) Error() string {
	var wrong []string
	for _, p := range e.Problems {
		if !p.Warning {
			wrong = append(wrong, p.String())
		}
	}
	return fmt.Sprintf("task %s: %s", e.Name, strings.Join(wrong, "\n  and "))
}

// UnknownError says that there is no such task.
type UnknownError struct {
	Name string
	// Near are built-in tasks with similar names.
	Near []string
}

func (e *UnknownError) Error() string {
	hint := ""
	if len(e.Near) > 0 {
		hint = fmt.Sprintf("; did you mean %s?", strings.Join(e.Near, " or "))
	}
	return fmt.Sprintf("there is no task %q%s; built in are %s; a task of your own is a file that ends in .toml",
		e.Name, hint, strings.Join(Builtins(), ", "))
}

// problems collects.
type problems []Problem

func (p *problems) wrong(where, what, fix string, args ...any) {
	*p = append(*p, Problem{Where: where, What: what, Fix: fmt.Sprintf(fix, args...)})
}

func (p *problems) warn(where, what, fix string, args ...any) {
	*p = append(*p, Problem{Where: where, What: what, Fix: fmt.Sprintf(fix, args...), Warning: true})
}

// valid reports whether nothing but warnings was found.
func (p problems) valid() bool {
	return !slices.ContainsFunc(p, func(p Problem) bool { return !p.Warning })
}

// shorten quotes a value in a message only as far as it helps.
func shorten(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
