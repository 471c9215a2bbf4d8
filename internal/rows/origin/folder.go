package origin

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/internal/rows/convert"
)

// shards are the files of a folder that are one data set. Nothing of them is open.
type shards struct{ paths []string }

func (s *shards) ReadAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }
func (s *shards) Close() error                      { return nil }

// Stat looks at all files.
func (s *shards) Stat() (fs.FileInfo, error) {
	all := &shardsInfo{name: filepath.Base(filepath.Dir(s.paths[0]))}
	var stamps []string
	for _, path := range s.paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		all.size += info.Size()
		if info.ModTime().After(all.changed) {
			all.changed = info.ModTime()
		}
		stamps = append(stamps, filepath.Base(path)+": "+Stamp(info))
	}
	all.stamp = strings.Join(stamps, "; ")
	return all, nil
}

// shardsInfo is about all files of a data set.
type shardsInfo struct {
	name    string
	size    int64
	changed time.Time
	stamp   string
}

func (i *shardsInfo) Name() string       { return i.name }
func (i *shardsInfo) Size() int64        { return i.size }
func (i *shardsInfo) Mode() fs.FileMode  { return 0o600 }
func (i *shardsInfo) ModTime() time.Time { return i.changed }
func (i *shardsInfo) IsDir() bool        { return false }
func (i *shardsInfo) Sys() any           { return nil }

// openFolder reads the files of a data set in a folder, one after the other.
func openFolder(dir, part string) (File, fs.FileInfo, error) {
	paths, err := convert.Shards(dir, part)
	if err != nil {
		return nil, nil, known(err)
	}
	s := &shards{paths}
	info, err := s.Stat()
	if err != nil {
		return nil, nil, &Error{Code: Unusable, Msg: "opening the records", Err: err}
	}
	c := &memoryFile{File: s, rows: true}
	if FormatOf(paths[0]) == CSV { // and so are all
		c.rows, c.shards = false, extOf(paths[0])
		err = c.join(paths)
	} else {
		err = c.convert(paths)
	}
	if err != nil {
		return nil, nil, known(err)
	}
	if err := StillSame(s, info); err != nil {
		return nil, nil, err
	}
	return c, info, nil
}

// join reads files of comma-separated values as one.
func (c *memoryFile) join(paths []string) error {
	var texts [][]byte
	left := convert.Largest
	for _, path := range paths {
		text, err := shardText(path)
		if err != nil {
			return err
		}
		if left -= len(text); left < 0 {
			return tooLarge()
		}
		texts = append(texts, text)
	}
	text, err := convert.Join(texts)
	c.Reader = bytes.NewReader(text)
	return err
}

func shardText(path string) ([]byte, error) {
	f, info, err := Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	codec, err := FindCodec(path, f)
	if err != nil {
		return nil, err
	}
	return readText(f, info, codec)
}

// convert reads the rows of files of another format.
func (c *memoryFile) convert(paths []string) error {
	rows := convert.NewRows()
	for _, path := range paths {
		if err := addShard(rows, path); err != nil {
			return err
		}
	}
	c.Reader, c.note = bytes.NewReader(rows.Bytes()), rows.Note
	return nil
}

// InRecords reports whether records say themselves what their columns are called, as those of
// JSON do: then nothing shows the names but the records.
func InRecords(location string, format Format) (bool, error) {
	if convert.Kind(format) != convert.Folder {
		return format == JSONL || convert.Kind(format) == convert.JSON, nil
	}
	paths, err := convert.Shards(convert.Split(location))
	if err != nil {
		return false, known(err)
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		inside, err := InRecords(path, FormatOf(path))
		return inside || err != nil
	}), nil
}

// addShard adds the rows of one file.
func addShard(rows *convert.Rows, path string) error {
	f, info, err := Open(path, nil)
	if err != nil {
		return err
	}
	defer f.Close()
	format := FormatOf(path)
	if format == ParquetFile {
		p, err := Parquet(f, info)
		if err != nil {
			return err
		}
		return addParquet(rows, p)
	}
	codec, err := FindCodec(path, f)
	if err != nil {
		return err
	}
	return addRows(rows, f, info, codec, "", format)
}

// addParquet adds the rows of a Parquet file, in the columns that can be written as text. Classes
// of Hugging Face features are written by their names.
func addParquet(rows *convert.Rows, p *parquet.File) error {
	metadata, _ := p.Lookup("huggingface")
	classes := convert.Classes([]byte(metadata))
	var columns []*parquet.Column
	var names []string
	err := Calm(func() error {
		for _, c := range p.Root().Columns() {
			if ParquetText(c) != nil {
				columns, names = append(columns, c), append(names, c.Name())
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range columns {
		if err := CheckCompression(p, c); err != nil {
			return err
		}
	}
	if err := rows.Header(names); err != nil {
		return err
	}
	large := error(nil)
	err = Calm(func() error {
		for _, g := range p.RowGroups() {
			if large = addGroup(rows, g, columns, classes); large != nil {
				return large
			}
		}
		return nil
	})
	if e := (*convert.Error)(nil); errors.As(large, &e) {
		return e
	}
	return err
}

func addGroup(rows *convert.Rows, g parquet.RowGroup, columns []*parquet.Column, classes map[string][]string) error {
	chunks := g.ColumnChunks()
	values := make([]*Values, len(columns))
	floats := make([]bool, len(columns))
	writers := make([]func([]byte, parquet.Value) []byte, len(columns))
	for i, c := range columns {
		values[i], writers[i] = NewValues(chunks[c.Index()]), ParquetText(c)
		floats[i] = c.Type().Kind() == parquet.Float || c.Type().Kind() == parquet.Double
		defer values[i].Close()
	}
	var room []byte
	for row := range g.NumRows() {
		for i, c := range columns {
			v, err := values[i].At(row)
			if err != nil {
				return err
			}
			room = room[:0]
			if names := classes[c.Name()]; names != nil && !v.IsNull() {
				if n := v.Int64(); n >= 0 && n < int64(len(names)) {
					room = append(room, names[n]...)
				}
			} else if !v.IsNull() {
				if room = writers[i](room, v); floats[i] {
					room = convert.Number(room)
				}
			}
			rows.Cell(room)
		}
		if err := rows.End(); err != nil {
			return err
		}
	}
	return nil
}
