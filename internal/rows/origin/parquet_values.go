package origin

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"
)

// Values reads the values of a column of a row group, forwards: one a row.
type Values struct {
	pages     parquet.Pages
	page      parquet.Page
	values    parquet.ValueReader
	next, end int64 // rows: what comes next, and where the page ends
	buf       [64]parquet.Value
	have      []parquet.Value
}

// NewValues begins to read a column of a row group.
func NewValues(c parquet.ColumnChunk) *Values { return &Values{pages: c.Pages()} }

// At returns the value of a row, which must not be before an earlier one's. It is
// valid until the next call.
func (c *Values) At(n int64) (parquet.Value, error) {
	if n > c.end || c.page == nil {
		if err := c.pages.SeekToRow(n); err != nil {
			return parquet.Value{}, err
		}
		c.end, c.next, c.have = n, n, nil
	}
	for {
		skip := min(n-c.next, int64(len(c.have)))
		if c.have, c.next = c.have[skip:], c.next+skip; len(c.have) > 0 {
			c.next++
			v := c.have[0]
			c.have = c.have[1:]
			return v, nil
		}
		if err := c.fill(); err != nil {
			return parquet.Value{}, err
		}
	}
}

// fill reads more values.
func (c *Values) fill() error {
	for c.next == c.end {
		if c.page != nil {
			parquet.Release(c.page)
		}
		var err error
		if c.page, err = c.pages.ReadPage(); err != nil {
			return err
		}
		c.values, c.end = c.page.Values(), c.end+c.page.NumRows()
	}
	n, err := c.values.ReadValues(c.buf[:])
	if n == 0 {
		return errors.Join(io.ErrUnexpectedEOF, err)
	}
	c.have = c.buf[:n]
	return nil
}

// Close ends the reading.
func (c *Values) Close() error {
	if c.page != nil {
		parquet.Release(c.page)
	}
	return c.pages.Close()
}
