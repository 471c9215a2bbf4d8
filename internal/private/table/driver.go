package table

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// sqlDriver runs statements on one connection of package database/sql.
type sqlDriver struct {
	d    *Dialect
	db   *sql.DB
	mu   sync.Mutex
	c    *sql.Conn
	at   []string
	fail func(context.Context, error) error
	// refuse explains an error before a row is read.
	refuse func(error) error
}

// newDriver takes a database over: with an error it is closed.
func newDriver(ctx context.Context, db *sql.DB, d *Dialect, place []string) (*sqlDriver, error) {
	r := &sqlDriver{d: d, db: db, at: place}
	r.fail = func(ctx context.Context, err error) error { return r.held(ctx, err) }
	r.refuse = func(err error) error {
		return &Error{Code: Unusable, Msg: d.Name + " refuses the query: check the database and the query", Err: err}
	}
	c, err := db.Conn(ctx)
	if err != nil {
		_ = db.Close() // the error that matters is err
		return nil, r.refuse(err)
	}
	r.c = c
	return r, nil
}

// held reports that reading failed, not why.
func (r *sqlDriver) held(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if known := (*Error)(nil); errors.As(err, &known) {
		return known
	}
	return held(r.d.Name)
}

func (r *sqlDriver) dialect() *Dialect { return r.d }

func (r *sqlDriver) describe(ctx context.Context, from string) (names []string, classes []Class, err error) {
	// No row is read, so that an error is about the query alone.
	rows, err := r.c.QueryContext(ctx, "SELECT * FROM "+from+" LIMIT 0")
	if err != nil {
		return nil, nil, r.refuse(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, nil, r.refuse(err)
	}
	for _, t := range types {
		names, classes = append(names, t.Name()), append(classes, r.d.Classify(t.DatabaseTypeName()))
	}
	return names, classes, nil
}

func (r *sqlDriver) begin(ctx context.Context, _ bool) (func(), error) {
	r.mu.Lock()
	if _, err := r.c.ExecContext(ctx, "BEGIN TRANSACTION"); err != nil {
		r.mu.Unlock()
		return nil, r.fail(ctx, err)
	}
	return func() {
		// Nothing was written. The context may have ended.
		_, _ = r.c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		r.mu.Unlock()
	}, nil
}

func (r *sqlDriver) query(ctx context.Context, statement string, args []any, row func([]cell) error) error {
	var cells []cell
	return databases.Each(ctx, r.c, r.fail, statement, args, func(values []any) error {
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

func (r *sqlDriver) place(context.Context) ([]string, error) {
	if len(r.at) == 0 {
		return nil, origin.Refuse("the database has no name that the ledger could know it by")
	}
	return append([]string{r.d.Name}, r.at...), nil
}

// identity takes the last part, as databases in a file do that do not mind capitals.
func (r *sqlDriver) identity(_ context.Context, name []string) ([]string, error) {
	return []string{strings.ToLower(name[len(name)-1])}, nil
}

// addressed tries the address on no row.
func (r *sqlDriver) addressed(ctx context.Context, name []string) bool {
	rows, err := r.c.QueryContext(ctx, "SELECT "+r.d.Address+" FROM "+quoteAll(name)+" AS sotto_rows LIMIT 0")
	if err != nil {
		return false
	}
	return errors.Join(rows.Err(), rows.Close()) == nil
}

func (r *sqlDriver) close() error {
	return errors.Join(r.c.Close(), r.db.Close())
}

// signed puts 64 bits of a hash in the order of signed numbers.
func signed(x uint64) int64 { return int64(x ^ 1<<63) }
