// Package document reads TOML files that people write, and tells them everything that is
// wrong at once: where it is, what it is, and what to do about it.
//
// Files are read strictly. A key that means nothing is a problem, never ignored: a setting
// with a typing error in it would otherwise silently take its default.
package document

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	// Line of the file, or 0 if it is not known.
	Line int `json:"line,omitempty"`
	// Where it is: a key of the file, such as generate.instruction or labels[2],
	// counted from 1.
	Where string `json:"where"`
	// What is wrong, and what to do about it (Fix).
	What string `json:"what"`
	Fix  string `json:"fix"`
	// Warning: the file can be used, but may not do what is meant.
	Warning bool `json:"warning"`
}

func (p Problem) String() string {
	s := fmt.Sprintf("%s: %s; %s", p.Where, p.What, p.Fix)
	if p.Line > 0 {
		return fmt.Sprintf("line %d, %s", p.Line, s)
	}
	return s
}

// Valid reports whether there are nothing but warnings.
func Valid(list []Problem) bool {
	return !slices.ContainsFunc(list, func(p Problem) bool { return !p.Warning })
}

// Invalid is the message about a file, of a kind of document such as a task, that cannot
// be used.
func Invalid(kind, name string, list []Problem) string {
	var wrong []string
	for _, p := range list {
		if !p.Warning {
			wrong = append(wrong, p.String())
		}
	}
	return fmt.Sprintf("%s %s: %s", kind, name, strings.Join(wrong, "\n  and "))
}

// Problems collects what is wrong with a document. Its zero value knows no lines.
type Problems struct {
	List  []Problem
	lines lines
}

// Wrong adds a problem. The fix may have verbs of fmt for args.
func (p *Problems) Wrong(where, what, fix string, args ...any) { p.add(false, where, what, fix, args) }

// Warn adds a warning.
func (p *Problems) Warn(where, what, fix string, args ...any) { p.add(true, where, what, fix, args) }

func (p *Problems) add(warning bool, where, what, fix string, args []any) {
	p.List = append(p.List, Problem{
		Line: p.lines.of(where), Where: where, What: what, Fix: fmt.Sprintf(fix, args...), Warning: warning,
	})
}
