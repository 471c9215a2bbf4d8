package convert

import (
	"os"
	"path/filepath"
	"strings"
)

// Split takes what follows # off a location: the part of it that is meant, such as the sheet of
// a workbook, the split of a folder, or what separates the fields of a CSV file. A file whose
// name has a # is found by its whole name.
func Split(location string) (path, part string) {
	at := strings.LastIndexByte(location, '#')
	if at <= 0 || strings.Contains(location, "://") {
		return location, ""
	}
	if _, err := os.Stat(location); err == nil {
		return location, ""
	}
	return location[:at], location[at+1:]
}

// Ext is the end of a name that shows the format, in lower case, without what says that the
// file is compressed.
func Ext(name string) string {
	name = strings.ToLower(filepath.Base(name))
	return filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst"))
}

// Advice says how to read a file that is of no format here, by the end of its name; "" if there
// is nothing to say.
func Advice(ext string) string {
	switch ext {
	case ".xls", ".xlsb", ".ods", ".numbers":
		return "workbooks are read as .xlsx: save it as that, or as .csv"
	case ".txt", ".dat", ".tab":
		return "the name does not show the format: if it has a header row, and tabs or other characters between fields, rename it to .tsv or .csv"
	case ".arrow", ".feather", ".ipc":
		return "Arrow and Feather files are not read: have pyarrow write Parquet, pyarrow.parquet.write_table(pyarrow.feather.read_table('FILE'), 'records.parquet')"
	case ".orc", ".avro", ".pkl", ".pickle", ".h5", ".hdf5", ".sav", ".dta", ".rds":
		return "write it as .parquet, .csv or .jsonl first"
	case ".duckdb", ".ddb":
		return "a DuckDB file needs DuckDB: have it write the rows, duckdb FILE -c \"COPY (SELECT * FROM the_table) TO 'records.parquet'\""
	}
	return ""
}
