// Package document reads TOML files that people write, and reports everything that is
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
	// Line and Column of the file, from 1, or 0 if they are not known.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
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
	return fmt.Sprintf("%s: %s; %s", p.Place(), p.What, p.Fix)
}

// Place returns the line and the key of the file; the column too where no key says more.
func (p Problem) Place() string {
	switch {
	case p.Line == 0:
		return p.Where
	case p.Column > 0 && p.Where == "file":
		return fmt.Sprintf("line %d, column %d", p.Line, p.Column)
	}
	return fmt.Sprintf("line %d, %s", p.Line, p.Where)
}

// Valid reports whether there are nothing but warnings.
func Valid(list []Problem) bool {
	return !slices.ContainsFunc(list, func(p Problem) bool { return !p.Warning })
}

// Join returns the message about all problems but warnings.
func Join(list []Problem) string {
	var wrong []string
	for _, p := range list {
		if !p.Warning {
			wrong = append(wrong, p.String())
		}
	}
	return strings.Join(wrong, "\n  and ")
}

// Problems collects what is wrong with a document. Its zero value knows no lines.
type Problems struct {
	List   []Problem
	places *places
}

// Keys lists the tables and keys that the file has, in its order, as paths such as
// limits.shots or part[2].size.
func (p *Problems) Keys() []string {
	if p.places == nil {
		return nil
	}
	return p.places.keys
}

// Wrong adds a problem. The fix may have verbs of fmt for args.
func (p *Problems) Wrong(where, what, fix string, args ...any) { p.add(false, where, what, fix, args) }

// Warn adds a warning.
func (p *Problems) Warn(where, what, fix string, args ...any) { p.add(true, where, what, fix, args) }

func (p *Problems) add(warning bool, where, what, fix string, args []any) {
	line, column := p.places.of(where)
	p.List = append(p.List, Problem{
		Line: line, Column: column, Where: where, What: what, Fix: fmt.Sprintf(fix, args...), Warning: warning,
	})
}
