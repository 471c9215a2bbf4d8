package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// Refusal is an error for the one who asked: pages show its text as it is, so it must not say where
// records, keys or other files are.
type Refusal struct{ Text string }

// Error is the text.
func (r *Refusal) Error() string { return r.Text }

// Refuse makes a [*Refusal].
func Refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// sorted marks an error of the database as [ErrStore], so that nobody takes it for one about what
// they sent.
func sorted(err error) error {
	var (
		lite    *sqlite.Error
		server  *pgconn.PgError
		network net.Error
	)
	switch {
	case err == nil || errors.Is(err, ErrStore):
		return err
	case errors.As(err, &lite), errors.As(err, &server), errors.As(err, &network):
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	case errors.Is(err, sql.ErrNoRows), errors.Is(err, sql.ErrTxDone), errors.Is(err, sql.ErrConnDone), errors.Is(err, driver.ErrBadConn):
	default:
		return err
	}
	return failed(err)
}
