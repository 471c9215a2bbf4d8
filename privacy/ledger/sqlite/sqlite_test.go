package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"sotto/privacy/ledger/chain"
	"sotto/privacy/ledger/ledgertest"
	"sotto/privacy/ledger/sqlite"
)

var backend = ledgertest.Backend{
	New: func(t testing.TB) string { return filepath.Join(t.TempDir(), "ledger.db") },
	Open: func(ctx context.Context, address string, opt ledgertest.Options) (chain.Store, error) {
		return sqlite.Open(ctx, address, sqlite.Options{Create: opt.Create, Trace: opt.Trace})
	},
	SQL: func(t testing.TB, address, statement string, args ...any) {
		t.Helper()
		db, err := sql.Open("sqlite", address)
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

func TestBackend(t *testing.T) { ledgertest.Run(t, backend) }

func TestMain(m *testing.M) { ledgertest.Main(m, backend) }
