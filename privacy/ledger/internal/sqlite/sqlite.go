package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/sqlchain"
)

// Options of a store. Create makes the file if it is not there.
type Options = sqlchain.Options

// ownLocks makes locks belong to open files instead of the process. Where that
// is not to be had, SQLite's usual locks are as safe as long as nothing else in
// the program closes a descriptor of the file.
var ownLocks = sync.OnceFunc(func() { _, _ = sqlite.OFDLocking(true) })

// Open opens the ledger's log in a file.
func Open(ctx context.Context, path string, opt Options) (chain.Store, error) {
	if path == "" {
		return nil, errors.New("the ledger needs a file name")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	d := dialect
	d.Connect = func(ctx context.Context, create bool) (*sqlchain.Connection, error) {
		c, err := connect(ctx, absolute, create)
		if err != nil {
			return nil, fmt.Errorf("ledger %s: %w", path, err)
		}
		return c, nil
	}
	return sqlchain.Open(ctx, d, opt)
}

// connect opens a connection with the settings that durability rests on.
func connect(ctx context.Context, path string, create bool) (*sqlchain.Connection, error) {
	ownLocks()
	info, err := os.Stat(path)
	missing := errors.Is(err, os.ErrNotExist)
	switch {
	case missing && !create:
		return nil, fmt.Errorf("%w: the file does not exist (is the path right?)", chain.ErrMissing)
	case err != nil && !missing:
		return nil, err
	case err == nil && !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	query := url.Values{"mode": {"rw"}, "_defensive": {"1"}, "_error_rc": {"1"}}
	if missing {
		// SQLite creates the file, with the mode of this one: it must never exist
		// with a wider one, and no other descriptor of it may be closed later.
		model, err := os.CreateTemp(filepath.Dir(path), ".sotto-ledger-mode-*")
		if err != nil {
			return nil, err
		}
		defer os.Remove(model.Name())
		if err := model.Close(); err != nil {
			return nil, err
		}
		query.Set("mode", "rwc")
		query.Set("modeof", model.Name())
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	c, err := sqlchain.Dial(ctx, db, configure)
	return c, explain(err)
}

// settings are set on each connection, and must read back as given.
var settings = []struct{ name, value, reads string }{
	// Short: waiting longer is for the caller, who knows how long it may take.
	{"busy_timeout", "100", "100"},
	{"journal_mode", "DELETE", "delete"},
	{"synchronous", "EXTRA", "3"},
	// Flush the disk's own cache too where the system makes a difference (macOS).
	{"fullfsync", "ON", "1"},
	{"trusted_schema", "OFF", "0"},
	{"cell_size_check", "ON", "1"},
}

func configure(ctx context.Context, c *sql.Conn) error {
	for _, s := range settings {
		if _, err := c.ExecContext(ctx, "PRAGMA "+s.name+" = "+s.value); err != nil {
			return err
		}
		var got string
		if err := c.QueryRowContext(ctx, "PRAGMA "+s.name).Scan(&got); err != nil {
			return err
		}
		if got != s.reads {
			return fmt.Errorf("SQLite has %s = %s where the ledger needs %s; is the file in use by another program?", s.name, got, s.value)
		}
	}
	return nil
}

// explain adds a remedy to errors that a user can fix.
func explain(err error) error {
	switch code(err) {
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("the disk of the ledger is full, free some space: %w", err)
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("the file is not a ledger (not an SQLite database): %w", err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("the ledger and its directory must be writable: %w", err)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("the ledger file is damaged, restore it from a backup: %w", err)
	}
	return err
}

// code is SQLite's primary result code, 0 if the error is not SQLite's.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

func classify(err error) sqlchain.Fault {
	switch code(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return sqlchain.Busy
	}
	if errors.Is(err, sql.ErrConnDone) || errors.Is(err, driver.ErrBadConn) {
		return sqlchain.Lost
	}
	return sqlchain.Failed
}

// notCommitted: a commit that could not get its lock, or for which there was no
// room, has not happened. After any other error, such as one of flushing the
// directory, it may have.
func notCommitted(err error) (sqlchain.Fault, bool) {
	switch code(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return sqlchain.Busy, true
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_CONSTRAINT:
		return sqlchain.Failed, true
	}
	return sqlchain.Lost, false
}
