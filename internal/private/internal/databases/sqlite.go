package databases

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto/internal/rows/origin"
	"modernc.org/sqlite" // the driver
)

// Statement is a query without the semicolon that may end it.
func Statement(query string) string { return strings.TrimRight(query, "; \t\r\n") }

// SQLitePath is the file of a location of an SQLite file.
func SQLitePath(location string) (string, error) {
	path, err := filepath.Abs(strings.TrimPrefix(location, "sqlite:"))
	if err != nil {
		return "", &origin.Error{Code: origin.Unusable, Msg: "finding the file", Err: err}
	}
	return path, nil
}

// SQLite opens an SQLite file for reading.
func SQLite(location string) (*sql.DB, error) {
	path, err := SQLitePath(location)
	if err != nil {
		return nil, err
	}
	f, _, err := origin.Open(path, nil)
	if err != nil {
		return nil, err
	}
	// SQLite's locks belong to the process: closing another descriptor of the file
	// ends them, so this one is closed before the first is taken.
	if err := f.Close(); err != nil {
		return nil, origin.Fail(err)
	}
	settings := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)", "busy_timeout(5000)"}}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, origin.Refuse("the SQLite file cannot be opened")
	}
	return db, nil
}

// SQLiteRefused explains an error before any row is read: it quotes at most the query.
func SQLiteRefused(err error) error {
	if ended := origin.Ended(err); ended != nil {
		return ended
	}
	return &origin.Error{Code: origin.Unusable, Msg: "SQLite refuses the query: check the file and the query", Err: err}
}

// Primary result codes of a file that is not as it should be, of SQLite's documentation.
const (
	sqliteCorrupt      = 11
	sqliteNotADatabase = 26
)

// SQLiteFailed returns the code of an error alone, since a message may quote values.
func SQLiteFailed(ctx context.Context, err error) error {
	if ended := origin.Ended(errors.Join(err, ctx.Err())); ended != nil {
		return ended
	}
	if known := (*sqlite.Error)(nil); errors.As(err, &known) {
		switch known.Code() & 0xff {
		case sqliteCorrupt, sqliteNotADatabase:
			return &origin.Error{Code: origin.Damaged, Msg: "the SQLite file is damaged: restore it, or write it again"}
		}
		return &origin.Error{Code: origin.Unreadable, Msg: fmt.Sprintf("SQLite fails with code %d while it reads the records (its message is held back: it could quote one)", known.Code())}
	}
	return &origin.Error{Code: origin.Unreadable, Msg: "SQLite fails while it reads the records (its message is held back: it could quote one)"}
}
