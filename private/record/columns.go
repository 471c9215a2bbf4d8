package record

import (
	"fmt"
	"slices"

	"sotto/private/internal/origin"
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
			return nil, origin.NoColumn(column, names)
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
