package record

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// findColumns says which roles each column of a header has.
func findColumns(names []string, o *Options) ([][]int, error) {
	roles := make([][]int, len(names))
	for role, column := range o.columns() {
		if column == "" {
			continue
		}
		at := slices.Index(names, column)
		if at < 0 {
			return nil, noColumn(column, names)
		}
		if slices.Index(names[at+1:], column) >= 0 {
			return nil, &Error{Code: Columns, Msg: fmt.Sprintf("there are two columns %q: rename one", column)}
		}
		roles[at] = append(roles[at], role)
	}
	return roles, nil
}

// isHeader reports whether the first row of a file may be one: it has a column that is
// asked for. Without any it may as well be a record, whose content nobody is told.
func isHeader(names []string, o *Options) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		columns := o.columns()
		return n != "" && slices.Contains(columns[:], n)
	})
}

func noColumn(column string, names []string) error {
	return &Error{Code: Columns, Msg: fmt.Sprintf("there is no column %q: %s", column, listColumns(names))}
}

const (
	maxNames   = 20
	maxNameLen = 40
)

// listColumns tells the columns that exist, unless they do not look like names: in a
// file without a header they are the content of a record.
func listColumns(names []string) string {
	if len(names) == 0 {
		return "the source has no columns"
	}
	for _, n := range names {
		if !looksLikeName(n) {
			return fmt.Sprintf("the first row has %d fields, which do not look like names of columns: is there a header row?", len(names))
		}
	}
	quoted := make([]string, 0, maxNames)
	for _, n := range names[:min(len(names), maxNames)] {
		quoted = append(quoted, fmt.Sprintf("%q", n))
	}
	list := strings.Join(quoted, ", ")
	if more := len(names) - maxNames; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return "the columns are " + list
}

// looksLikeName accepts what people call columns: at most three words of letters,
// digits and marks, beginning with a letter.
func looksLikeName(s string) bool {
	if len(s) > maxNameLen || strings.Count(s, " ") > 2 {
		return false
	}
	first, _ := utf8.DecodeRuneInString(s)
	if !unicode.IsLetter(first) && first != '_' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" _-.:;/()", r)
	})
}
