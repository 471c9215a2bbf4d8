package stream

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/local"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// Options say what to do with rows.
type Options struct {
	// Schema of the rows, all of whose columns are discrete, and how to perturb them.
	// Required.
	Schema   schema.Schema
	Settings local.Settings
	// Key has the randomness. Required; it must not serve other rows.
	Key noise.Key
	// Format of what comes out.
	Format reconstruct.Format
}

// RowError says which row ended the stream. It has no content of it.
type RowError struct {
	// Ordinal of the row, from 1, and Column if it is about one.
	Ordinal int64
	Column  string
	Reason  table.Reason
}

// Error names the place, the reason and what to do.
func (e *RowError) Error() string { return e.about(fmt.Sprintf("row %d", e.Ordinal)) }

// Outline is the error without which row it is, for what is kept or handed on.
func (e *RowError) Outline() string { return e.about("a row") }

func (e *RowError) about(where string) string {
	if e.Column != "" {
		where += fmt.Sprintf(", column %q", e.Column)
	}
	return fmt.Sprintf("%s: %v; rows before it are perturbed. Correct it, or give the column a rule in the schema (other, missing, clamp)", where, e.Reason)
}

// Perturb reads CSV with a header and writes perturbed rows, each at once. It returns how
// many there were.
func Perturb(ctx context.Context, in io.Reader, out io.Writer, o Options) (rows int64, err error) {
	mechanism, err := local.New(o.Settings)
	if err != nil {
		return 0, err
	}
	if err := o.Settings.Fits(o.Schema); err != nil {
		return 0, err
	}
	w, err := reconstruct.NewWriter(out, o.Schema, o.Format)
	if err != nil {
		return 0, err
	}
	r, err := newReader(in, o.Schema)
	if err != nil {
		return 0, err
	}
	randomness := o.Key.Stream("table/stream")
	var one reconstruct.Rows
	codes := make([]uint16, len(o.Schema.Columns))
	for ; ctx.Err() == nil; rows++ {
		if err := r.read(codes, rows+1); err != nil {
			return rows, errors.Join(ignoreEnd(err), w.Flush())
		}
		if err := mechanism.Row(codes, randomness); err != nil {
			return rows, err
		}
		one.Reset(len(codes), 1)
		for i, c := range codes {
			one.Columns[i][0] = c
		}
		if err := w.Write(&one); err != nil {
			return rows, err
		}
		if err := w.Flush(); err != nil {
			return rows, err
		}
	}
	return rows, ctx.Err()
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// reader reads rows by a schema.
type reader struct {
	in        *csv.Reader
	at        []int // where each column of the schema is
	names     []string
	encodings []*table.Encoding
	one       table.Vector
}

func newReader(in io.Reader, s schema.Schema) (*reader, error) {
	r := &reader{in: csv.NewReader(in), one: table.Vector{Codes: make([]uint16, 1), Steps: make([]int32, 1)}}
	r.in.ReuseRecord = true
	header, err := r.in.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, origin.Refuse("there is no header row: the first row names the columns")
	case err != nil:
		return nil, origin.Refuse("the header row cannot be read: is it CSV?")
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff") // some programs begin a file so
	at := map[string]int{}
	for i, name := range header {
		if _, twice := at[name]; twice {
			return nil, origin.Refuse("the header names a column twice: rename one")
		}
		at[name] = i
	}
	for _, c := range s.Columns {
		i, ok := at[c.Name]
		if !ok {
			return nil, origin.NoColumn(c.Name, header)
		}
		r.at, r.names = append(r.at, i), append(r.names, c.Name)
		r.encodings = append(r.encodings, table.NewEncoding(c, true))
	}
	return r, nil
}

// read encodes the next row; it returns [io.EOF] after the last.
func (r *reader) read(codes []uint16, ordinal int64) error {
	fields, err := r.in.Read()
	var syntax *csv.ParseError
	switch {
	case errors.As(err, &syntax) && errors.Is(err, csv.ErrFieldCount):
		return &RowError{Ordinal: ordinal, Reason: table.FieldCount}
	case errors.As(err, &syntax):
		return &RowError{Ordinal: ordinal, Reason: origin.BadQuotes}
	case errors.Is(err, io.EOF):
		return io.EOF
	case err != nil:
		return origin.Fail(err)
	}
	for i, at := range r.at {
		if why := r.encodings[i].Text(&r.one, 0, []byte(fields[at])); why != 0 {
			return &RowError{Ordinal: ordinal, Column: r.names[i], Reason: why}
		}
		codes[i] = r.one.Codes[0]
	}
	return nil
}
