package databases

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/pgtls"
)

// The text of a value must not depend on the role's or server's settings, since the
// fingerprint does; and a transaction that waits for a model is not idle.
var postgresSettings = []string{
	"BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
	"SET LOCAL client_encoding TO 'UTF8'",
	"SET LOCAL datestyle TO 'ISO, YMD'",
	"SET LOCAL intervalstyle TO 'iso_8601'",
	"SET LOCAL timezone TO 'UTC'",
	"SET LOCAL extra_float_digits TO 1",
	"SET LOCAL bytea_output TO 'hex'",
	"SET LOCAL idle_in_transaction_session_timeout TO 0",
	// A table is read from its beginning to its end, in one process.
	"SET LOCAL max_parallel_workers_per_gather TO 0",
	"SET LOCAL synchronize_seqscans TO off",
}

// connect connects to a server, in a read-only transaction at REPEATABLE READ that lasts
// as long as the connection: every statement sees the same state.
func connect(ctx context.Context, address string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, origin.Refuse("the postgres:// URL cannot be read: it is postgres://user:password@host:port/database")
	}
	if err := pgtls.Require(config, address); err != nil {
		return nil, origin.Refuse("%s", err.Error())
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, &origin.Error{Code: origin.Unusable, Msg: fmt.Sprintf("connecting to PostgreSQL at %s, database %s, as %s: check that it runs and lets this user in", config.Host, config.Database, config.User)}
	}
	for _, setting := range postgresSettings {
		if err := execute(ctx, c, setting); err != nil {
			return nil, errors.Join(err, c.Close(ctx))
		}
	}
	return c, nil
}

// execute runs one statement, in the protocol that takes only one.
func execute(ctx context.Context, c *pgx.Conn, sql string) error {
	if _, err := c.PgConn().ExecParams(ctx, sql, nil, nil, nil, nil).Close(); err != nil {
		return failed(err)
	}
	return nil
}

// describe returns the columns of a query, without running it. An error is about the
// query, and quotes at most that.
func describe(ctx context.Context, c *pgx.Conn, query string) ([]pgconn.FieldDescription, error) {
	described, err := c.PgConn().Prepare(ctx, "", query, nil)
	if err == nil {
		return described.Fields, nil
	}
	if known := (*pgconn.PgError)(nil); errors.As(err, &known) {
		return nil, &origin.Error{Code: origin.Unusable, Msg: fmt.Sprintf("PostgreSQL refuses the query: %s (SQLSTATE %s)", known.Message, known.Code)}
	}
	return nil, failed(err)
}

// failed returns the code of an error alone, since a message may quote values.
func failed(err error) error {
	if ended := origin.Ended(err); ended != nil {
		return ended
	}
	if known := (*pgconn.PgError)(nil); errors.As(err, &known) {
		if known.Code == "25006" {
			return &origin.Error{Code: origin.Unusable, Msg: "PostgreSQL refuses the query: it writes, and the transaction is read-only (SQLSTATE 25006)"}
		}
		return &origin.Error{Code: origin.Unreadable, Msg: fmt.Sprintf("PostgreSQL fails with SQLSTATE %s (its message is held back: it could quote a record)", known.Code)}
	}
	return &origin.Error{Code: origin.Unreadable, Msg: "the connection to PostgreSQL failed: start again when it is back"}
}
