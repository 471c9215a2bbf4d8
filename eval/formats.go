package eval

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/convert"
)

// convertedRecords reads a file of a format that becomes rows of comma-separated values.
func convertedRecords(path string, f *os.File, in io.Reader, size int64, sheet string, columns []string, each func([]string) error) error {
	rows := convert.NewRows()
	var err error
	switch convert.KindOf(convert.Ext(path)) {
	case convert.Workbook:
		err = rows.Workbook(f, size, sheet)
	case convert.Arrow:
		err = rows.Arrow(f, size)
	default:
		err = rows.Lines(in)
	}
	if err != nil {
		return &ItemError{Path: path, Reason: err.Error(), Err: err}
	}
	return csvRecords(path, bytes.NewReader(rows.Bytes()), ',', columns, each)
}

// folderRecords reads the files of a split, one after the other.
func folderRecords(dir, split string, columns []string, each func([]string) error) error {
	paths, err := convert.Shards(dir, split)
	if err != nil {
		return &ItemError{Path: dir, Reason: err.Error(), Err: err}
	}
	for _, path := range paths {
		if err := fileRecords(path, "", true, columns, each); err != nil {
			return err
		}
	}
	return nil
}

// commaOf is what separates fields by the name of a file, or by what follows # after it; 0 is
// to be found out.
func commaOf(ext, part string) rune {
	switch {
	case part == "tab", part == "" && ext == ".tsv":
		return '\t'
	case part != "":
		return []rune(part)[0]
	}
	return 0
}

// textOf makes UTF-8 of UTF-16, and finds what separates fields: what gives most of the columns
// in the first line.
func textOf(in io.Reader, comma rune, columns []string) (io.Reader, rune, error) {
	b := bufio.NewReaderSize(in, 1<<16)
	head, err := b.Peek(2)
	if err != nil && err != io.EOF {
		return nil, 0, err
	}
	if convert.Wide(head) {
		text, err := convert.UTF8(b)
		if err != nil {
			return nil, 0, err
		}
		b = bufio.NewReaderSize(bytes.NewReader(text), 1<<16)
	}
	if comma != 0 {
		return b, comma, nil
	}
	start, _ := b.Peek(1 << 16) // an error of reading comes again
	line, _, _ := strings.Cut(strings.TrimPrefix(string(start), "\ufeff"), "\n")
	best, most := ',', 0
	for _, c := range ",;\t|" {
		r := csv.NewReader(strings.NewReader(line))
		r.Comma = c
		names, err := r.Read()
		found := 0
		for _, w := range columns {
			if err == nil && slices.Contains(names, w) {
				found++
			}
		}
		if found > most {
			best, most = c, found
		}
	}
	return b, best, nil
}
