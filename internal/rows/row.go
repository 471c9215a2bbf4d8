package rows

import (
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// Kind is what a value was in its source.
type Kind uint8

// The kinds.
const (
	Absent   Kind = iota // no such column, or null
	Text                 // a string
	Scalar               // a number or boolean, as text
	Compound             // anything else
)

// Value of a column.
type Value struct {
	Kind Kind
	S    string
}

// Row has the values of the columns that were asked for, in their order, or why they cannot be had.
type Row struct {
	// Place is where the source finds the row again.
	Place  int64
	Values []Value
	Bad    origin.Reason
}

// Reader reads rows one after the other; io.EOF ends them.
type Reader interface {
	Next() (*Row, error)
}

// Sink takes the values of all columns of each row, whatever columns are asked for.
type Sink interface {
	// Cell takes a value, valid until it returns. Column is its place in the header, or -1 where there is none.
	Cell(column int, name string, value []byte)
	// End ends a row. One that is not whole counts for nothing.
	End(whole bool)
}

// Find says of each column of a header which of the wanted it is. An empty name is not wanted.
func Find(names, wanted []string) ([][]int, error) {
	places := make([][]int, len(names))
	for i, column := range wanted {
		if column == "" {
			continue
		}
		at := slices.Index(names, column)
		if at < 0 {
			return nil, origin.NoColumn(column, names)
		}
		if slices.Index(names[at+1:], column) >= 0 {
			return nil, &origin.Error{Code: origin.Columns, Msg: fmt.Sprintf("there are two columns %q: rename one", column)}
		}
		places[at] = append(places[at], i)
	}
	return places, nil
}

// set gives a value to the columns that it is asked for as.
func (r *Row) set(places []int, v Value) {
	for _, i := range places {
		r.Values[i] = v
	}
}
