package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Largest is how many bytes of rows are made at most: they are in memory.
const Largest = 1 << 30

// Error says what is wrong with a file and what to do, and never quotes content.
type Error struct{ Msg string }

func (e *Error) Error() string { return e.Msg }

func refuse(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

var errLarge = refuse("it holds more than %d MiB of rows, and files of this kind are read into memory: save it as Parquet or CSV, which are read piece by piece", Largest>>20)

// calm runs a decoder, whose panics about places that are not there mean a damaged file.
func calm(what string, do func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = damaged(what)
		}
	}()
	if err = do(); err == nil {
		return nil
	}
	if known := (*Error)(nil); errors.As(err, &known) {
		return known
	}
	return damaged(what) // errors of libraries may quote content
}

func damaged(what string) error {
	return refuse("the %s cannot be read: it is damaged or of another format; save it again", what)
}

// Rows collects a table as comma-separated values.
type Rows struct {
	out bytes.Buffer
	// Names of the columns, once there is a header.
	Names    []string
	maxCells int
	at       int
	// places of the columns and cells of a row, of records whose keys come in any order.
	places map[string]int
	cells  []json.RawMessage
}

// NewRows returns an empty table.
func NewRows() *Rows { return &Rows{maxCells: Largest} }

// Bytes are the rows, with their header.
func (r *Rows) Bytes() []byte { return r.out.Bytes() }

// Header begins the table.
func (r *Rows) Header(names []string) error {
	if len(names) == 0 {
		return refuse("it has no columns: the first row names them")
	}
	r.Names = names
	for _, n := range names {
		r.Cell([]byte(n))
	}
	return r.End()
}

// Cell adds a value to the present row; nothing is a missing one.
func (r *Rows) Cell(v []byte) {
	if r.at > 0 {
		r.out.WriteByte(',')
	}
	r.at++
	if r.out.Len()+len(v) > r.maxCells {
		return // End refuses it
	}
	if !bytes.ContainsAny(v, ",\"\r\n") && (len(v) > 0 || len(r.Names) > 1) {
		r.out.Write(v)
		return
	}
	r.out.WriteByte('"')
	for {
		n := bytes.IndexByte(v, '"')
		if n < 0 {
			break
		}
		r.out.Write(v[:n+1])
		r.out.WriteByte('"')
		v = v[n+1:]
	}
	r.out.Write(v)
	r.out.WriteByte('"')
}

// End ends the present row.
func (r *Rows) End() error {
	r.out.WriteByte('\n')
	r.at = 0
	if r.out.Len() >= r.maxCells {
		return errLarge
	}
	return nil
}

// Number is a number of a file that has types, as text. One that could be thousands with a
// separator gets a further digit, so that a column whose format has points between thousands
// refuses 1.234 instead of reading 1234.
func Number(text []byte) []byte {
	before, after, cut := bytes.Cut(bytes.TrimPrefix(text, []byte("-")), []byte("."))
	if cut && len(before) <= 3 && len(after) == 3 {
		return append(text, '0')
	}
	return text
}

// Flawed adds a row that cannot be used, so that it is counted as one: it has one field more
// than the header.
func (r *Rows) Flawed() error {
	for range len(r.Names) + 1 {
		r.Cell(nil)
	}
	return r.End()
}
