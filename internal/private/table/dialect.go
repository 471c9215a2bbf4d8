package table

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// Class is what a database holds in a column.
type Class uint8

// The classes.
const (
	// Opaque values cannot be used: lists, documents, bytes.
	Opaque Class = iota
	// Text is everything that reads as text, times and booleans included.
	Text
	// Int and Float are numbers that a double holds, or the nearest one to them.
	Int
	Float
	// Decimal numbers may be beyond what a double holds.
	Decimal
	// Any: values have types, columns do not (SQLite).
	Any
)

// Dialect is how a database writes SQL. Expressions are given and returned as text; they
// name columns that this package quotes, and parameters, never values.
type Dialect struct {
	// Name of the database, in messages.
	Name string
	// Double, Integer and String are the names of types: a float64, an int64, a text.
	Double, Integer, String string
	// Least and Greatest are functions of two numbers.
	Least, Greatest string
	// Param writes the n-th parameter, from 1.
	Param func(n int) string
	// IsNaN writes a condition; nil where there is no NaN.
	IsNaN func(x string) string
	// Plain makes a text of any column of class Text or Int that compares by its bytes.
	Plain func(x string) string
	// Trim removes any of some characters at both ends.
	Trim func(x, characters string) string
	// FromDecimal makes a double of a column of class Decimal, by rounding to the nearest
	// and never by an error; nil if that cannot be had.
	FromDecimal func(x string) string
	// Address is an expression that distinguishes the rows of a table, as text: empty if
	// there is none.
	Address string
	// Hash writes a pseudorandom function of a text, which compares as Threshold does. The
	// key is a parameter, in the form that Key gives it.
	Hash func(key, text string) string
	Key  func(key [32]byte) any
	// Threshold is what hashes are below with probability t/2^64.
	Threshold func(t uint64) any
	// Slow: a scan takes less time than to let the database add up.
	Slow bool
	// Sets: GROUP BY takes GROUPING SETS.
	Sets bool
	// Fence ends a SELECT that is not to be merged into the one around it, so that what it
	// computes is computed once for each row.
	Fence string
	// Classify says what a type is, by the name that the driver gives it.
	Classify func(name string) Class
}

// number reports whether columns of a class are numbers to the database.
func (c Class) number() bool { return c == Int || c == Float || c == Decimal }

// engine runs statements on a database that is open, all of them on one state of it.
type engine interface {
	dialect() *Dialect
	// describe names the columns of what is read, and what they hold. It reads no row.
	describe(ctx context.Context, from string) ([]string, []Class, error)
	// query hands out rows until one fails. Cells are valid until the next.
	query(ctx context.Context, statement string, args []any, row func(cells []cell) error) error
	// begin holds the state of the database until the end, for one caller at a time. With
	// ordered, rows come in the same order every time.
	begin(ctx context.Context, ordered bool) (end func(), err error)
	// place names the database in a way that does not depend on what is in it.
	place(ctx context.Context) ([]string, error)
	// identity is the name of a table in a form that all ways to write it share.
	identity(ctx context.Context, name []string) ([]string, error)
	// addressed reports whether rows of a table have an address.
	addressed(ctx context.Context, name []string) bool
	close() error
}

// cell is a value from a database.
type cell struct {
	kind   cellForm
	text   []byte
	number float64
	whole  int64
}

type cellForm uint8

const (
	nullCell cellForm = iota
	textCell
	numberCell
	wholeCell
	otherCell
)

// cell puts a value into a sheet.
func (s *sheet) cell(row, column int, c cell) {
	if column == s.p.unitColumn() {
		s.text(row, column, c.name())
		return
	}
	if why := c.encode(s.p.columns[column].e, &s.batch.Columns[column], row); why != 0 {
		s.refuse(row, column, why)
	}
}

// encode writes the value at a row of a vector.
func (c cell) encode(e *Encoding, to *Vector, row int) Reason {
	switch c.kind {
	case nullCell:
		return e.Null(to, row)
	case textCell:
		return e.Text(to, row, c.text)
	case numberCell:
		return e.Number(to, row, c.number)
	case wholeCell:
		return e.Int(to, row, c.whole)
	}
	return origin.ValueWrongKind
}

// name is the text of a cell that names a unit; none for a missing one.
func (c cell) name() []byte {
	switch c.kind {
	case textCell:
		return c.text
	case numberCell:
		return strconv.AppendFloat(nil, c.number+0, 'f', -1, 64)
	case wholeCell:
		return strconv.AppendInt(nil, c.whole, 10)
	}
	return nil
}

// quote writes a name. The only character that could end it is doubled.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteAll(parts []string) string {
	var out []string
	for _, p := range parts {
		out = append(out, quote(p))
	}
	return strings.Join(out, ".")
}

// splitName takes the name of a table apart at its points. A part in double quotes may
// have points in it.
func splitName(name string) ([]string, error) {
	bad := origin.Refuse("table %q: write table or schema.table, with double quotes around a name that has a point in it", name)
	var parts []string
	for rest := name; ; {
		var part string
		if strings.HasPrefix(rest, `"`) {
			end, ok := rows.ClosingQuote([]byte(rest), 1)
			if !ok {
				return nil, bad
			}
			part, rest = strings.ReplaceAll(rest[1:end], `""`, `"`), rest[end+1:]
			if rest != "" && rest[0] != '.' {
				return nil, bad
			}
		} else {
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			part, rest = rest[:end], rest[end:]
		}
		if part == "" || strings.ContainsRune(part, 0) {
			return nil, bad
		}
		parts = append(parts, part)
		if rest == "" {
			break
		}
		rest = rest[1:]
	}
	if len(parts) > 3 {
		return nil, bad
	}
	return parts, nil
}

func held(name string) error {
	return &Error{Code: origin.Unreadable, Msg: fmt.Sprintf("%s fails while it reads the rows (its message is held back: it could quote one)", name)}
}
