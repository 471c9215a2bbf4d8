package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sotto-dp/sotto/internal/sys/pgtls"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/sqlchain"
)

// Options of a store. Create makes the tables if they are not there. The database itself must
// exist.
type Options = sqlchain.Options

// Open opens the ledger's log in a database. The address is a PostgreSQL URL or
// key=value string; what it leaves out comes from the usual PG… variables. A
// search_path in it selects the schema.
func Open(ctx context.Context, address string, opt Options) (chain.Store, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		// The error of pgx has the password removed.
		return nil, fmt.Errorf("the ledger's address: %w", err)
	}
	if err := pgtls.Require(config, address); err != nil {
		return nil, fmt.Errorf("the ledger's address: %w", err)
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, 10*time.Second)
	d := dialect
	d.Connect = func(ctx context.Context, _ bool) (*sqlchain.Connection, error) { return connect(ctx, config) }
	return sqlchain.Open(ctx, d, opt)
}

func connect(ctx context.Context, config *pgx.ConnConfig) (*sqlchain.Connection, error) {
	c, err := sqlchain.Dial(ctx, stdlib.OpenDB(*config.Copy()), configure)
	if err != nil {
		return nil, fmt.Errorf("connecting to the ledger: %w", err)
	}
	return c, nil
}

// settings end the session, and with it the lock, of a client that is gone: in
// 20 s if its machine no longer answers, and in any case when it did nothing for
// longer than any measuring takes.
var settings = []string{
	"SET tcp_keepalives_idle = 5", "SET tcp_keepalives_interval = 5", "SET tcp_keepalives_count = 3",
	"SET idle_in_transaction_session_timeout = '5min'",
}

// configure raises what is too weak and refuses what cannot be raised.
func configure(ctx context.Context, c *sql.Conn) error {
	var fsync, pages, commit string
	err := c.QueryRowContext(ctx, `SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')`).
		Scan(&fsync, &pages, &commit)
	if err != nil {
		return fmt.Errorf("reading the settings of the ledger's server: %w", err)
	}
	set, err := durable(fsync, pages, commit)
	if err != nil {
		return err
	}
	for _, statement := range set {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("preparing the connection to the ledger: %w", err)
		}
	}
	return nil
}

// durable returns the statements that make a session durable on a server with these
// settings.
func durable(fsync, fullPageWrites, synchronousCommit string) ([]string, error) {
	if fsync != "on" || fullPageWrites != "on" {
		return nil, fmt.Errorf("the ledger's server runs with fsync=%s, full_page_writes=%s and could forget charges in a power cut: turn both on", fsync, fullPageWrites)
	}
	if synchronousCommit == "off" || synchronousCommit == "local" {
		return append(slices.Clone(settings), "SET synchronous_commit = on"), nil
	}
	return settings, nil
}

// commit ends a transaction, and looks at what the server made of it.
func commit(ctx context.Context, c *sql.Conn) error {
	return c.Raw(func(driven any) error {
		tag, err := driven.(*stdlib.Conn).Conn().Exec(ctx, "COMMIT")
		if err == nil && tag.String() != "COMMIT" {
			return errRolledBack
		}
		return err
	})
}

// errRolledBack is what the server makes of the COMMIT of a transaction in
// which a statement failed.
var errRolledBack = errors.New("the transaction had failed and was rolled back")

// SQLSTATEs after which another try may succeed.
var busy = []string{
	"40001", // serialization_failure
	"40P01", // deadlock_detected
	"55P03", // lock_not_available
	"25P03", // idle_in_transaction_session_timeout
}

func classify(err error) sqlchain.Fault {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case e.Severity == "FATAL" || e.Severity == "PANIC":
			if class(e) == "57" || class(e) == "08" || class(e) == "53" || e.Code == "25P03" {
				return sqlchain.Lost
			}
			return sqlchain.Failed // a wrong password, a database that is not there
		case slices.Contains(busy, e.Code):
			return sqlchain.Busy
		}
		return sqlchain.Failed
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || pgconn.SafeToRetry(err) {
		return sqlchain.Lost
	}
	return sqlchain.Failed
}

func class(e *pgconn.PgError) string { return e.Code[:min(2, len(e.Code))] }

// notCommitted: an ERROR in answer to COMMIT means that the transaction was
// aborted. A FATAL one does not: a session that is ended while it waits for a
// standby has committed already.
func notCommitted(err error) (sqlchain.Fault, bool) {
	if errors.Is(err, errRolledBack) {
		return sqlchain.Busy, true
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Severity == "ERROR" {
		return classify(err), true
	}
	return sqlchain.Lost, false
}
