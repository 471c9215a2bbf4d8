package origin

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NoColumn is the error for a column that does not exist among some.
func NoColumn(column string, names []string) error {
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
