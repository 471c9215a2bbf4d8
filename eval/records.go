package eval

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/spell"
)

// ReadRecords hands the values of columns of each record to a function. Errors of the
// function are about the record that it was handed.
func ReadRecords(location string, columns []string, each func([]string) error) error {
	r, err := openRecords(location, columns)
	if err != nil {
		return &ItemError{Path: location, Reason: err.Error(), Err: err}
	}
	defer r.close()
	values := make([]string, len(columns))
	for number := 1; ; number++ {
		row, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			err = fmt.Errorf("it cannot be read (%w)", err)
		} else if err = r.texts(row, values); err == nil {
			err = each(values)
		}
		if err != nil {
			return &ItemError{Path: location, Record: number, Reason: err.Error(), Err: err}
		}
	}
}

// records are those of a file that is open.
type records struct {
	rows.Reader
	columns []string
	// lines are JSON, whose records name their columns themselves.
	lines *rows.Lines
	close func()
}

func openRecords(location string, columns []string) (*records, error) {
	format := origin.FormatOf(location)
	switch {
	case format == "" || format == origin.SQL:
		if _, err := os.Stat(location); err != nil {
			return nil, fmt.Errorf("it cannot be read (%w): give the path of a file of records", err)
		}
		return nil, errors.New("its name does not show its format: it should end in .csv, .tsv, .jsonl or .json, perhaps with .gz or .zst, or in .parquet or .xlsx")
	case format == origin.ParquetFile:
		return openParquet(location, columns)
	}
	if info, err := os.Stat(location); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return &records{Reader: none{}, close: func() {}}, nil
	}
	f, err := rows.OpenText(location, format, true, nil)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read (%w): give the path of a file of records", err)
	}
	r, err := openText(f, columns)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// none has no rows.
type none struct{}

func (none) Next() (*rows.Row, error) { return nil, io.EOF }

func openText(f *rows.TextFile, columns []string) (*records, error) {
	if err := f.Begin(columns); err != nil {
		return nil, err
	}
	places, err := find(f.Head.Names, columns)
	if err != nil && f.Format == origin.CSV {
		return nil, err
	}
	in, done, err := f.Content(nil)
	if err != nil {
		return nil, err
	}
	r := &records{columns: columns, close: func() { done(); f.Close() }}
	buffered := bufio.NewReaderSize(in, 1<<16)
	if _, err := buffered.Discard(int(f.Head.Start)); err != nil {
		return nil, err
	}
	r.Reader = f.Reader(buffered, f.Head.Start, columns, places, nil)
	r.lines, _ = r.Reader.(*rows.Lines)
	return r, nil
}

func openParquet(path string, columns []string) (_ *records, err error) {
	f, info, err := origin.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	p, err := origin.Parquet(f, info)
	if err != nil {
		return nil, fmt.Errorf("it is not a Parquet file: %w", err)
	}
	var read []rows.ParquetColumn
	var found error
	err = origin.Calm(func() error {
		read, found = parquetColumns(p, columns)
		return nil
	})
	if err = errors.Join(err, found); err != nil {
		return nil, err
	}
	r, err := rows.NewParquet(p, len(columns), read)
	if err != nil {
		return nil, err
	}
	return &records{Reader: r, columns: columns, close: func() { r.Close(); f.Close() }}, nil
}

func parquetColumns(p *parquet.File, columns []string) (read []rows.ParquetColumn, err error) {
	var names []string
	for _, c := range p.Root().Columns() {
		names = append(names, c.Name())
	}
	places, err := find(names, columns)
	if err != nil {
		return nil, err
	}
	for i, c := range p.Root().Columns() {
		if places[i] == nil {
			continue
		}
		write := origin.ParquetText(c)
		if write == nil {
			return nil, fmt.Errorf("its column %q is a list or a group: make it one of strings", c.Name())
		}
		if err := origin.CheckCompression(p, c); err != nil {
			return nil, err
		}
		read = append(read, rows.ParquetColumn{Index: c.Index(), Places: places[i], Convert: func(v parquet.Value) rows.Value {
			return rows.Value{Kind: rows.Scalar, S: string(write(nil, v))}
		}})
	}
	return read, nil
}

// find is [rows.Find] with what to do about a column that is missing.
func find(names, columns []string) ([][]int, error) {
	for _, c := range columns {
		if !slices.Contains(names, c) {
			return nil, missing(c, names)
		}
	}
	return rows.Find(names, columns)
}

// texts are the values of a row, or what is wrong with it.
func (r *records) texts(row *rows.Row, into []string) error {
	if row.Bad != 0 {
		return r.flaw(row.Bad)
	}
	for i, v := range row.Values {
		if r.lines != nil {
			if _, ok := r.lines.Keys[r.columns[i]]; !ok {
				return missing(r.columns[i], slices.Collect(maps.Keys(r.lines.Keys)))
			}
			if v.Kind == rows.Absent || v.Kind == rows.Compound {
				return fmt.Errorf("its %s is not a string: give one", r.columns[i])
			}
		}
		into[i] = v.S
	}
	return nil
}

func (r *records) flaw(why origin.Reason) error {
	switch {
	case why == origin.NotUTF8:
		return errors.New("it is not in UTF-8: save the file in that encoding")
	case why == origin.NotAnObject:
		return fmt.Errorf("it is not a JSON object: each line is one, such as %s", sample(r.columns))
	case r.lines == nil:
		return fmt.Errorf("it is not CSV: %v", why)
	}
	return fmt.Errorf("it cannot be read (%v)", why)
}

// sample returns an example line with these columns.
func sample(columns []string) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, strconv.Quote(c)+": \"…\"")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// missing returns the error of a missing column. A file without a header has texts instead
// of names, and JSON keys may be texts too, so the error shows no names.
func missing(column string, have []string) error {
	if other := spell.Variant(column, have); other != "" {
		return fmt.Errorf("it has no column %q, which the task names, but %q: correct the task or the file", column, other)
	}
	return fmt.Errorf("it has no column %q, which the task names, among %d: correct the task or the file", column, len(have))
}
