package record

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
	"github.com/sotto-dp/sotto/internal/rows"
)

// sqliteQuery is a query on an SQLite file. Each pass is a statement of its own, so that
// others can write in between; the checksums show if they changed what is read.
type sqliteQuery struct {
	result
	db *sql.DB
}

func newSQLite(ctx context.Context, location string, o *Options) (_ *sqliteQuery, err error) {
	db, err := databases.SQLite(location)
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
		return nil, databases.SQLiteRefused(err)
	}
	defer rows.Close()
	if s.header, err = rows.Columns(); err != nil {
		return nil, databases.SQLiteFailed(ctx, err)
	}
	s.roles, err = findColumns(s.header, o)
	return s, err
}

func (s *sqliteQuery) scan(ctx context.Context, w *witness, yield func(*rows.Row) error) error {
	content := newRowHash(w, s.header)
	place, read := int64(0), int64(0)
	var values []rows.Value
	return databases.Each(ctx, s.db, databases.SQLiteFailed, s.query, nil, func(cells []any) error {
		values = values[:0]
		for i, cell := range cells {
			v := cellValue(cell)
			content.add(i, v.S, v.Kind != rows.Absent)
			read += int64(len(v.S))
			values = append(values, v)
		}
		content.flush()
		if place%1024 == 0 {
			s.report(w, read)
		}
		place++
		return yield(s.row(place-1, func(i int) rows.Value { return values[i] }))
	})
}

// cellValue turns what the driver gives into text.
func cellValue(cell any) rows.Value {
	switch v := cell.(type) {
	case nil:
		return rows.Value{}
	case string:
		return rows.Value{Kind: rows.Text, S: v}
	case []byte:
		return rows.Value{Kind: rows.Text, S: string(v)}
	case int64:
		return rows.Value{Kind: rows.Scalar, S: strconv.FormatInt(v, 10)}
	case float64:
		return rows.Value{Kind: rows.Scalar, S: strconv.FormatFloat(v, 'g', -1, 64)}
	case bool:
		return rows.Value{Kind: rows.Scalar, S: strconv.FormatBool(v)}
	case time.Time:
		return rows.Value{Kind: rows.Scalar, S: v.UTC().Format(time.RFC3339Nano)}
	}
	return rows.Value{Kind: rows.Compound}
}

func (s *sqliteQuery) fetch(ctx context.Context, at []spot, yield func(int, *rows.Row) error) error {
	return fetchByScan(ctx, s, at, yield)
}

func (s *sqliteQuery) close() error { return s.db.Close() }
