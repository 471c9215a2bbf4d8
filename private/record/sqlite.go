package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite" // the driver
)

// sqliteQuery is a query on an SQLite file. The place of a row is its number in the
// result, from 0. Each pass is a statement of its own, so that others can write in
// between; the checksums tell if they changed what is read.
type sqliteQuery struct {
	db     *sql.DB
	query  string
	header []string
	roles  [][]int
	tell   func(read, total int64)
}

func newSQLite(ctx context.Context, location string, o *Options) (_ *sqliteQuery, err error) {
	path, err := filepath.Abs(strings.TrimPrefix(location, "sqlite:"))
	if err != nil {
		return nil, &Error{Code: Unusable, Msg: "finding the file", err: err}
	}
	f, _, err := openRegular(path, o)
	if err != nil {
		return nil, err
	}
	// SQLite's locks belong to the process: closing another descriptor of the file
	// ends them, so this one is closed before the first is taken.
	if err := f.Close(); err != nil {
		return nil, unreadable(err)
	}
	settings := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)", "busy_timeout(5000)"}}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, unusable("the SQLite file cannot be opened")
	}
	s := &sqliteQuery{db: db, query: statement(o.Query), tell: o.Progress}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	// No row is read here, so that an error is about the query alone.
	rows, err := db.QueryContext(ctx, "SELECT * FROM (\n"+s.query+"\n) LIMIT 0")
	if err != nil {
		return nil, sqliteRefused(err)
	}
	defer rows.Close()
	if s.header, err = rows.Columns(); err != nil {
		return nil, sqliteFailed(err)
	}
	s.roles, err = findColumns(s.header, o)
	return s, err
}

// sqliteRefused explains an error before any row is read: it quotes at most the query.
func sqliteRefused(err error) error {
	return &Error{Code: Unusable, Msg: "SQLite refuses the query: check the file and the query", err: err}
}

// sqliteFailed tells the code of an error alone, since a message may quote values.
func sqliteFailed(err error) error {
	if ctx := contextError(err); ctx != nil {
		return ctx
	}
	if known := (*sqlite.Error)(nil); errors.As(err, &known) {
		return &Error{Code: Unreadable, Msg: fmt.Sprintf("SQLite fails with code %d while it reads the records (its message is held back: it could quote one)", known.Code())}
	}
	return &Error{Code: Unreadable, Msg: "SQLite fails while it reads the records (its message is held back: it could quote one)"}
}

func contextError(err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}

func (s *sqliteQuery) scan(ctx context.Context, h hash.Hash, yield func(*row) error) error {
	rows, err := s.db.QueryContext(ctx, s.query)
	if err != nil {
		return sqliteFailed(err)
	}
	defer rows.Close()
	content := newRowHash(h, s.header)
	cells := make([]any, len(s.header))
	into := make([]any, len(cells))
	for i := range cells {
		into[i] = &cells[i]
	}
	read := int64(0)
	for place := int64(0); rows.Next(); place++ {
		if err := rows.Scan(into...); err != nil {
			return sqliteFailed(err)
		}
		r := &row{place: place}
		for i, cell := range cells {
			v := cellValue(cell)
			content.add(v.s, v.kind != absent)
			for _, role := range s.roles[i] {
				r.values[role] = v
			}
			read += int64(len(v.s))
		}
		content.flush()
		if s.tell != nil && h != nil && place%1024 == 0 {
			s.tell(read, 0)
		}
		if err := yield(r); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return sqliteFailed(err)
	}
	return nil
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

func (s *sqliteQuery) stamp() string   { return "" }
func (s *sqliteQuery) names() []string { return s.header }
func (s *sqliteQuery) close() error    { return s.db.Close() }
