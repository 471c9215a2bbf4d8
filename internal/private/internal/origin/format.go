package origin

import (
	"path/filepath"
	"strings"
)

// Format is how records or rows are stored.
type Format string

// The formats. JSONL and CSV may be compressed with gzip or zstd.
const (
	JSONL       Format = "jsonl"
	CSV         Format = "csv"
	ParquetFile Format = "parquet"
	SQL         Format = "sql"
)

// FormatOf finds the format of a location by its name or scheme; "" if these do not show it.
func FormatOf(location string) Format {
	if IsPostgres(location) || strings.HasPrefix(location, "sqlite:") {
		return SQL
	}
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(location)), SealedExt)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	switch ext := filepath.Ext(name); {
	case ext == ".jsonl", ext == ".ndjson":
		return JSONL
	case ext == ".csv":
		return CSV
	case ext == ".parquet":
		return ParquetFile
	case IsSealed(location): // a database cannot be read where it is encrypted
		return ""
	case ext == ".db", ext == ".sqlite", ext == ".sqlite3":
		return SQL
	}
	return ""
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
