package origin

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/sotto-dp/sotto/internal/rows/convert"
)

// memoryFile is a file whose rows were read into memory, in the form of another format. Its Stat
// is that of the file, so that a change of it is noticed.
type memoryFile struct {
	File
	*bytes.Reader
	// rows: it has comma-separated values of [convert.Rows]; else text as it was, in UTF-8.
	rows bool
}

// ReadAt reads what was converted.
func (c *memoryFile) ReadAt(p []byte, at int64) (int, error) { return c.Reader.ReadAt(p, at) }

// Length is that of what was converted.
func (c *memoryFile) Length() int64 { return c.Reader.Size() }

// Rows opens a file of rows as text, and says in which form they are: CSV, or, if lines is set and
// the file has them, JSON lines. What is not in that form, or not in UTF-8, is converted in memory.
// The function opens files; nil is os.Open.
func Rows(location string, format Format, lines bool, open func(string) (File, error)) (File, fs.FileInfo, Format, error) {
	path, part := convert.Split(location)
	if part != "" && format != CSV && format != Workbook {
		return nil, nil, "", Refuse("%s has no parts: leave #%s out", path, part)
	}
	f, info, err := Open(path, open)
	if err != nil {
		return nil, nil, "", err
	}
	c, err := convertFile(f, info, path, part, format, lines)
	if err != nil {
		return nil, nil, "", errors.Join(known(err), f.Close())
	}
	switch {
	case c == nil:
		return f, info, format, nil
	case c.rows:
		return c, info, CSV, nil
	}
	return c, info, format, nil
}

// known makes an error of this package of one of package convert.
func known(err error) error {
	if e := (*convert.Error)(nil); errors.As(err, &e) {
		return &Error{Code: Unusable, Msg: e.Msg}
	}
	return Fail(err)
}

// convertFile converts a file if it has to be.
func convertFile(f File, info fs.FileInfo, path, part string, format Format, lines bool) (*memoryFile, error) {
	codec, err := FindCodec(path, f)
	if err != nil {
		return nil, err
	}
	if format == CSV || format == JSONL {
		wide, err := isWide(f, info, codec)
		switch {
		case err != nil:
			return nil, err
		case !wide && (format == CSV || lines):
			return nil, nil
		case format == CSV || lines:
			text, err := textIn(f, info, codec, true)
			return &memoryFile{File: f, Reader: bytes.NewReader(text)}, err
		}
	}
	rows := convert.NewRows()
	switch {
	case format == JSON, format == JSONL:
		text, err := readText(f, info, codec)
		if err != nil {
			return nil, err
		}
		err = rows.Lines(bytes.NewReader(text))
		return &memoryFile{File: f, Reader: bytes.NewReader(rows.Bytes()), rows: true}, err
	case codec != Plain:
		return nil, Refuse("files of this kind are not read where they are compressed: unpack it")
	case format == Workbook:
		err := rows.Workbook(f, Length(f, info), part)
		return &memoryFile{File: f, Reader: bytes.NewReader(rows.Bytes()), rows: true}, err
	}
	return nil, Refuse("format %q is not read here", format)
}

// readText reads all of a text, as UTF-8.
func readText(f File, info fs.FileInfo, codec Codec) ([]byte, error) {
	wide, err := isWide(f, info, codec)
	if err != nil {
		return nil, err
	}
	return textIn(f, info, codec, wide)
}

// isWide reports whether a text is in UTF-16.
func isWide(f File, info fs.FileInfo, codec Codec) (bool, error) {
	in, done, err := codec.Unpack(Content(f, info, nil))
	if err != nil {
		return false, err
	}
	defer done()
	var head [2]byte
	n, err := io.ReadFull(in, head[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return false, err
	}
	return convert.Wide(head[:n]), nil
}

// textIn reads all of a text, and makes UTF-8 of UTF-16.
func textIn(f File, info fs.FileInfo, codec Codec, wide bool) ([]byte, error) {
	in, done, err := codec.Unpack(Content(f, info, nil))
	if err != nil {
		return nil, err
	}
	defer done()
	if wide {
		return convert.UTF8(in)
	}
	text, err := io.ReadAll(io.LimitReader(in, convert.Largest+1))
	if err == nil && len(text) > convert.Largest {
		err = tooLarge()
	}
	return text, err
}

func tooLarge() error {
	return Refuse("it has more than %d MiB, and files of this kind are read into memory: save it as one file of Parquet or CSV, which is read piece by piece", convert.Largest>>20)
}

// Comma is what separates the fields of a file, as its name or what follows # in its location
// says; 0 is to be found out.
func Comma(location string, f File) (byte, error) {
	if c, ok := f.(*memoryFile); ok && c.rows {
		return ',', nil
	}
	path, part := convert.Split(location)
	switch {
	case part == "tab":
		return '\t', nil
	case len(part) == 1 && part[0] < 0x80 && part != "\"":
		return part[0], nil
	case part != "":
		return 0, Refuse("what follows # is the character that separates the fields of %s, such as #; or #tab, and not %q", path, part)
	case extOf(path) == ".tsv":
		return '\t', nil
	}
	return 0, nil
}

// Unchanged fails if a path has another file than the one that is open, or that has changed.
func Unchanged(location string, f File, then fs.FileInfo) error {
	path, _ := convert.Split(location)
	now, err := os.Stat(path)
	if err != nil {
		return Fail(err)
	}
	if !os.SameFile(now, then) {
		return Differs(0)
	}
	return StillSame(f, then)
}
