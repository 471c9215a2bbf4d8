package table

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"io"
	"io/fs"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// csvFile is a file of comma-separated values with a header row (RFC 4180), perhaps
// compressed. Rows that cannot be read count as rows; blank lines do not.
type csvFile struct {
	*rows.TextFile
	path string
}

func newCSVFile(path string, format origin.Format, o *Options) (*csvFile, error) {
	f, err := rows.OpenText(path, format, false, o.open)
	if err != nil {
		return nil, err
	}
	c := &csvFile{f, path}
	if err := c.readHeader(o); err != nil {
		_ = f.Close() // the error that matters is err
		return nil, err
	}
	return c, nil
}

func (c *csvFile) readHeader(o *Options) error {
	if err := c.Begin(o.wanted()); err != nil {
		return err
	}
	for _, column := range o.Schema.Columns {
		if slices.Contains(c.Head.Names, column.Name) {
			return nil
		}
	}
	return &Error{Code: origin.Columns, Msg: "the first row names no column of the schema: is there a header row?"}
}

func (c *csvFile) header() []string  { return c.Head.Names }
func (c *csvFile) close() error      { return c.Close() }
func (c *csvFile) stat() fs.FileInfo { return c.Info }
func (c *csvFile) unchanged() error  { return origin.Unchanged(c.path, c.File, c.Info) }

func (c *csvFile) fingerprint(ctx context.Context, key keys.Key) (sum [32]byte, err error) {
	in, done, err := c.Content(nil)
	if err != nil {
		return sum, err
	}
	defer done()
	return contentHash(ctx, in, key, c.File, c.Info)
}

// contentHash is the fingerprint of a file, as texts have it.
func contentHash(ctx context.Context, in io.Reader, key keys.Key, f origin.File, info fs.FileInfo) (sum [32]byte, err error) {
	h := hmac.New(sha256.New, key.For("content"))
	for buf := make([]byte, 1<<20); ; {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		n, err := in.Read(buf)
		h.Write(buf[:n])
		if err == io.EOF {
			break
		}
		if err != nil {
			return sum, origin.Fail(err)
		}
	}
	h.Sum(sum[:0])
	return sum, origin.StillSame(f, info)
}

func (c *csvFile) scan(ctx context.Context, p *pass) error {
	readers := make([]*csvReader, p.workers)
	roles := p.roles(c.Head.Names)
	for i := range readers {
		readers[i] = &csvReader{roles: roles, s: p.newSheet(), fields: rows.Fields{Comma: c.Head.Comma}}
	}
	return c.blocks(ctx, p.workers, p.progress, func(worker int, b *rows.Block) error {
		return readers[worker].read(worker, b)
	})
}

// blocks hands the rows to workers, in blocks.
func (c *csvFile) blocks(ctx context.Context, workers int, progress func(read, total int64), each func(worker int, b *rows.Block) error) error {
	in, done, err := c.Content(progress)
	if err != nil {
		return err
	}
	defer done()
	if _, err := io.CopyN(io.Discard, in, c.Head.Start); err != nil {
		return origin.Fail(err)
	}
	// Blocks go round: two for each worker, one for the reading.
	free := make(chan *rows.Block, 2*workers+1)
	for range cap(free) {
		free <- &rows.Block{}
	}
	err = feed(ctx, workers, func(ctx context.Context, put func(*rows.Block) error) error {
		return cutCSV(ctx, in, c.Head.Comma, free, put)
	}, func(worker int, b *rows.Block) error {
		err := each(worker, b)
		free <- b
		return err
	})
	if err != nil {
		return err
	}
	return origin.StillSame(c.File, c.Info)
}

// cutCSV reads blocks of whole rows.
func cutCSV(ctx context.Context, in io.Reader, comma byte, free chan *rows.Block, put func(*rows.Block) error) error {
	split := rows.NewSplitter(in, 0, rows.BlockSize, comma)
	for index, first := int64(0), int64(1); ; index++ {
		var b *rows.Block
		select {
		case b = <-free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		err := split.Fill(b, BatchRows)
		if err != nil && err != io.EOF {
			return origin.Fail(err)
		}
		b.Index, b.First = index, first
		first += int64(len(b.Lines))
		if len(b.Lines) > 0 {
			if err := put(b); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// csvReader puts rows into a sheet.
type csvReader struct {
	roles  [][]int
	s      *sheet
	fields rows.Fields
}

func (r *csvReader) read(worker int, b *rows.Block) error {
	r.s.begin(b.Index, b.First, len(b.Lines))
	for i, row := range b.Lines {
		if row.Quoted || row.Bad != 0 {
			r.slow(i, b.Data, row)
		} else {
			r.fast(i, b.Data[row.Start:row.End])
		}
	}
	return r.s.finish(worker)
}

// fast reads a row without quotes.
func (r *csvReader) fast(i int, line []byte) {
	n := 0
	for n < len(r.roles) {
		end := indexByte(line, r.fields.Comma)
		field := line
		if end >= 0 {
			field = line[:end]
		}
		for _, role := range r.roles[n] {
			r.s.text(i, role, field)
		}
		n++
		if end < 0 {
			if n < len(r.roles) {
				r.s.refuse(i, -1, FieldCount)
			}
			return
		}
		line = line[end+1:]
	}
	r.s.refuse(i, -1, FieldCount)
}

func (r *csvReader) slow(i int, data []byte, row rows.Line) {
	fields := 0
	why := r.fields.Each(data, row, func(n int, text []byte) {
		fields++
		if n < len(r.roles) {
			for _, role := range r.roles[n] {
				r.s.text(i, role, text)
			}
		}
	})
	if why == 0 && fields != len(r.roles) {
		why = FieldCount
	}
	if why != 0 {
		r.s.refuse(i, -1, why)
	}
}

func indexByte(line []byte, comma byte) int {
	// Fields are short: a call to the assembly of bytes.IndexByte would cost more.
	for i, c := range line {
		if c == comma {
			return i
		}
	}
	return -1
}
