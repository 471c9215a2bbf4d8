//go:build cgo

package duckdb

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/sotto-dp/sotto/internal/private/table"
)

// Open opens a table or a query of a DuckDB file, for reading only. What the result does is
// reported by package table.
func Open(ctx context.Context, path string, o table.Options) (*table.Data, error) {
	full, err := locate(path)
	if err != nil {
		return nil, err
	}
	settings := url.Values{
		"access_mode":                  {"READ_ONLY"},
		"enable_external_access":       {"false"},
		"autoinstall_known_extensions": {"false"},
		"autoload_known_extensions":    {"false"},
		"allow_community_extensions":   {"false"},
		"errors_as_json":               {"false"},
	}
	connector, err := duckdb.NewConnector(full+"?"+settings.Encode(), nil)
	if err != nil {
		msg := fmt.Sprintf("opening %s: it is not a DuckDB file that this version reads, or another program writes to it: close that, or export and import the file", path)
		return nil, &table.Error{Code: table.Unusable, Msg: msg, Err: err}
	}
	return table.OpenDB(ctx, sql.OpenDB(connector), dialect, []string{full}, o)
}

// locate finds a file: DuckDB would make one that is not there.
func locate(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("opening the table: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", unusable("%s is not a regular file: name a DuckDB file", path)
	}
	full, err := filepath.Abs(path)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return "", fmt.Errorf("opening the table: %w", err)
	}
	if strings.Contains(full, "?") {
		return "", unusable("%s has a question mark in its name: rename it", path)
	}
	return full, nil
}

func unusable(format string, args ...any) error {
	return &table.Error{Code: table.Unusable, Msg: "opening the table: " + fmt.Sprintf(format, args...)}
}

// dialect of DuckDB. Its cast of decimals to doubles does not always round to the nearest,
// that of texts does.
var dialect = table.Dialect{
	Name:   "DuckDB",
	Double: "DOUBLE", Integer: "BIGINT", String: "VARCHAR",
	Least: "least", Greatest: "greatest",
	Param: func(n int) string { return "$" + strconv.Itoa(n) },
	IsNaN: func(x string) string { return "isnan(" + x + ")" },
	Plain: func(x string) string { return "(CAST(" + x + " AS VARCHAR) COLLATE C)" },
	Trim:  func(x, characters string) string { return "trim(" + x + ", " + characters + ")" },
	FromDecimal: func(x string) string {
		return "CAST(CAST(" + x + " AS VARCHAR) AS DOUBLE)"
	},
	Address: "CAST(sotto_rows.rowid AS VARCHAR)",
	// Hexadecimal digits of the same number compare as the bytes do.
	Hash:      func(key, text string) string { return "sha256(CAST(" + key + " AS VARCHAR) || " + text + ")" },
	Key:       func(key [32]byte) any { return hex.EncodeToString(key[:]) },
	Threshold: func(t uint64) any { return fmt.Sprintf("%016x", t) },
	Sets:      true,
	Classify:  classify,
}

func classify(name string) table.Class {
	switch base, _, _ := strings.Cut(name, "("); base {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT":
		return table.Int
	case "FLOAT", "DOUBLE":
		return table.Float
	case "DECIMAL", "HUGEINT", "UHUGEINT", "BIGNUM":
		return table.Decimal
	case "VARCHAR", "ENUM", "BOOLEAN", "UUID", "DATE", "TIME", "TIMETZ", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ":
		return table.Text
	}
	return table.Opaque
}
