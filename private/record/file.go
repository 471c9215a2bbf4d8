package record

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// file is what a source needs of a file.
type file interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

func openFile(path string) (file, error) { return os.Open(path) }

// openRegular opens a file that can be read from any place and has an end.
func openRegular(path string, o *Options) (file, fs.FileInfo, error) {
	fail := func(err error) (file, fs.FileInfo, error) {
		return nil, nil, &Error{Code: Unusable, Msg: "opening the records", err: err}
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
	open := openFile
	if o.open != nil {
		open = o.open
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

// rows reads rows one after the other; io.EOF ends them.
type rows interface {
	next() (*row, error)
}

// textFile is a file of rows of text, one after the other, perhaps compressed.
type textFile struct {
	f        file
	info     fs.FileInfo
	progress func(read, total int64)
	// prepare reads what the rest depends on. It is called before the first row is
	// read, not when a source is opened: with a cached index that reads nothing.
	prepare func() error
	codec   codec
	// reader makes a reader of rows, whose first byte is at an offset.
	reader func(in *bufio.Reader, offset int64) rows
	// header is where the first row begins.
	header int64
	known  func() []string
}

type codec uint8

const (
	plain codec = iota
	gzipped
	zstandard
)

const bufferSize = 256 << 10

func newTextFile(path string, o *Options) (*textFile, error) {
	f, info, err := openRegular(path, o)
	if err != nil {
		return nil, err
	}
	t := &textFile{f: f, info: info, progress: o.Progress}
	t.prepare = sync.OnceValue(func() (err error) {
		if t.codec, err = findCodec(path, f); err != nil {
			return err
		}
		if o.Format == CSV {
			return t.asCSV(o)
		}
		t.asJSONL(o)
		return nil
	})
	return t, nil
}

// findCodec looks at the first bytes: neither JSON nor CSV in UTF-8 begins as the
// compressed formats do.
func findCodec(path string, f io.ReaderAt) (codec, error) {
	var head [4]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return 0, &Error{Code: Unreadable, Msg: "reading the records", err: err}
	}
	found := plain
	switch {
	case n >= 2 && string(head[:2]) == "\x1f\x8b":
		found = gzipped
	case n == 4 && string(head[:]) == "\x28\xb5\x2f\xfd":
		found = zstandard
	}
	name := strings.ToLower(path)
	if strings.HasSuffix(name, ".gz") && found != gzipped || strings.HasSuffix(name, ".zst") && found != zstandard {
		return 0, unusable("%s is not compressed as its name says: rename it, or compress it again", path)
	}
	return found, nil
}

// stream opens the uncompressed content, and a function that closes it.
func (t *textFile) stream() (io.Reader, func(), error) {
	in := io.Reader(io.NewSectionReader(t.f, 0, t.info.Size()))
	if t.progress != nil {
		in = &meter{r: in, total: t.info.Size(), tell: t.progress}
	}
	switch t.codec {
	case gzipped:
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, damaged(err)
		}
		return &decompressed{z}, func() {}, nil
	case zstandard:
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, nil, damaged(err)
		}
		return &decompressed{z}, z.Close, nil
	}
	return in, func() {}, nil
}

// decompressed names errors of a decompressor as what they are.
type decompressed struct{ r io.Reader }

func (d *decompressed) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err != nil && err != io.EOF {
		err = damaged(err)
	}
	return n, err
}

func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return &Error{Code: Unreadable, Msg: "the compressed file ends too early: copy or compress it again"}
	}
	return &Error{Code: Unreadable, Msg: "the compressed file is damaged: copy or compress it again", err: err}
}

// meter tells how much was read.
type meter struct {
	r           io.Reader
	read, total int64
	tell        func(read, total int64)
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if n > 0 {
		m.read += int64(n)
		m.tell(m.read, m.total)
	}
	return n, err
}

func (t *textFile) scan(ctx context.Context, h hash.Hash, yield func(*row) error) error {
	if err := t.prepare(); err != nil {
		return err
	}
	in, done, err := t.stream()
	if err != nil {
		return err
	}
	defer done()
	if h != nil {
		in = io.TeeReader(in, h)
	}
	buffered := bufio.NewReaderSize(in, bufferSize)
	if _, err := buffered.Discard(int(t.header)); err != nil {
		return unreadable(err)
	}
	rows := t.reader(buffered, t.header)
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r, err := rows.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return unreadable(err)
		}
		if err := yield(r); err != nil {
			return err
		}
	}
	return stillSame(t.f, t.info)
}

// stillSame fails if a file is not as it was when it was opened.
func stillSame(f file, then fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return unreadable(err)
	}
	if stampOf(now) != stampOf(then) {
		return changed(0)
	}
	return nil
}

func unreadable(err error) error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return err
	}
	return &Error{Code: Unreadable, Msg: "reading the records", err: err}
}

func (t *textFile) fetch(ctx context.Context, at []spot, yield func(int, *row) error) error {
	if err := t.prepare(); err != nil {
		return err
	}
	if t.codec != plain {
		return fetchByScan(ctx, t, at, yield)
	}
	buffered := bufio.NewReaderSize(nil, 16<<10)
	for i, s := range at {
		if err := ctx.Err(); err != nil {
			return err
		}
		buffered.Reset(io.NewSectionReader(t.f, s.place, t.info.Size()-s.place))
		r, err := t.reader(buffered, s.place).next()
		if err == io.EOF || err == nil && r.place != s.place {
			return changed(s.ordinal)
		}
		if err != nil {
			return unreadable(err)
		}
		if err := yield(i, r); err != nil {
			return err
		}
	}
	return nil
}

func stampOf(info fs.FileInfo) string {
	return fmt.Sprintf("%d bytes, modified %d", info.Size(), info.ModTime().UnixNano())
}

func (t *textFile) stamp() string   { return stampOf(t.info) }
func (t *textFile) names() []string { return t.known() }
func (t *textFile) close() error    { return t.f.Close() }
