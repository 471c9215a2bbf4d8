package ledgertest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sotto-dp/sotto/internal/sys/pgtest"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/postgres"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/sqlite"
)

func TestMemory(t *testing.T)   { conforms(t, onMemory()) }
func TestSQLite(t *testing.T)   { conforms(t, onSQLite) }
func TestPostgres(t *testing.T) { conforms(t, onPostgres) }

func TestConcurrentMemory(t *testing.T)   { conformsAtOnce(t, onMemory()) }
func TestConcurrentSQLite(t *testing.T)   { conformsAtOnce(t, onSQLite) }
func TestConcurrentPostgres(t *testing.T) { conformsAtOnce(t, onPostgres) }

func BenchmarkSQLite(b *testing.B)   { bench(b, onSQLite) }
func BenchmarkPostgres(b *testing.B) { bench(b, onPostgres) }

// TestMain runs the tests, or plays the part of another process that one of them started.
func TestMain(m *testing.M) {
	text := os.Getenv(roleVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	if err := play(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// backendAt returns the back-end of a database's address.
func backendAt(address string) backend {
	if strings.HasPrefix(address, "postgres") {
		return onPostgres
	}
	return onSQLite
}

// onMemory keeps logs in this process.
func onMemory() backend {
	var logs sync.Map
	return backend{
		New: func(t testing.TB) string {
			address := t.TempDir()
			logs.Store(address, newMemoryLog())
			return address
		},
		Open: func(_ context.Context, address string, opt options) (chain.Store, error) {
			at, _ := logs.Load(address)
			log := at.(*memoryLog)
			if !opt.Create && !log.made {
				return nil, chain.ErrMissing
			}
			log.made = true
			return &memory{log: log}, nil
		},
	}
}

var onSQLite = backend{
	New:  func(t testing.TB) string { return filepath.Join(t.TempDir(), "ledger.db") },
	Open: sqlite.Open,
	SQL: func(t testing.TB, address, statement string, args ...any) {
		t.Helper()
		db, err := sql.Open("sqlite", address+"?_pragma=ignore_check_constraints(1)")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	},
	Unlock: []string{"DROP TRIGGER sotto_ledger_row_update", "DROP TRIGGER sotto_ledger_row_delete"},
}

var onPostgres = backend{
	New:  func(t testing.TB) string { return pgtest.Schema(t) },
	Open: postgres.Open,
	SQL: func(t testing.TB, address, statement string, args ...any) {
		t.Helper()
		c, err := pgx.Connect(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		if _, err := c.Exec(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	},
	Unlock: []string{
		"DROP TRIGGER sotto_ledger_append_only ON sotto_ledger_row",
		"ALTER TABLE sotto_ledger_head DROP CONSTRAINT sotto_ledger_head_id_check",
	},
}
