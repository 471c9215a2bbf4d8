// Package pages checks a Parquet file before it is decoded.
//
// The library believes what a file says of itself: a footer of twenty bytes makes it ask
// for a list of two thousand million columns, and a page of some kilobytes for as much
// memory as its compressed content unfolds to. [Check] reads the structure alone: the
// footer, and the head of every page. What it accepts takes at most a constant multiple of
// the file's size for the footer, and [Largest] bytes for the content of a page.
//
// Not checked is how often a run-length encoded value within a page repeats: that is seen
// only once the page is unfolded.
package pages

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// Largest is the size of the largest page, uncompressed. Writers make pages of a
	// megabyte or so.
	Largest = 256 << 20
	// maxValues is how many values a page may have.
	maxValues = 1 << 25
	// longestHead is the size of the longest head of a page, with its statistics.
	longestHead = 1 << 20
)

// ErrRefused is the error of a file that is damaged or asks for too much memory.
var ErrRefused = errors.New("the Parquet file is damaged, or its pages are larger than is read")

const tail = 8 // the footer's length and the magic number

// Check looks at a file of a size. Its error is [ErrRefused], or that of reading.
func Check(r io.ReaderAt, size int64) error {
	footer, err := readFooter(r, size)
	if err != nil {
		return err
	}
	w := walker{data: footer}
	if !w.structure(0) {
		return ErrRefused
	}
	var meta format.FileMetaData
	if thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(footer)).Decode(&meta) != nil {
		return ErrRefused
	}
	for _, g := range meta.RowGroups {
		for _, c := range g.Columns {
			if err := checkIndexes(r, size, &c); err != nil {
				return err
			}
			k := chunk{r: r, of: &c.MetaData}
			if err := k.check(size); err != nil {
				return err
			}
		}
	}
	return nil
}

func readFooter(r io.ReaderAt, size int64) ([]byte, error) {
	var end [tail]byte
	if size < tail+4 {
		return nil, ErrRefused
	}
	if err := readAll(r, end[:], size-tail); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(end[:]))
	if string(end[4:]) != "PAR1" || length > size-tail-4 {
		return nil, ErrRefused
	}
	footer := make([]byte, length)
	return footer, readAll(r, footer, size-tail-length)
}

// checkIndexes looks at the indexes of a chunk's pages, which are read with the footer.
func checkIndexes(r io.ReaderAt, size int64, c *format.ColumnChunk) error {
	for _, part := range []struct {
		offset int64
		length int32
	}{{c.ColumnIndexOffset, c.ColumnIndexLength}, {c.OffsetIndexOffset, c.OffsetIndexLength}} {
		if part.offset == 0 && part.length == 0 {
			continue
		}
		if part.length < 0 || part.offset < 0 || part.offset > size-int64(part.length) {
			return ErrRefused
		}
		data := make([]byte, part.length)
		if err := readAll(r, data, part.offset); err != nil {
			return err
		}
		if w := (walker{data: data}); len(data) > 0 && !w.structure(0) {
			return ErrRefused
		}
	}
	return nil
}

// chunk is a column of a row group.
type chunk struct {
	r  io.ReaderAt
	of *format.ColumnMetaData
}

// check goes from page to page.
func (k *chunk) check(size int64) error {
	at := k.of.DataPageOffset
	if k.of.DictionaryPageOffset != 0 {
		at = k.of.DictionaryPageOffset
	}
	end := at + k.of.TotalCompressedSize
	if at < 0 || k.of.TotalCompressedSize < 0 || end < at || end > size {
		return ErrRefused
	}
	for at < end {
		head, length, err := k.head(at, end)
		if err != nil {
			return err
		}
		at += length
		next := at + int64(head.CompressedPageSize)
		if next > end || !sane(head) {
			return ErrRefused
		}
		if err := k.content(head, at, next); err != nil {
			return err
		}
		at = next
	}
	return nil
}

// head reads the head of a page, and returns its length.
func (k *chunk) head(at, end int64) (*format.PageHeader, int64, error) {
	for _, limit := range []int64{512, longestHead} {
		data := make([]byte, min(limit, end-at))
		if err := readAll(k.r, data, at); err != nil {
			return nil, 0, err
		}
		w := walker{data: data}
		if !w.structure(0) {
			continue
		}
		h := new(format.PageHeader)
		if thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(data[:w.at])).Decode(h) != nil {
			return nil, 0, ErrRefused
		}
		return h, int64(w.at), nil
	}
	return nil, 0, ErrRefused
}

// sane reports whether a page is no larger than pages are.
func sane(h *format.PageHeader) bool {
	values := int32(0)
	switch {
	case h.DataPageHeader.Valid:
		values = h.DataPageHeader.V.NumValues
	case h.DataPageHeaderV2.Valid:
		v := h.DataPageHeaderV2.V
		values = max(v.NumValues, v.NumNulls, v.NumRows)
		if min(v.NumValues, v.NumNulls, v.NumRows, v.RepetitionLevelsByteLength, v.DefinitionLevelsByteLength) < 0 ||
			int64(v.RepetitionLevelsByteLength)+int64(v.DefinitionLevelsByteLength) > int64(h.CompressedPageSize) {
			return false
		}
	case h.DictionaryPageHeader.Valid:
		values = h.DictionaryPageHeader.V.NumValues
	}
	return h.CompressedPageSize >= 0 && h.UncompressedPageSize >= 0 && h.UncompressedPageSize <= Largest && h.CompressedPageSize <= Largest &&
		values >= 0 && values <= maxValues
}

// readAll fills a buffer. A file that ends before is damaged.
func readAll(r io.ReaderAt, buf []byte, at int64) error {
	n, err := r.ReadAt(buf, at)
	switch {
	case n == len(buf):
		return nil
	case errors.Is(err, io.EOF):
		return ErrRefused
	}
	return err
}
