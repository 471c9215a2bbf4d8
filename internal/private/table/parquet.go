package table

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// parquetFile is a Parquet file. A batch is of one row group.
type parquetFile struct {
	path  string
	f     origin.File
	info  fs.FileInfo
	p     *parquet.File
	names []string
	kinds []cellKind
	// leaves are the numbers of the columns among those that hold values.
	leaves   []int
	optional []bool
}

func newParquetFile(path string, o *Options) (*parquetFile, error) {
	f, info, err := origin.Open(path, o.open)
	if err != nil {
		return nil, err
	}
	s := &parquetFile{path: path, f: f, info: info}
	if s.p, err = origin.Parquet(f, info); err == nil {
		err = s.find(o)
	}
	if err != nil {
		_ = f.Close() // the error that matters is err
		return nil, err
	}
	return s, nil
}

// find looks up what the columns are.
func (s *parquetFile) find(o *Options) (found error) {
	wanted := o.wanted()
	err := origin.Calm(func() error {
		for _, c := range s.p.Root().Columns() {
			kind := kindOf(c)
			if slices.Contains(wanted, c.Name()) {
				if !kind.known {
					found = &Error{Code: origin.Columns, Msg: fmt.Sprintf("column %q is neither of numbers nor of strings or booleans: write it as one of them", c.Name())}
					return nil
				}
				if found = origin.CheckCompression(s.p, c); found != nil {
					return nil
				}
			}
			s.names, s.kinds = append(s.names, c.Name()), append(s.kinds, kind)
			s.leaves, s.optional = append(s.leaves, c.Index()), append(s.optional, c.Optional())
		}
		return nil
	})
	if err != nil {
		return err
	}
	return found
}

func (s *parquetFile) header() []string  { return s.names }
func (s *parquetFile) close() error      { return s.f.Close() }
func (s *parquetFile) stat() fs.FileInfo { return s.info }
func (s *parquetFile) unchanged() error  { return origin.Unchanged(s.path, s.f, s.info) }

func (s *parquetFile) fingerprint(ctx context.Context, key keys.Key) ([32]byte, error) {
	return contentHash(ctx, origin.Content(s.f, s.info, nil), key, s.f, s.info)
}

// cellKind is what values of a column are.
type cellKind struct {
	physical parquet.Kind
	known    bool
	unsigned bool
	uuid     bool
	// days: whole numbers are dates.
	days bool
	// decimals is the number of digits after the point of a decimal, otherwise -1.
	decimals int
}

func kindOf(c *parquet.Column) cellKind {
	if !c.Leaf() || c.Repeated() {
		return cellKind{}
	}
	k := cellKind{physical: c.Type().Kind(), known: true, decimals: -1}
	switch logical := origin.Logical(c).(type) {
	case nil:
		if k.physical == parquet.FixedLenByteArray || k.physical == parquet.Int96 || c.Type().ConvertedType() != nil && k.physical != parquet.ByteArray {
			return cellKind{}
		}
	case *format.StringType, *format.EnumType:
	case *format.IntType:
		k.unsigned = !logical.IsSigned
	case *format.DateType:
		k.days = true
	case *format.UUIDType:
		k.uuid = true
	case *format.DecimalType:
		if k.decimals = int(logical.Scale); k.physical != parquet.Int32 && k.physical != parquet.Int64 || k.decimals > 18 || k.decimals < 0 {
			return cellKind{}
		}
	default:
		return cellKind{}
	}
	return k
}

// span is some rows of a row group: what one worker reads at a time.
type span struct {
	group parquet.RowGroup
	// from is the first row in the group, batch and first the numbers of the first batch
	// and the first row.
	from, rows, batch, first int64
}

// spanBatches is how many batches a worker reads at a time, where a row group can be
// entered in the middle.
const spanBatches = 16

// spans cuts the file. The batches are the same however it is cut.
func (s *parquetFile) spans(columns []int) []span {
	var out []span
	batch, first := int64(0), int64(1)
	for _, g := range s.p.RowGroups() {
		rows := g.NumRows()
		step := rows
		if s.seekable(g, columns) {
			step = spanBatches * BatchRows
		}
		for from := int64(0); from < rows; from += step {
			n := min(step, rows-from)
			out = append(out, span{g, from, n, batch + from/BatchRows, first + from})
		}
		batch += (rows + BatchRows - 1) / BatchRows
		first += rows
	}
	return out
}

// seekable reports whether a group has an index of its pages. (The library cuts pages of
// booleans at bits, which are then hard to find.)
func (s *parquetFile) seekable(g parquet.RowGroup, columns []int) bool {
	chunks := g.ColumnChunks()
	for _, c := range columns {
		index, err := chunks[s.leaves[c]].OffsetIndex()
		if err != nil || index == nil || index.NumPages() == 0 || s.kinds[c].physical == parquet.Boolean {
			return false
		}
	}
	return true
}

func (s *parquetFile) scan(ctx context.Context, p *pass) error {
	roles := p.roles(s.names)
	var columns []int
	for c, r := range roles {
		if r != nil {
			columns = append(columns, c)
		}
	}
	var spans []span
	if err := origin.Calm(func() error { spans = s.spans(columns); return nil }); err != nil {
		return err
	}
	progress := &parquetProgress{s: s, report: p.progress}
	sheets := make([]*sheet, p.workers)
	for i := range sheets {
		sheets[i] = p.newSheet()
	}
	err := feed(ctx, p.workers, func(_ context.Context, put func(span) error) error {
		for _, g := range spans {
			if err := put(g); err != nil {
				return err
			}
		}
		return nil
	}, func(worker int, g span) error {
		r := &groupReader{s: s, sheet: sheets[worker], roles: roles, columns: columns}
		err := r.read(ctx, worker, g)
		progress.add(g.rows)
		return err
	})
	if err != nil {
		return err
	}
	return origin.StillSame(s.f, s.info)
}

// parquetProgress reports bytes in proportion to rows.
type parquetProgress struct {
	s      *parquetFile
	mu     sync.Mutex
	rows   atomic.Int64
	report func(read, total int64)
}

func (p *parquetProgress) add(rows int64) {
	if p.report == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	share := float64(p.rows.Add(rows)) / float64(max(p.s.p.NumRows(), 1))
	p.report(int64(share*float64(p.s.info.Size())), p.s.info.Size())
}

// groupReader reads a span of a row group, column by column.
type groupReader struct {
	s       *parquetFile
	sheet   *sheet
	roles   [][]int
	columns []int
	chunks  []*chunk
}

func (r *groupReader) read(ctx context.Context, worker int, g span) error {
	defer r.close()
	err := origin.Calm(func() error {
		all := g.group.ColumnChunks()
		for _, c := range r.columns {
			k := &chunk{kind: r.s.kinds[c], optional: r.s.optional[c], pages: all[r.s.leaves[c]].Pages()}
			r.chunks = append(r.chunks, k)
			if g.from > 0 {
				if err := k.pages.SeekToRow(g.from); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for done := int64(0); done < g.rows; done += BatchRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := int(min(BatchRows, g.rows-done))
		r.sheet.begin(g.batch+done/BatchRows, g.first+done, n)
		err := origin.Calm(func() error {
			for i, k := range r.chunks {
				if err := k.fill(r.sheet, r.roles[r.columns[i]], n); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := r.sheet.finish(worker); err != nil {
			return err
		}
	}
	return nil
}

func (r *groupReader) close() {
	_ = origin.Calm(func() error { // nothing was written
		for _, k := range r.chunks {
			k.close()
		}
		return nil
	})
}
