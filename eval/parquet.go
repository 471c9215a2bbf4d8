package eval

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/internal/convert"
	"github.com/sotto-dp/sotto/internal/convert/pages"
)

// checkParquet checks a file before it is decoded.
func checkParquet(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return pages.Check(f, info.Size())
}

// parquetRecords hands the values of columns of each row to a function. In a shard of a Hugging
// Face data set, classes have names.
func parquetRecords(path string, f *os.File, size int64, shard bool, columns []string, each func([]string) error) (err error) {
	number := 0
	fail := func(err error) error {
		return &ItemError{Path: path, Record: number, Reason: err.Error(), Err: err}
	}
	defer func() {
		// The library panics on files that are damaged in some ways.
		if damage := recover(); damage != nil {
			err = fail(errors.New("it is damaged: write it again"))
		}
	}()
	if err := pages.Check(f, size); err != nil {
		return fail(fmt.Errorf("it is not a Parquet file: %w", err))
	}
	file, err := parquet.OpenFile(f, size)
	if err != nil {
		return fail(fmt.Errorf("it is not a Parquet file: %w", err))
	}
	if shard {
		metadata, _ := file.Lookup("huggingface")
		each = named(columns, convert.Classes([]byte(metadata)), each)
	}
	places := map[int]int{} // of columns in the file, to those asked for
	var names []string
	for _, c := range file.Root().Columns() {
		names = append(names, c.Name())
	}
	for i, want := range columns {
		c := file.Root().Column(want)
		if c == nil {
			return fail(missing(want, names))
		}
		if !c.Leaf() || c.Repeated() {
			return fail(fmt.Errorf("its column %q is a list or a group: make it one of strings", want))
		}
		places[c.Index()] = i
	}
	for _, group := range file.RowGroups() {
		rows := group.Rows()
		err := eachRow(rows, places, len(columns), func(values []string) error {
			number++
			if err := each(values); err != nil {
				return fail(err)
			}
			return nil
		})
		if err = errors.Join(err, rows.Close()); err != nil {
			return err
		}
	}
	return nil
}

// named writes classes of Hugging Face features by their names.
func named(columns []string, classes map[string][]string, each func([]string) error) func([]string) error {
	if len(classes) == 0 {
		return each
	}
	return func(values []string) error {
		values = slices.Clone(values)
		for i, c := range columns {
			if n, err := strconv.Atoi(values[i]); err == nil && n >= 0 && n < len(classes[c]) {
				values[i] = classes[c][n]
			}
		}
		return each(values)
	}
}

func eachRow(rows parquet.Rows, places map[int]int, columns int, each func([]string) error) error {
	batch := make([]parquet.Row, 64)
	values := make([]string, columns)
	for {
		n, err := rows.ReadRows(batch)
		for _, row := range batch[:n] {
			for _, v := range row {
				if i, ok := places[v.Column()]; ok && v.IsNull() {
					values[i] = ""
				} else if ok {
					values[i] = v.String()
				}
			}
			if err := each(values); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("it cannot be read: %w", err)
		}
	}
}
