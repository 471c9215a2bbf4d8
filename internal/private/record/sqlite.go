package record

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/sotto-dp/sotto/internal/private/internal/origin"
)

// sqliteQuery is a query on an SQLite file. Each pass is a statement of its own, so that
// others can write in between; the checksums show if they changed what is read.
type sqliteQuery struct {
	result
	db *sql.DB
}

func newSQLite(ctx context.Context, location string, o *Options) (_ *sqliteQuery, err error) {
	db, err := origin.SQLite(location)
	if err != nil {
		return nil, err
	}
	s := &sqliteQuery{newResult(o), db}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	// No row is read here, so that an error is about the query alone.
	rows, err := db.QueryContext(ctx, "SELECT * FROM (\n"+s.query+"\n) LIMIT 0")
	if err != nil {
		return nil, origin.SQLiteRefused(err)
	}
	defer rows.Close()
	if s.header, err = rows.Columns(); err != nil {
		return nil, origin.SQLiteFailed(ctx, err)
	}
	s.roles, err = findColumns(s.header, o)
	return s, err
}

func (s *sqliteQuery) scan(ctx context.Context, w *witness, yield func(*row) error) error {
	content := newRowHash(w, s.header)
	place, read := int64(0), int64(0)
	var values []value
	return origin.Each(ctx, s.db, origin.SQLiteFailed, s.query, nil, func(cells []any) error {
		values = values[:0]
		for i, cell := range cells {
			v := cellValue(cell)
			content.add(i, v.s, v.kind != absent)
			read += int64(len(v.s))
			values = append(values, v)
		}
		content.flush()
		if place%1024 == 0 {
			s.report(w, read)
		}
		place++
		return yield(s.row(place-1, func(i int) value { return values[i] }))
	})
}

// cellValue turns what the driver gives into text.
func cellValue(cell any) value {
	switch v := cell.(type) {
	case nil:
		return value{}
	case string:
		return value{text, v}
	case []byte:
		return value{text, string(v)}
	case int64:
		return value{scalar, strconv.FormatInt(v, 10)}
	case float64:
		return value{scalar, strconv.FormatFloat(v, 'g', -1, 64)}
	case bool:
		return value{scalar, strconv.FormatBool(v)}
	case time.Time:
		return value{scalar, v.UTC().Format(time.RFC3339Nano)}
	}
	return value{kind: compound}
}

func (s *sqliteQuery) fetch(ctx context.Context, at []spot, yield func(int, *row) error) error {
	return fetchByScan(ctx, s, at, yield)
}

func (s *sqliteQuery) close() error { return s.db.Close() }
