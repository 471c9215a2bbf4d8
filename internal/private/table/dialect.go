package table

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// class is what a database holds in a column.
type class uint8

// The classes.
const (
	// opaque values cannot be used: lists, documents, bytes.
	opaque class = iota
	// text is everything that reads as text, times and booleans included.
	text
	// whole and float are numbers that a double holds, or the nearest one to them.
	whole
	float
	// decimal numbers may be beyond what a double holds.
	decimal
	// anything: values have types, columns do not (SQLite).
	anything
)

// dialect has the names of types, in a database: a float64 and a text.
type dialect struct{ double, text string }

// number reports whether columns of a class are numbers to the database.
func (c class) number() bool { return c == whole || c == float || c == decimal }

// engine runs statements on a database that is open, all of them on one state of it.
type engine interface {
	dialect() dialect
	// describe names the columns of what is read, and what they hold. It reads no row.
	describe(ctx context.Context, from string) ([]string, []class, error)
	// query hands out rows until one fails. Cells are valid until the next.
	query(ctx context.Context, statement string, row func(cells []cell) error) error
	// begin holds the state of the database until the end, for one caller at a time. Rows come
	// in the same order every time.
	begin(ctx context.Context) (end func(), err error)
	// place names the database in a way that does not depend on what is in it.
	place(ctx context.Context) ([]string, error)
	// identity is the name of a table in a form that all ways to write it share.
	identity(ctx context.Context, name []string) ([]string, error)
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
