package table

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// sqliteFile is a connection to an SQLite file. Every statement outside of a transaction sees
// the latest state, and a transaction keeps one.
type sqliteFile struct {
	mu   sync.Mutex
	db   *sql.DB
	c    *sql.Conn
	path string
}

func newSQLite(ctx context.Context, location string) (_ engine, err error) {
	db, err := databases.SQLite(location)
	if err != nil {
		return nil, err
	}
	s := &sqliteFile{db: db}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if s.path, err = databases.SQLitePath(location); err == nil {
		s.path, err = filepath.EvalSymlinks(s.path)
	}
	if err != nil {
		return nil, origin.Fail(err)
	}
	if s.c, err = db.Conn(ctx); err != nil {
		return nil, databases.SQLiteRefused(err)
	}
	return s, nil
}

func (s *sqliteFile) dialect() dialect { return dialect{"REAL", "TEXT"} }

func (s *sqliteFile) describe(ctx context.Context, from string) (names []string, classes []class, err error) {
	// No row is read, so that an error is about the query alone.
	rows, err := s.c.QueryContext(ctx, "SELECT * FROM "+from+" LIMIT 0")
	if err != nil {
		return nil, nil, databases.SQLiteRefused(err)
	}
	defer rows.Close()
	if names, err = rows.Columns(); err != nil {
		return nil, nil, databases.SQLiteRefused(err)
	}
	for range names {
		classes = append(classes, anything)
	}
	return names, classes, nil
}

func (s *sqliteFile) begin(ctx context.Context) (func(), error) {
	s.mu.Lock()
	if _, err := s.c.ExecContext(ctx, "BEGIN TRANSACTION"); err != nil {
		s.mu.Unlock()
		return nil, databases.SQLiteFailed(ctx, err)
	}
	return func() {
		// Nothing was written. The context may have ended.
		_, _ = s.c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		s.mu.Unlock()
	}, nil
}

func (s *sqliteFile) query(ctx context.Context, statement string, row func([]cell) error) error {
	var cells []cell
	return databases.Each(ctx, s.c, databases.SQLiteFailed, statement, nil, func(values []any) error {
		cells = cells[:0]
		for _, v := range values {
			cells = append(cells, cellOf(v))
		}
		return row(cells)
	})
}

// cellOf takes what a driver gives.
func cellOf(v any) cell {
	switch v := v.(type) {
	case nil:
		return cell{}
	case string:
		return cell{kind: textCell, text: []byte(v)}
	case []byte:
		return cell{kind: textCell, text: v}
	case int64:
		return cell{kind: wholeCell, whole: v}
	case int32:
		return cell{kind: wholeCell, whole: int64(v)}
	case float64:
		return cell{kind: numberCell, number: v}
	case bool:
		return cell{kind: textCell, text: fmt.Append(nil, v)}
	}
	return cell{kind: otherCell}
}

func (s *sqliteFile) place(context.Context) ([]string, error) {
	return []string{"SQLite", s.path}, nil
}

// identity takes the last part, as databases in a file do that do not mind capitals.
func (s *sqliteFile) identity(_ context.Context, name []string) ([]string, error) {
	return []string{strings.ToLower(name[len(name)-1])}, nil
}

func (s *sqliteFile) close() error { return errors.Join(s.c.Close(), s.db.Close()) }
