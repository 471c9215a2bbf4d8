package record

import (
	"slices"

	"github.com/sotto-dp/sotto/internal/rows"
)

// findColumns says which roles each column of a header has.
func findColumns(names []string, o *Options) ([][]int, error) {
	return rows.Find(names, o.wanted(names))
}

// wanted are the columns to read from a source that has these: of a table by the schema,
// those of the schema; of one that is in words already, the texts.
func (o *Options) wanted(names []string) []string {
	columns := o.columns()
	switch {
	case o.Schema == nil:
	case o.inWords(names):
		clear(columns[numRoles:])
	default:
		columns[roleText], columns[roleCondition] = "", ""
	}
	return columns
}

// inWords reports whether a source with these columns has rows of a table in words already:
// it has the column of texts, and not all columns of the schema.
func (o *Options) inWords(names []string) bool {
	for _, c := range o.Schema.Columns {
		if !slices.Contains(names, c.Name) {
			return slices.Contains(names, o.Text)
		}
	}
	return false
}

// isHeader reports whether the first row of a file may be one: it has a column that is
// asked for. Without any it may as well be a record, whose content nobody may see.
func isHeader(names []string, o *Options) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return n != "" && slices.Contains(o.columns(), n)
	})
}
