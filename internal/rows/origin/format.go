package origin

import (
	"net/url"
	"os"
	"strings"

	"github.com/sotto-dp/sotto/internal/rows/convert"
)

// Format is how records or rows are stored.
type Format string

// The formats. JSONL, JSON and CSV may be compressed with gzip or zstd.
const (
	JSONL       Format = "jsonl"
	JSON        Format = "json"
	CSV         Format = "csv"
	Workbook    Format = "xlsx"
	ParquetFile Format = "parquet"
	SQL         Format = "sql"
)

// Formats are all of them.
func Formats() []Format { return []Format{CSV, JSONL, JSON, ParquetFile, Workbook, SQL} }

// Converted reports whether a format is read into memory as comma-separated values.
func (f Format) Converted() bool { return f == Workbook || f == JSON }

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
	switch ext := extOf(path); {
	case ext == ".jsonl", ext == ".ndjson":
		return JSONL
	case ext == ".csv", ext == ".tsv":
		return CSV
	case ext == ".json":
		return JSON
	case ext == ".xlsx", ext == ".xlsm":
		return Workbook
	case ext == ".parquet":
		return ParquetFile
	case ext == ".db", ext == ".sqlite", ext == ".sqlite3":
		return SQL
	}
	return ""
}

func extOf(path string) string {
	return convert.Ext(strings.ToLower(path))
}

// NoFormat is the error for a location whose format cannot be read, or is not shown by its name.
func NoFormat(location string) error {
	path, _ := convert.Split(location)
	advice := convert.Advice(extOf(path))
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		advice = "it is a folder: name a file of records; a data set of Hugging Face becomes one by datasets.load_from_disk(FOLDER)['train'].to_parquet('records.parquet')"
	}
	if advice == "" {
		advice = "the name does not show the format"
	}
	return Refuse("%s. What is read: .csv, .tsv, .jsonl and .json (also with .gz or .zst), .parquet, .xlsx, a postgres:// URL or an SQLite file", advice)
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
