package pages_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sotto-dp/sotto/internal/rows/convert/pages"
)

type row struct {
	Text string   `parquet:"text"`
	Many []string `parquet:"many,list"`
	Some *int64   `parquet:"some,optional"`
	Yes  bool     `parquet:"yes"`
}

var codecs = map[string]compress.Codec{
	"none": &parquet.Uncompressed, "snappy": &parquet.Snappy, "gzip": &parquet.Gzip, "zstd": &parquet.Zstd, "brotli": &parquet.Brotli,
}

func file(t testing.TB, codec compress.Codec, text string, rows int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.Compression(codec))
	for i := range rows {
		n := int64(i)
		if _, err := w.Write([]row{{Text: text, Many: []string{"a", "b"}, Some: &n, Yes: i%2 == 0}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func check(data []byte) error { return pages.Check(bytes.NewReader(data), int64(len(data))) }

// TestGoodFiles: files as the library writes them, compressed in every way, are accepted.
func TestGoodFiles(t *testing.T) {
	for name, codec := range codecs {
		for _, rows := range []int{1, 5000} {
			if err := check(file(t, codec, "some text that continues for a while", rows)); err != nil {
				t.Errorf("%s, %d rows: %v", name, rows, err)
			}
		}
	}
}

// TestPlainBombs: a small file whose page unfolds to more than a page may hold is refused
// without room for it, whatever it is compressed with and whatever the page's head says.
func TestPlainBombs(t *testing.T) {
	pack := func(open func(io.Writer) io.WriteCloser) []byte {
		var b bytes.Buffer
		w := open(&b)
		if _, err := io.CopyN(w, zeros{}, pages.Largest+1); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	small := file(t, &parquet.Snappy, "text", 1)
	p, err := parquet.OpenFile(bytes.NewReader(small), int64(len(small)))
	if err != nil {
		t.Fatal(err)
	}
	for codec, body := range map[format.CompressionCodec][]byte{
		format.Gzip:   pack(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		format.Brotli: pack(func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, 1) }),
		format.Zstd: pack(func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			if err != nil {
				t.Fatal(err)
			}
			return z
		}),
		format.Snappy: append(binary.AppendUvarint(nil, pages.Largest+1), 0, 0),
	} {
		h := format.PageHeader{Type: format.DataPage, UncompressedPageSize: 100, CompressedPageSize: int32(len(body))}
		h.DataPageHeader.Set(format.DataPageHeader{NumValues: 1})
		of := p.Metadata().RowGroups[0].Columns[0].MetaData
		of.Codec = codec
		data := assemble(t, p.Metadata(), &of, h, body)
		if err := check(data); !errors.Is(err, pages.ErrRefused) {
			t.Errorf("%v: %d bytes: %v", codec, len(data), err)
		}
		// The head alone is enough for what it admits.
		for _, change := range []func(*format.PageHeader){
			func(h *format.PageHeader) { h.UncompressedPageSize = pages.Largest + 1 },
			func(h *format.PageHeader) { h.DataPageHeader.V.NumValues = 1 << 30 },
			func(h *format.PageHeader) { h.CompressedPageSize = 1 << 30 },
		} {
			h := h
			change(&h)
			of.Codec = format.Uncompressed
			if err := check(assemble(t, p.Metadata(), &of, h, []byte("few bytes"))); !errors.Is(err, pages.ErrRefused) {
				t.Errorf("%+v: %v", h, err)
			}
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// assemble makes a file of one page.
func assemble(t *testing.T, meta *format.FileMetaData, of *format.ColumnMetaData, h format.PageHeader, body []byte) []byte {
	t.Helper()
	head, err := thrift.Marshal(new(thrift.CompactProtocol), h)
	if err != nil {
		t.Fatal(err)
	}
	content := append(head, body...)
	of.DictionaryPageOffset, of.DataPageOffset, of.TotalCompressedSize = 0, 4, int64(len(content))
	small := format.FileMetaData{Version: 1, Schema: meta.Schema, NumRows: 1, RowGroups: []format.RowGroup{{NumRows: 1, Columns: []format.ColumnChunk{{MetaData: *of}}}}}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), small)
	if err != nil {
		t.Fatal(err)
	}
	return seal(append([]byte("PAR1"), content...), footer)
}

// seal ends a file with a footer.
func seal(body, footer []byte) []byte {
	out := append(bytes.Clone(body), footer...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(footer)))
	return append(out, "PAR1"...)
}

// TestFooters: a footer that claims lists, texts or depths that it has no bytes for is
// refused before anything is made for them.
func TestFooters(t *testing.T) {
	for name, footer := range map[string][]byte{
		"a list of 2^31 structures": {0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07},
		"a text of 2^31 bytes":      {0x68, 0xff, 0xff, 0xff, 0xff, 0x07},
		"a map of 2^31 pairs":       {0x1b, 0xff, 0xff, 0xff, 0xff, 0x07, 0x88},
		"structures without end":    bytes.Repeat([]byte{0x1c}, 10_000),
		"lists without end":         bytes.Repeat([]byte{0x19}, 10_000),
		"many empty structures":     append([]byte{0x29, 0xfc, 0xe8, 0x07}, make([]byte, 1000)...),
		"nothing":                   {},
	} {
		t.Run(name, func(t *testing.T) {
			if err := check(seal([]byte("PAR1"), footer)); !errors.Is(err, pages.ErrRefused) {
				t.Errorf("%v", err)
			}
		})
	}
	good := file(t, &parquet.Snappy, "text", 10)
	for n := range len(good) {
		if err := check(good[:n]); !errors.Is(err, pages.ErrRefused) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

// FuzzCheck: no file makes the check fall over, and what it accepts opens without one that
// is out of memory.
func FuzzCheck(f *testing.F) {
	for _, codec := range codecs {
		f.Add(file(f, codec, "text", 20))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if check(data) != nil {
			return
		}
		defer func() { _ = recover() }() // the library panics on some damaged files, and callers expect it
		_, _ = parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	})
}
