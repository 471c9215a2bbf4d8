package record

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"sync"

	"github.com/sotto-dp/sotto/internal/private/internal/origin"
	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
)

// rows reads rows one after the other; io.EOF ends them.
type rows interface {
	next() (*row, error)
	// feed gives every row that follows to the sketch.
	feed(*rowsketch.Rows)
}

// textFile is a file of rows of text, one after the other, perhaps compressed.
type textFile struct {
	f        origin.File
	info     fs.FileInfo
	progress func(read, total int64)
	// prepare reads what the rest depends on. It is called before the first row is
	// read, not when a source is opened.
	prepare func() error
	codec   origin.Codec
	// reader makes a reader of rows, whose first byte is at an offset.
	reader func(in *bufio.Reader, offset int64) rows
	// header is where the first row begins.
	header int64
	// comma separates the fields of comma-separated values; 0 is to be found out.
	comma byte
	known func() []string
}

const bufferSize = 256 << 10

func newTextFile(path string, o *Options) (*textFile, error) {
	f, info, format, err := origin.Rows(path, o.format, true, origin.Opener(path, o.Private, o.open))
	if err != nil {
		return nil, err
	}
	o.format = format
	t := &textFile{f: f, info: info, progress: o.Progress}
	t.prepare = sync.OnceValue(func() (err error) {
		if t.codec, err = origin.FindCodec(path, f); err != nil {
			return err
		}
		if o.format == origin.CSV {
			if t.comma, err = origin.Comma(path, f); err != nil {
				return err
			}
			return t.asCSV(o)
		}
		t.asJSONL(o)
		return nil
	})
	return t, nil
}

// stream opens the uncompressed content, and a function that closes it.
func (t *textFile) stream() (io.Reader, func(), error) {
	return t.codec.Unpack(origin.Content(t.f, t.info, t.progress))
}

func (t *textFile) scan(ctx context.Context, w *witness, yield func(*row) error) error {
	if err := t.prepare(); err != nil {
		return err
	}
	in, done, err := t.stream()
	if err != nil {
		return err
	}
	defer done()
	if w != nil {
		in = io.TeeReader(in, w.content)
	}
	buffered := bufio.NewReaderSize(in, bufferSize)
	if _, err := buffered.Discard(int(t.header)); err != nil {
		return origin.Fail(err)
	}
	rows := t.reader(buffered, t.header)
	if w != nil && w.rows != nil {
		rows.feed(w.rows)
	}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r, err := rows.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return origin.Fail(err)
		}
		if err := yield(r); err != nil {
			return err
		}
	}
	return origin.StillSame(t.f, t.info)
}

func (t *textFile) fetch(ctx context.Context, at []spot, yield func(int, *row) error) error {
	if err := t.prepare(); err != nil {
		return err
	}
	if t.codec != origin.Plain {
		return fetchByScan(ctx, t, at, yield)
	}
	buffered := bufio.NewReaderSize(nil, 4<<10)
	for i, s := range at {
		if err := ctx.Err(); err != nil {
			return err
		}
		buffered.Reset(io.NewSectionReader(t.f, s.place, origin.Length(t.f, t.info)-s.place))
		r, err := t.reader(buffered, s.place).next()
		if err == io.EOF || err == nil && r.place != s.place {
			return origin.Differs(s.ordinal)
		}
		if err != nil {
			return origin.Fail(err)
		}
		if err := yield(i, r); err != nil {
			return err
		}
	}
	return nil
}

func (t *textFile) seeks() (bool, error) {
	err := t.prepare()
	return t.codec == origin.Plain, err
}

func (t *textFile) stamp() string   { return origin.Stamp(t.info) }
func (t *textFile) names() []string { return t.known() }
func (t *textFile) close() error    { return t.f.Close() }
