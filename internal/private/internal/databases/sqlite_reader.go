package databases

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// sqliteFile is a connection to an SQLite file. A pass is a transaction of its own, so that others
// can write in between.
type sqliteFile struct {
	mu   sync.Mutex
	db   *sql.DB
	c    *sql.Conn
	path string
}

func openSQLite(ctx context.Context, location string) (_ DB, err error) {
	db, err := SQLite(location)
	if err != nil {
		return nil, err
	}
	s := &sqliteFile{db: db}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if s.path, err = SQLitePath(location); err == nil {
		s.path, err = filepath.EvalSymlinks(s.path)
	}
	if err != nil {
		return nil, origin.Fail(err)
	}
	if s.c, err = db.Conn(ctx); err != nil {
		return nil, SQLiteRefused(err)
	}
	return s, nil
}

func (s *sqliteFile) Describe(ctx context.Context, query string) (out []Column, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// No row is read, so that an error is about the query alone.
	rows, err := s.c.QueryContext(ctx, "SELECT * FROM (\n"+query+"\n) LIMIT 0")
	if err != nil {
		return nil, SQLiteRefused(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, SQLiteFailed(ctx, err)
	}
	for _, t := range types {
		out = append(out, Column{Name: t.Name(), Class: Any, Declared: t.DatabaseTypeName()})
	}
	return out, nil
}

func (s *sqliteFile) Scan(ctx context.Context, query string, row func([]Cell) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.c.ExecContext(ctx, "BEGIN TRANSACTION"); err != nil {
		return SQLiteFailed(ctx, err)
	}
	defer func() {
		// Nothing was written. The context may have ended.
		_, _ = s.c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}()
	rows, err := s.c.QueryContext(ctx, query)
	if err != nil {
		return SQLiteFailed(ctx, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return SQLiteFailed(ctx, err)
	}
	values, into, cells := make([]any, len(names)), make([]any, len(names)), make([]Cell, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return SQLiteFailed(ctx, err)
		}
		for i, v := range values {
			cells[i] = cellOf(v)
		}
		if err := row(cells); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return SQLiteFailed(ctx, err)
	}
	return nil
}

// cellOf takes what the driver gives.
func cellOf(v any) Cell {
	switch v := v.(type) {
	case nil:
		return Cell{Null: true}
	case string:
		return Cell{Class: Text, text: append([]byte{}, v...)}
	case []byte:
		return Cell{Class: Text, text: append([]byte{}, v...)}
	case int64:
		return Cell{Class: Whole, whole: v}
	case float64:
		return Cell{Class: Float, number: v}
	case bool:
		if v {
			return Cell{Class: Scalar, text: []byte("true")}
		}
		return Cell{Class: Scalar, text: []byte("false")}
	case time.Time:
		return Cell{Class: Scalar, text: v.UTC().AppendFormat(nil, time.RFC3339Nano)}
	}
	return Cell{Class: Opaque}
}

var errEnough = errors.New("enough")

// Fetch reads up to the last row that is wanted: SQLite has no way around those before it.
func (s *sqliteFile) Fetch(ctx context.Context, query string, places []int64, row func(int, []Cell) error) (int, error) {
	next, place := 0, int64(-1)
	if len(places) == 0 {
		return 0, nil
	}
	err := s.Scan(ctx, query, func(cells []Cell) error {
		if place++; places[next] != place {
			return nil
		}
		if err := row(next, cells); err != nil {
			return err
		}
		if next++; next == len(places) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return next, err
}

func (s *sqliteFile) Place(context.Context) ([]string, error) {
	return []string{"SQLite", s.path}, nil
}

// Identity takes the last part, as databases in a file do that do not mind capitals.
func (s *sqliteFile) Identity(_ context.Context, name []string) ([]string, error) {
	return []string{strings.ToLower(name[len(name)-1])}, nil
}

func (s *sqliteFile) Close() error { return errors.Join(s.c.Close(), s.db.Close()) }
