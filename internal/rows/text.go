package rows

import (
	"bufio"
	"io"
	"io/fs"

	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// TextFile is a file of rows of text, one after the other, perhaps compressed or made of another format.
type TextFile struct {
	File   origin.File
	Info   fs.FileInfo
	Format origin.Format // CSV or JSONL
	// Codec is known once Begin was called, and of comma-separated values Head.
	Codec origin.Codec
	Head  Head

	location string
}

// OpenText opens a file that is no Parquet file and no database; no row of it is read. JSON lines become
// comma-separated values, in memory, unless lines is set. The function opens files; nil is os.Open.
func OpenText(location string, format origin.Format, lines bool, open func(string) (origin.File, error)) (*TextFile, error) {
	f, info, format, err := origin.Rows(location, format, lines, open)
	if err != nil {
		return nil, err
	}
	return &TextFile{File: f, Info: info, Format: format, location: location}, nil
}

// Begin finds out how the file is compressed and, of comma-separated values, what its header says. The wanted
// columns show what separates its fields, where the name of the file does not.
func (t *TextFile) Begin(wanted []string) (err error) {
	if t.Codec, err = origin.FindCodec(t.location, t.File); err != nil || t.Format != origin.CSV {
		return err
	}
	comma, err := origin.Comma(t.location, t.File)
	if err != nil {
		return err
	}
	in, done, err := t.Content(nil)
	if err != nil {
		return err
	}
	defer done()
	t.Head, err = Header(in, comma, wanted)
	return err
}

// Content opens the uncompressed content, and returns a function that closes it.
func (t *TextFile) Content(report func(read, total int64)) (io.Reader, func(), error) {
	return t.Codec.Unpack(origin.Content(t.File, t.Info, report))
}

// Reader reads rows whose first byte is at an offset. Columns are those that are asked for; places are where they
// are in the header, as [Find] says, of comma-separated values. The sink may be nil.
func (t *TextFile) Reader(in *bufio.Reader, offset int64, columns []string, places [][]int, sink Sink) Reader {
	if t.Format == origin.CSV {
		return NewCSV(in, offset, t.Head, len(columns), places, sink)
	}
	return NewLines(in, offset, columns, sink)
}

// Close closes the file.
func (t *TextFile) Close() error { return t.File.Close() }
