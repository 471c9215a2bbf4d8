package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// querier is the database, or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// exec carries out a statement.
func exec(ctx context.Context, in querier, query string, args ...any) error {
	_, err := changed(ctx, in, query, args...)
	return err
}

// changed carries out a statement, and returns how many rows it changed.
func changed(ctx context.Context, in querier, query string, args ...any) (n int64, err error) {
	r, err := in.ExecContext(ctx, query, args...)
	if err == nil {
		n, err = r.RowsAffected()
	}
	if err != nil {
		return 0, failed(err)
	}
	return n, nil
}

// someRow is the error of a statement that has to change a row: otherwise, if it changed none.
func someRow(n int64, err, otherwise error) error {
	if err == nil && n == 0 {
		return otherwise
	}
	return err
}

// first reads the first row of a query, or is none.
func first[T any](ctx context.Context, from querier, none error, scan func(*sql.Rows, *T) error, query string, args ...any) (one T, err error) {
	found, err := list(ctx, from, scan, query, args...)
	switch {
	case err != nil:
		return one, err
	case len(found) == 0:
		return one, none
	}
	return found[0], nil
}

// list reads all rows of a query.
func list[T any](ctx context.Context, from querier, scan func(*sql.Rows, *T) error, query string, args ...any) (out []T, err error) {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, failed(err)
	}
	for rows.Next() {
		var one T
		if err = scan(rows, &one); err != nil {
			break
		}
		out = append(out, one)
	}
	if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return nil, failed(err)
	}
	return out, nil
}

// scanner reads a value of a column.
type scanner func(any) error

// Scan implements [sql.Scanner].
func (s scanner) Scan(v any) error { return s(v) }

// instant reads a time, which the store has in milliseconds.
func instant(to *time.Time) scanner {
	return func(v any) error {
		ms, is := v.(int64)
		if !is {
			return fmt.Errorf("a time is a %T", v)
		}
		*to = time.UnixMilli(ms).UTC()
		return nil
	}
}

// optional reads a time, which is 0 for none.
func optional(to **time.Time) scanner {
	return func(v any) error {
		if v == int64(0) {
			*to = nil
			return nil
		}
		*to = new(time.Time)
		return instant(*to)(v)
	}
}

// millis is a time as the store has it, 0 for none.
func millis(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMilli()
}

// bit is a truth as the store has it.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
