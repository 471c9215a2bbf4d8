package table

import (
	"cmp"
	"slices"

	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/schema"
)

// OnError says what becomes of rows that the schema refuses.
type OnError = origin.OnError

// The ways to treat rows that the schema refuses: to refuse a source that has any, or to leave
// them out and count them.
const (
	Fail = origin.OnErrorFail
	Skip = origin.OnErrorSkip
)

// Options say what is read from a source, and how.
type Options struct {
	// Schema has the columns. Required.
	Schema schema.Schema
	// Discrete reads numeric columns that have edges as codes of their bins; otherwise
	// all numeric columns are read as steps.
	Discrete bool
	// Format is csv, jsonl, json, parquet, xlsx or sql; empty finds out from the end of
	// the name, before .gz or .zst, or from the scheme (postgres://, sqlite:).
	Format origin.Format
	// Table or Query names the rows of an SQL source: a table, with its schema before a
	// point if need be, or a query.
	Table, Query string
	// Unit is the column whose values name the unit of privacy; empty for rows.
	Unit string
	// OnError is Fail by default.
	OnError origin.OnError
	// Private is the private folder, with the key of fingerprints and units. It is made
	// if it does not exist. Required for both.
	Private string
	// Progress, if not nil, is called during a scan with how many bytes of how many were read;
	// total is 0 when it is not known. Calls do not overlap.
	Progress func(read, total int64)

	open func(string) (origin.File, error) // for tests
}

func (o *Options) check() error {
	if len(o.Schema.Columns) == 0 {
		return origin.Refuse("the schema has no columns: name those that are read")
	}
	if err := o.OnError.Check(); err != nil {
		return err
	}
	switch {
	case o.Unit != "" && o.Private == "":
		return origin.Refuse("units of privacy are known by a keyed hash: name the private folder, which has the key")
	case o.Table != "" && o.Query != "":
		return origin.Refuse("there are a table and a query: name one of them")
	}
	return nil
}

// wanted are the columns that are read: those of the schema, then that of units.
func (o *Options) wanted() (names []string) {
	for _, c := range o.Schema.Columns {
		names = append(names, c.Name)
	}
	if o.Unit != "" {
		names = append(names, o.Unit)
	}
	return names
}

// detect finds the format of a location.
func (o *Options) detect(location string) (origin.Format, error) {
	format := cmp.Or(o.Format, origin.FormatOf(location))
	switch {
	case format == "":
		return "", origin.NoFormat(location)
	case !slices.Contains(origin.Formats(), format):
		return "", origin.Refuse("format %q is not one of %v", format, origin.Formats())
	}
	return format, o.checkNamed(format)
}

// checkNamed finds a database without a table or a query, and files with one.
func (o *Options) checkNamed(format origin.Format) error {
	switch named := o.Table != "" || o.Query != ""; {
	case format == origin.SQL && !named:
		return origin.Refuse("a database has many tables: name one, or give a query that selects the columns")
	case format != origin.SQL && named:
		return origin.Refuse("there is a table or a query, but the format is %s: leave it out, or give a database", format)
	}
	return nil
}
