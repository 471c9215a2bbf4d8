package origin

import (
	"errors"
	"io/fs"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sotto-dp/sotto/internal/rows/convert/pages"
)

// Parquet opens a Parquet file.
func Parquet(f File, info fs.FileInfo) (p *parquet.File, err error) {
	err = Calm(func() (err error) {
		if err := pages.Check(f, Length(f, info)); err != nil {
			return err
		}
		p, err = parquet.OpenFile(f, Length(f, info), parquet.SkipBloomFilters(true))
		return err
	})
	return p, err
}

// Calm runs something of the Parquet library. Its errors and panics on a damaged file
// may quote values, and are not passed on.
func Calm(do func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = badParquet()
		}
	}()
	err = do()
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return Fail(failed) // the disk's doing: it names a file and no value
	}
	if err != nil {
		return badParquet()
	}
	return nil
}

func badParquet() error {
	return &Error{Code: Damaged, Msg: "the Parquet file cannot be read: it is damaged, encrypted or of another format; write it again, or name the format"}
}

// CheckCompression refuses a column that is compressed in ways that the library does not
// read well. Of LZ4 it does not read what other programs write, and on a damaged page it
// takes more and more memory.
func CheckCompression(p *parquet.File, c *parquet.Column) error {
	for _, g := range p.Metadata().RowGroups {
		switch codec := g.Columns[c.Index()].MetaData.Codec; codec {
		case format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd:
		default:
			return Refuse("column %q is compressed with %s: write the file with snappy, zstd or gzip", c.Name(), codec)
		}
	}
	return nil
}
