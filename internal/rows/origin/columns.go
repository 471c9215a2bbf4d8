package origin

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/sys/spell"
)

// NoColumn is the error for a column that does not exist among some. Their names are not
// shown: keys of JSON objects may be data, and in a file without a header the first row is
// a record. Only another spelling of the name that was asked for is.
func NoColumn(column string, names []string) error {
	if len(names) == 0 {
		return &Error{Code: Columns, Msg: fmt.Sprintf("there is no column %q: the source has no columns", column)}
	}
	if other := spell.Variant(column, names); other != "" {
		return &Error{Code: Columns, Msg: fmt.Sprintf("there is no column %q, but %q: write it so", column, other)}
	}
	return &Error{Code: Columns, Msg: fmt.Sprintf("there is no column %q among the %d of the source: see there what it is called (the names are not shown here, because they may be content)", column, len(names))}
}
