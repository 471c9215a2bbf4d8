package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver

	"github.com/sotto-dp/sotto/internal/sys/pgtls"
)

// Store is an open store. Its methods may be called concurrently, by many processes.
type Store struct {
	db       *sql.DB
	postgres bool
	now      func() time.Time
}

// ErrStore means that the database failed.
var ErrStore = errors.New("the service's store")

func failed(err error) error { return fmt.Errorf("%w: %w", ErrStore, err) }

// ErrMissing means that there is no store at the address.
var ErrMissing = errors.New("there is no service store here")

// Open opens the store at an address: a path, or a PostgreSQL URL. create makes it if it is
// not there.
func Open(ctx context.Context, address string, create bool) (_ *Store, err error) {
	s := &Store{now: time.Now}
	if strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://") {
		err = s.openPostgres(address)
	} else {
		err = s.openSQLite(address, create)
	}
	if err != nil {
		return nil, failed(err)
	}
	if err := s.makeTables(ctx, create); err != nil {
		return nil, errors.Join(failed(err), s.db.Close())
	}
	return s, nil
}

func (s *Store) openPostgres(address string) error {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return err // pgx removes the password
	}
	if err := pgtls.Require(config, address); err != nil {
		return err
	}
	s.db, s.postgres = stdlib.OpenDB(*config), true
	s.db.SetMaxOpenConns(8)
	s.db.SetConnMaxIdleTime(5 * time.Minute)
	return nil
}

func (s *Store) openSQLite(path string, create bool) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(absolute)
	switch {
	case errors.Is(err, os.ErrNotExist) && !create:
		return fmt.Errorf("%w: %s does not exist", ErrMissing, path)
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(absolute), 0o700); err != nil {
			return err
		}
		// It must never exist with a wider mode than this.
		f, err := os.OpenFile(absolute, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if err == nil {
			if err := f.Close(); err != nil {
				return err
			}
		}
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	}
	query := url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "trusted_schema(OFF)",
	}}
	s.db, err = sql.Open("sqlite", (&url.URL{Scheme: "file", Path: absolute, RawQuery: query.Encode()}).String())
	if err != nil {
		return err
	}
	s.db.SetMaxOpenConns(4)
	return nil
}

// Close closes the store.
func (s *Store) Close() error { return s.db.Close() }

// write carries out a change in one transaction, notes it in the audit log, and advances the
// generation.
func (s *Store) write(ctx context.Context, by Actor, action, subject string, change func(*sql.Tx) error) error {
	return s.transact(ctx, func(tx *sql.Tx) error {
		// The first statement takes the row that every change takes, so that changes come one
		// after the other.
		if err := exec(ctx, tx, "UPDATE service_state SET generation = generation + 1"); err != nil {
			return err
		}
		if err := change(tx); err != nil {
			return err
		}
		return s.note(ctx, tx, by, action, subject)
	})
}

// Note adds an entry to the audit log about something that changes nothing else, so that nobody
// reads the store anew for it.
func (s *Store) Note(ctx context.Context, by Actor, action, subject string) error {
	return s.note(ctx, s.db, by, action, subject)
}

// note adds an entry to the audit log.
func (s *Store) note(ctx context.Context, in querier, by Actor, action, subject string) error {
	return exec(ctx, in, "INSERT INTO service_audit (at, actor, action, subject) VALUES ($1, $2, $3, $4)", s.now().UnixMilli(), string(by), action, subject)
}

// transact carries out a change in one transaction. It does not advance the generation.
func (s *Store) transact(ctx context.Context, change func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if err := change(tx); err != nil {
		return sorted(err)
	}
	if err := tx.Commit(); err != nil {
		return failed(err)
	}
	return nil
}

// Generation is a number that changes with every change.
func (s *Store) Generation(ctx context.Context) (n int64, err error) {
	if err := s.db.QueryRowContext(ctx, "SELECT generation FROM service_state").Scan(&n); err != nil {
		return 0, failed(err)
	}
	return n, nil
}

// Actor names who makes a change: a person's account, or a key's.
type Actor string

// Entry of the audit log.
type Entry struct {
	At      time.Time `json:"at"`
	Actor   Actor     `json:"actor"`
	Action  string    `json:"action"`
	Subject string    `json:"subject"`
}

// Audit returns the latest changes, at most so many, the newest first.
func (s *Store) Audit(ctx context.Context, limit int) ([]Entry, error) {
	return list(ctx, s.db, func(rows *sql.Rows, e *Entry) error {
		return rows.Scan(instant(&e.At), &e.Actor, &e.Action, &e.Subject)
	},
		"SELECT at, actor, action, subject FROM service_audit ORDER BY id DESC LIMIT $1", limit)
}
