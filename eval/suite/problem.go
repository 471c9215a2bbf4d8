package suite

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Problem is one thing that is wrong with a suite.
type Problem struct {
	// Line of the file, or 0 if it is not known.
	Line int `json:"line,omitempty"`
	// Where it is: a key of the file, such as items or method[2].epsilon, counted from 1.
	Where string `json:"where"`
	// What is wrong, and what to do about it (Fix).
	What string `json:"what"`
	Fix  string `json:"fix"`
}

func (p Problem) String() string {
	s := fmt.Sprintf("%s: %s; %s", p.Where, p.What, p.Fix)
	if p.Line > 0 {
		return fmt.Sprintf("line %d, %s", p.Line, s)
	}
	return s
}

// InvalidError says all that is wrong with a suite.
type InvalidError struct {
	// Name of the suite or path of its file.
	Name     string
	Problems []Problem
}

func (e *InvalidError) Error() string {
	var all []string
	for _, p := range e.Problems {
		all = append(all, p.String())
	}
	return fmt.Sprintf("suite %s: %s", e.Name, strings.Join(all, "\n  and "))
}

// UnknownError says that there is no such suite.
type UnknownError struct {
	Name string
	// Near are built-in suites with similar names.
	Near []string
}

func (e *UnknownError) Error() string {
	hint := ""
	if len(e.Near) > 0 {
		hint = fmt.Sprintf("; did you mean %s?", strings.Join(e.Near, " or "))
	}
	return fmt.Sprintf("there is no suite %q%s; built in are %s; a suite of your own is a file that ends in .toml",
		e.Name, hint, strings.Join(Builtins(), ", "))
}

// problems collects.
type problems struct {
	list  []Problem
	lines places
}

func (p *problems) wrong(where, what, fix string, args ...any) {
	p.list = append(p.list, Problem{Line: p.lines.of(where), Where: where, What: what, Fix: fmt.Sprintf(fix, args...)})
}

// places are the lines of a file at which tables and keys begin, by their path.
type places map[string]int

var (
	header = regexp.MustCompile(`^\s*(\[\[?)\s*([^\]]+?)\s*\]`)
	assign = regexp.MustCompile(`^\s*("[^"]+"|'[^']+'|[\w.-]+)\s*=`)
)

// lines finds where things are in a TOML file, for messages: the decoder does not tell. A
// key within a line, or within a string of many lines, may be missed or mistaken.
func lines(text string) places {
	out := places{}
	counts := map[string]int{}
	table := ""
	for i, line := range strings.Split(text, "\n") {
		if m := header.FindStringSubmatch(line); m != nil {
			table = unquote(m[2])
			if m[1] == "[[" {
				counts[table]++
				table = fmt.Sprintf("%s[%d]", table, counts[table])
			} else if first, rest, ok := strings.Cut(table, "."); ok && counts[first] > 0 {
				table = fmt.Sprintf("%s[%d].%s", first, counts[first], rest)
			}
			out.add(table, i+1)
		} else if m := assign.FindStringSubmatch(line); m != nil {
			key := unquote(m[1])
			if table != "" {
				key = table + "." + key
			}
			out.add(key, i+1)
		}
	}
	return out
}

func unquote(s string) string { return strings.NewReplacer(`"`, "", `'`, "", " ", "").Replace(s) }

func (p places) add(where string, line int) {
	if _, there := p[where]; !there {
		p[where] = line
	}
}

// of is the line of a key, or else of what it is in.
func (p places) of(where string) int {
	for where != "" {
		if line := p[where]; line > 0 {
			return line
		}
		cut := strings.LastIndexAny(where, ".[")
		if cut < 0 {
			return 0
		}
		where = where[:cut]
	}
	return 0
}

var index = regexp.MustCompile(`\[\d+\]`)

// like lists the keys that are the same but for which element of a list they are in, in
// the order of the file.
func (p places) like(key toml.Key) []string {
	want := strings.Join(key, ".")
	var out []string
	for where := range p {
		if index.ReplaceAllString(where, "") == want {
			out = append(out, where)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return p[a] - p[b] })
	return out
}

// keysOf lists what a table of a suite file may say; nil if there is no such table.
func keysOf(table toml.Key) []string {
	switch {
	case len(table) == 0:
		return tags(reflect.TypeFor[Suite]())
	case len(table) == 1 && table[0] == "dataset":
		return tags(reflect.TypeFor[Dataset]())
	case len(table) == 1 && table[0] == "method":
		return tags(reflect.TypeFor[Method]())
	case len(table) == 3 && table[0] == "method" && table[1] == "on":
		return tags(reflect.TypeFor[Settings]())
	case len(table) == 1 && table[0] == "published":
		return tags(reflect.TypeFor[Published]())
	}
	return nil
}

func tags(of reflect.Type) []string {
	var out []string
	for i := range of.NumField() {
		f := of.Field(i)
		switch tag := f.Tag.Get("toml"); {
		case tag != "":
			out = append(out, tag)
		case f.Anonymous:
			out = append(out, tags(f.Type)...)
		}
	}
	return out
}
