package origin

import (
	"net/url"
	"os"
	"strings"

	"github.com/sotto-dp/sotto/internal/rows/convert"
)

// Format is how records or rows are stored.
type Format string

// The formats that are read as they are. JSONL and CSV may be compressed with gzip or zstd. All
// others are those of package convert.
const (
	JSONL       Format = "jsonl"
	CSV         Format = "csv"
	ParquetFile Format = "parquet"
	SQL         Format = "sql"
)

// Converted reports whether a format is read into memory as comma-separated values.
func (f Format) Converted() bool {
	switch convert.Kind(f) {
	case convert.Workbook, convert.Arrow, convert.JSON, convert.Folder:
		return true
	}
	return false
}

// SealedExt is the end of the name of a file that is encrypted, after that of its format.
const SealedExt = ".age"

// IsSealed reports whether the name of a file says that it is encrypted.
func IsSealed(path string) bool { return strings.HasSuffix(strings.ToLower(path), SealedExt) }

// IsPostgres reports whether a location is a PostgreSQL server.
func IsPostgres(location string) bool {
	u, err := url.Parse(location)
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql")
}

// FormatOf finds the format of a location by its name or scheme; "" if these do not show it.
func FormatOf(location string) Format {
	if IsPostgres(location) || strings.HasPrefix(location, "sqlite:") {
		return SQL
	}
	path, _ := convert.Split(location)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return Format(convert.Folder)
	}
	switch ext := extOf(path); {
	case ext == ".jsonl", ext == ".ndjson":
		return JSONL
	case ext == ".csv", ext == ".tsv":
		return CSV
	case convert.KindOf(ext) != "":
		return Format(convert.KindOf(ext))
	case ext == ".parquet":
		return ParquetFile
	case IsSealed(path): // a database cannot be read where it is encrypted
		return ""
	case ext == ".db", ext == ".sqlite", ext == ".sqlite3":
		return SQL
	}
	return ""
}

func extOf(path string) string {
	return convert.Ext(strings.TrimSuffix(strings.ToLower(path), SealedExt))
}

// NoFormat is the error for a location whose format cannot be read, or is not shown by its name.
func NoFormat(location string) error {
	path, _ := convert.Split(location)
	advice := convert.Advice(extOf(path))
	if advice == "" {
		advice = "the name does not show the format"
	}
	return Refuse("%s. What is read: .csv, .tsv, .jsonl and .json (also with .gz or .zst), .parquet, .xlsx, .arrow, a folder of Hugging Face datasets, a postgres:// URL or an SQLite file", advice)
}

// OnError says what becomes of records or rows that cannot be used.
type OnError string

// The ways to treat them.
const (
	// OnErrorFail refuses a source that has any. The default.
	OnErrorFail OnError = "fail"
	// OnErrorSkip leaves them out and counts them.
	OnErrorSkip OnError = "skip"
)

// Check sets the default, and refuses what is no way.
func (o *OnError) Check() error {
	switch *o {
	case "":
		*o = OnErrorFail
	case OnErrorFail, OnErrorSkip:
	default:
		return Refuse("on error: %q is neither %q nor %q", *o, OnErrorFail, OnErrorSkip)
	}
	return nil
}
