package table

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/schema"
)

// ErrInRecords is what Describe refuses JSON with.
var ErrInRecords = origin.Refuse("the columns of JSON are keys of its records, which are not read for this, since they may be content: write the names of the columns yourself")

// Describe returns names and kinds of the columns of a table, to start a schema from. It shows
// the header of a CSV file or a sheet, the footer of a Parquet file
// or the catalogue of a database, and nothing of a row. A kind that these do not show is "": a
// CSV file has none. Records of JSON have no such place: see [ErrInRecords].
//
// Of the options, Format, Table and Query count, and Private for a file that is encrypted.
func Describe(ctx context.Context, location string, o Options) ([]string, []schema.Kind, error) {
	if o.Table != "" && o.Query != "" {
		return nil, nil, origin.Refuse("there are a table and a query: name one of them")
	}
	format, err := o.detect(location)
	if err != nil {
		return nil, nil, err
	}
	if format == origin.SQL {
		return describeDatabase(ctx, location, o)
	}
	if format == origin.ParquetFile {
		f, info, err := origin.Open(location, o.open)
		if err != nil {
			return nil, nil, err
		}
		defer f.Close()
		p, err := origin.Parquet(f, info)
		if err != nil {
			return nil, nil, err
		}
		return describeParquet(p)
	}
	for _, format := range []origin.Format{format, origin.FormatOf(location)} {
		if format == origin.JSON || format == origin.JSONL {
			return nil, nil, ErrInRecords
		}
	}
	f, err := rows.OpenText(location, format, false, o.open)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if err := f.Begin(nil); err != nil {
		return nil, nil, err
	}
	return describeCSV(f.Head.Names)
}

// describeCSV takes the first row. A file without a header has a row of data there, which
// must not be taken for names and shown.
func describeCSV(names []string) ([]string, []schema.Kind, error) {
	if first := strings.TrimSpace(names[0]); strings.HasPrefix(first, "{") || strings.HasPrefix(first, "[") {
		return nil, nil, ErrInRecords // whatever the name of the file says
	}
	for i, name := range names {
		_, err := strconv.ParseFloat(strings.TrimSpace(name), 64)
		if err == nil || strings.TrimSpace(name) == "" || slices.Contains(names[:i], name) {
			return nil, nil, origin.Refuse("the first row has a number, an empty field or the same text twice, and so looks like a row of data: put the names of the columns there")
		}
	}
	return names, make([]schema.Kind, len(names)), nil
}

func describeParquet(p *parquet.File) (names []string, kinds []schema.Kind, err error) {
	err = origin.Calm(func() error {
		for _, c := range p.Root().Columns() {
			names, kinds = append(names, c.Name()), append(kinds, parquetKind(c))
		}
		return nil
	})
	return names, kinds, err
}

// parquetKind is not known of columns that cannot be read, and of identifiers.
func parquetKind(c *parquet.Column) schema.Kind {
	k := kindOf(c)
	switch {
	case !k.known || k.uuid:
		return ""
	case k.physical == parquet.ByteArray || k.physical == parquet.Boolean:
		return schema.Categorical
	}
	return schema.Numeric
}

// describeDatabase asks the catalogue.
func describeDatabase(ctx context.Context, location string, o Options) (names []string, kinds []schema.Kind, err error) {
	clause, _, err := from(&o)
	if err != nil {
		return nil, nil, err
	}
	db, err := databases.Open(ctx, location)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	columns, err := db.Describe(ctx, "SELECT * FROM "+clause)
	for _, c := range columns {
		kind := declaredKind(c.Declared)
		switch {
		case c.Class.Number():
			kind = schema.Numeric
		case c.Class == databases.Text:
			kind = schema.Categorical
		}
		kinds = append(kinds, kind)
	}
	return databases.Names(columns), kinds, err
}

// declaredKind goes by the words that SQLite itself goes by for a column's affinity.
func declaredKind(declared string) schema.Kind {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToUpper(declared), w) })
	}
	switch {
	case has("INT", "REAL", "FLOA", "DOUB", "NUM", "DEC"):
		return schema.Numeric
	case has("CHAR", "CLOB", "TEXT", "BOOL"):
		return schema.Categorical
	}
	return ""
}
