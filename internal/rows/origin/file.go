package origin

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-dp/sotto/internal/rows/convert"
)

// File is what is needed of a file.
type File interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// Open opens a file that can be read from any place and has an end. The function opens
// it; nil is os.Open.
func Open(path string, open func(string) (File, error)) (File, fs.FileInfo, error) {
	fail := func(err error) (File, fs.FileInfo, error) {
		return nil, nil, &Error{Code: Unusable, Msg: "opening the records", Err: err}
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fail(err)
	case info.IsDir():
		return fail(fmt.Errorf("%s is a folder: name the file in it", path))
	case !info.Mode().IsRegular():
		return fail(fmt.Errorf("%s is not a regular file: records are read more than once, so write them to a file first", path))
	case info.Size() == 0:
		return fail(fmt.Errorf("%s is empty", path))
	}
	if open == nil {
		open = func(path string) (File, error) { return os.Open(path) }
	}
	f, err := open(path)
	if err != nil {
		return fail(err)
	}
	if info, err = f.Stat(); err != nil {
		return fail(errors.Join(err, f.Close()))
	}
	return f, info, nil
}

// StillSame fails if a file is not as it was when it was opened.
func StillSame(f File, then fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return Fail(err)
	}
	if Stamp(now) != Stamp(then) {
		return Differs(0)
	}
	return nil
}

// Codec is how a file is compressed.
type Codec uint8

// The ways.
const (
	Plain Codec = iota
	Gzip
	Zstandard
)

// FindCodec looks at the first bytes: neither JSON nor CSV in UTF-8 begins as the
// compressed formats do.
func FindCodec(path string, f io.ReaderAt) (Codec, error) {
	if _, ok := f.(*memoryFile); ok {
		return Plain, nil // it was unpacked
	}
	path, _ = convert.Split(path)
	var head [4]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return 0, &Error{Code: Unreadable, Msg: "reading the records", Err: err}
	}
	found := Plain
	switch {
	case n >= 2 && string(head[:2]) == "\x1f\x8b":
		found = Gzip
	case n == 4 && string(head[:]) == "\x28\xb5\x2f\xfd":
		found = Zstandard
	}
	name := strings.ToLower(path)
	if strings.HasSuffix(name, ".gz") && found != Gzip || strings.HasSuffix(name, ".zst") && found != Zstandard {
		return 0, Refuse("%s is not compressed as its name says: rename it, or compress it again", path)
	}
	return found, nil
}

// Unpack reads the uncompressed content of what is compressed, and returns a function
// that ends it.
func (c Codec) Unpack(in io.Reader) (io.Reader, func(), error) {
	switch c {
	case Gzip:
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, damaged(err)
		}
		return &decompressor{z}, func() {}, nil
	case Zstandard:
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, nil, damaged(err)
		}
		return &decompressor{z}, z.Close, nil
	}
	return in, func() {}, nil
}

// decompressor names errors of a decompressor as what they are.
type decompressor struct{ r io.Reader }

func (d *decompressor) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err != nil && err != io.EOF {
		err = damaged(err)
	}
	return n, err
}

func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return &Error{Code: Damaged, Msg: "the compressed file ends too early: copy or compress it again"}
	}
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return Fail(err) // the disk's doing
	}
	return &Error{Code: Damaged, Msg: "the compressed file is damaged: copy or compress it again", Err: err}
}

// Length is how many bytes can be read of a file.
func Length(f File, info fs.FileInfo) int64 {
	if s, ok := f.(interface{ Length() int64 }); ok {
		return s.Length()
	}
	return info.Size()
}

// Content reads a file from its beginning, and reports how much of it was read unless report
// is nil.
func Content(f File, info fs.FileInfo, report func(read, total int64)) io.Reader {
	size := Length(f, info)
	in := io.Reader(io.NewSectionReader(f, 0, size))
	if report != nil {
		in = &meter{r: in, total: size, report: report}
	}
	return in
}

// meter reports how much was read.
type meter struct {
	r           io.Reader
	read, total int64
	report      func(read, total int64)
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if n > 0 {
		m.read += int64(n)
		m.report(m.read, m.total)
	}
	return n, err
}
