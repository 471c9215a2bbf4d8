package record

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// textFile is a file of rows of text, one after the other, perhaps compressed.
type textFile struct {
	*rows.TextFile
	progress func(read, total int64)
	// prepare reads what the rest depends on. It is called before the first row is
	// read, not when a source is opened.
	prepare func() error
	columns []string
	roles   [][]int // of the columns of a header
}

const bufferSize = 256 << 10

func newTextFile(path string, o *Options) (*textFile, error) {
	f, err := rows.OpenText(path, o.format, true, o.open)
	if err != nil {
		return nil, err
	}
	o.format = f.Format
	t := &textFile{TextFile: f, progress: o.Progress, columns: o.columns()}
	t.prepare = sync.OnceValue(func() error { return t.begin(o) })
	return t, nil
}

// begin finds the columns that are asked for in the header, if there is one.
func (t *textFile) begin(o *Options) (err error) {
	if err = t.Begin(o.columns()); err != nil || t.Format != origin.CSV {
		return err
	}
	if names := t.Head.Names; !o.anyColumns && !isHeader(names, o) {
		return &Error{Code: origin.Columns, Msg: fmt.Sprintf("the first row has %d fields, and none of them names a column that is asked for, such as %q: is there a header row?", len(names), o.example())}
	}
	t.roles, err = findColumns(t.Head.Names, o)
	return err
}

func (t *textFile) reader(in *bufio.Reader, offset int64, sink rows.Sink) rows.Reader {
	return t.Reader(in, offset, t.columns, t.roles, sink)
}

func (t *textFile) scan(ctx context.Context, w *witness, yield func(*rows.Row) error) error {
	if err := t.prepare(); err != nil {
		return err
	}
	in, done, err := t.Content(t.progress)
	if err != nil {
		return err
	}
	defer done()
	var sink rows.Sink
	if w != nil {
		in = io.TeeReader(in, w.content)
		if w.rows != nil {
			sink = w.rows.Sink(t.Head.Names)
		}
	}
	buffered := bufio.NewReaderSize(in, bufferSize)
	if _, err := buffered.Discard(int(t.Head.Start)); err != nil {
		return origin.Fail(err)
	}
	read := t.reader(buffered, t.Head.Start, sink)
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r, err := read.Next()
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
	return origin.StillSame(t.File, t.Info)
}

func (t *textFile) fetch(ctx context.Context, at []spot, yield func(int, *rows.Row) error) error {
	if err := t.prepare(); err != nil {
		return err
	}
	if t.Codec != origin.Plain {
		return fetchByScan(ctx, t, at, yield)
	}
	near := &nearReader{file: t.File, length: origin.Length(t.File, t.Info)}
	near.Reader = bufio.NewReaderSize(nil, near.size(at))
	for i, s := range at {
		if err := ctx.Err(); err != nil {
			return err
		}
		near.to(s.place)
		r, err := t.reader(near.Reader, s.place, nil).Next()
		if err == io.EOF || err == nil && r.Place != s.place {
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

// nearReader reads a file at places, and what is near the last one without another call of the system.
type nearReader struct {
	*bufio.Reader
	file   io.ReaderAt
	length int64
	// from is where the section began that is read, nil before the first.
	section *io.SectionReader
	from    int64
}

// size is how much is read at once: little for records that are far from each other.
func (n *nearReader) size(at []spot) int {
	const little = 4 << 10
	if last := len(at) - 1; last > 0 && at[last].place-at[0].place < int64(last)*little {
		return bufferSize
	}
	return little
}

// to goes to a place.
func (n *nearReader) to(place int64) {
	if n.section != nil {
		read, err := n.section.Seek(0, io.SeekCurrent)
		ahead := place - (n.from + read - int64(n.Buffered()))
		if err == nil && ahead >= 0 && ahead <= int64(n.Buffered()) {
			_, _ = n.Discard(int(ahead)) // it is in the buffer
			return
		}
	}
	n.section, n.from = io.NewSectionReader(n.file, place, n.length-place), place
	n.Reset(n.section)
}

func (t *textFile) seeks() (bool, error) {
	err := t.prepare()
	return t.Codec == origin.Plain, err
}

func (t *textFile) stamp() string { return origin.Stamp(t.Info) }
func (t *textFile) close() error  { return t.Close() }

// names are the header, or the keys of the first object among the first rows.
func (t *textFile) names() (names []string) {
	if t.Format == origin.CSV {
		return t.Head.Names
	}
	t.firstLines(100, func(j *rows.Lines, r *rows.Row) bool {
		if r.Bad == 0 {
			names = slices.Sorted(maps.Keys(j.Keys))
		}
		return r.Bad != 0
	})
	return names
}

// firstLines looks at some lines, as long as more is wanted.
func (t *textFile) firstLines(n int, more func(j *rows.Lines, r *rows.Row) bool) {
	in, done, err := t.Content(t.progress)
	if err != nil {
		return
	}
	defer done()
	j := rows.NewLines(bufio.NewReaderSize(in, bufferSize), 0, nil, nil)
	for range n {
		if r, err := j.Next(); err != nil || !more(j, r) {
			return
		}
	}
}
