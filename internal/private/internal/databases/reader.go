package databases

import (
	"context"
	"strconv"

	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// DB reads rows of a database that is open: for records and tables alike. One pass runs at a time,
// and sees one state of the database.
type DB interface {
	// Describe names the columns of a query, and what they hold. It reads no row.
	Describe(ctx context.Context, query string) ([]Column, error)
	// Scan hands out the rows of a query until one fails: in the same order each time, if the
	// query says one or is of a plain table. Cells are valid until row returns.
	Scan(ctx context.Context, query string, row func(cells []Cell) error) error
	// Fetch hands out the rows at some places, counted from 0 and strictly increasing. It returns
	// how many of them there were.
	Fetch(ctx context.Context, query string, places []int64, row func(i int, cells []Cell) error) (int, error)
	// Place names the database in a way that does not depend on what is in it.
	Place(ctx context.Context) ([]string, error)
	// Identity is the name of a table in a form that all ways to write it share.
	Identity(ctx context.Context, name []string) ([]string, error)
	Close() error
}

// Open opens a PostgreSQL server or an SQLite file.
func Open(ctx context.Context, location string) (DB, error) {
	if origin.IsPostgres(location) {
		return openPostgres(ctx, location)
	}
	return openSQLite(ctx, location)
}

// Column is one of a query.
type Column struct {
	Name  string
	Class Class
	// Declared is the name of a type, where Class does not say enough.
	Declared string
}

// Names are those of columns.
func Names(columns []Column) (names []string) {
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

// Class is what a column or a value is.
type Class uint8

// The classes.
const (
	// Opaque values cannot be used: lists, documents, bytes.
	Opaque Class = iota
	// Text, and Scalar: what is none and reads as text, such as times and booleans.
	Text
	Scalar
	// Whole and Float are numbers that a double holds, or the nearest one to them.
	Whole
	Float
	// Decimal numbers may be beyond what a double holds.
	Decimal
	// Any: values have types, columns do not (SQLite).
	Any
)

// Number reports whether columns of a class are numbers to the database.
func (c Class) Number() bool { return c == Whole || c == Float || c == Decimal }

// Cell is a value.
type Cell struct {
	Class Class
	// Null: there is none.
	Null bool
	// text of the value; nil if it is a number by itself.
	text   []byte
	whole  int64
	number float64
	bits   int // of a number that is there as text
}

// Append writes the value as text; nothing for a missing one.
func (c *Cell) Append(room []byte) []byte {
	switch {
	case c.Null:
		return room
	case c.text != nil:
		return append(room, c.text...)
	case c.Class == Whole:
		return strconv.AppendInt(room, c.whole, 10)
	case c.Class == Float:
		return strconv.AppendFloat(room, c.number, 'g', -1, 64)
	}
	return room
}

// Value is the value as records have it.
func (c *Cell) Value() rows.Value {
	switch {
	case c.Null:
		return rows.Value{}
	case c.Class == Opaque:
		return rows.Value{Kind: rows.Compound}
	case c.Class == Text:
		return rows.Value{Kind: rows.Text, S: string(c.text)}
	}
	var room [32]byte
	return rows.Value{Kind: rows.Scalar, S: string(c.Append(room[:0]))}
}

// Text is that of a value that is no number; nil if there is none.
func (c *Cell) Text() []byte { return c.text }

// Whole is a whole number.
func (c *Cell) Whole() int64 {
	if c.text != nil {
		x, _ := strconv.ParseInt(string(c.text), 10, 64) // the database wrote it
		return x
	}
	return c.whole
}

// Float is a number.
func (c *Cell) Float() float64 {
	if c.text != nil {
		x, _ := strconv.ParseFloat(string(c.text), c.bits) // the same
		return x
	}
	return c.number
}
