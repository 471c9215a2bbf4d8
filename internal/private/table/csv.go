package table

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"io"
	"io/fs"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/internal/csvrows"
	"github.com/sotto-dp/sotto/internal/private/internal/origin"
)

// csvFile is a file of comma-separated values with a header row (RFC 4180), perhaps
// compressed. Rows that cannot be read count as rows; blank lines do not.
type csvFile struct {
	file
	codec origin.Codec
	// head says where the first row begins, in the uncompressed content.
	head csvrows.Head
}

func newCSVFile(path string, format origin.Format, o *Options) (*csvFile, error) {
	f, info, _, err := origin.Rows(path, format, false, origin.Opener(path, o.Private, o.open))
	if err != nil {
		return nil, err
	}
	c := &csvFile{file: file{path, f, info}}
	if err := c.readHeader(path, o); err != nil {
		_ = f.Close() // the error that matters is err
		return nil, err
	}
	return c, nil
}

func (c *csvFile) readHeader(path string, o *Options) (err error) {
	if c.codec, err = origin.FindCodec(path, c.f); err != nil {
		return err
	}
	in, done, err := c.codec.Unpack(origin.Content(c.f, c.info, nil))
	if err != nil {
		return err
	}
	defer done()
	comma, err := origin.Comma(path, c.f)
	if err != nil {
		return err
	}
	if c.head, err = csvrows.Header(in, comma, o.wanted()); err != nil {
		return err
	}
	for _, column := range o.Schema.Columns {
		if slices.Contains(c.head.Names, column.Name) {
			return nil
		}
	}
	return &Error{Code: origin.Columns, Msg: "the first row names no column of the schema: is there a header row?"}
}

func (c *csvFile) header() []string { return c.head.Names }

func (c *csvFile) fingerprint(ctx context.Context, key origin.Key) (sum [32]byte, err error) {
	in, done, err := c.codec.Unpack(origin.Content(c.f, c.info, nil))
	if err != nil {
		return sum, err
	}
	defer done()
	return contentHash(ctx, in, key, c.f, c.info)
}

// contentHash is the fingerprint of a file, as texts have it.
func contentHash(ctx context.Context, in io.Reader, key origin.Key, f origin.File, info fs.FileInfo) (sum [32]byte, err error) {
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
	roles := p.roles(c.head.Names)
	for i := range readers {
		readers[i] = &csvReader{roles: roles, s: p.newSheet(), fields: csvrows.Fields{Comma: c.head.Comma}}
	}
	return c.blocks(ctx, p.workers, p.progress, func(worker int, b *csvrows.Block) error {
		return readers[worker].read(worker, b)
	})
}

// blocks hands the rows to workers, in blocks.
func (c *csvFile) blocks(ctx context.Context, workers int, progress func(read, total int64), each func(worker int, b *csvrows.Block) error) error {
	in, done, err := c.codec.Unpack(origin.Content(c.f, c.info, progress))
	if err != nil {
		return err
	}
	defer done()
	if _, err := io.CopyN(io.Discard, in, c.head.Start); err != nil {
		return origin.Fail(err)
	}
	// Blocks go round: two for each worker, one for the reading.
	free := make(chan *csvrows.Block, 2*workers+1)
	for range cap(free) {
		free <- &csvrows.Block{}
	}
	err = feed(ctx, workers, func(ctx context.Context, put func(*csvrows.Block) error) error {
		return cutCSV(ctx, in, c.head.Comma, free, put)
	}, func(worker int, b *csvrows.Block) error {
		err := each(worker, b)
		free <- b
		return err
	})
	if err != nil {
		return err
	}
	return origin.StillSame(c.f, c.info)
}

// cutCSV reads blocks of whole rows.
func cutCSV(ctx context.Context, in io.Reader, comma byte, free chan *csvrows.Block, put func(*csvrows.Block) error) error {
	rows := csvrows.NewReader(in, 0, csvrows.BlockSize, comma)
	for index, first := int64(0), int64(1); ; index++ {
		var b *csvrows.Block
		select {
		case b = <-free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		err := rows.Fill(b, BatchRows)
		if err != nil && err != io.EOF {
			return origin.Fail(err)
		}
		b.Index, b.First = index, first
		first += int64(len(b.Rows))
		if len(b.Rows) > 0 {
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
	fields csvrows.Fields
}

func (r *csvReader) read(worker int, b *csvrows.Block) error {
	r.s.begin(b.Index, b.First, len(b.Rows))
	for i, row := range b.Rows {
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

func (r *csvReader) slow(i int, data []byte, row csvrows.Row) {
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
