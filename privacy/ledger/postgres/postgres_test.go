package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sotto-dp/sotto/internal/pgtest"
	"github.com/sotto-dp/sotto/privacy/ledger/chain"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
	"github.com/sotto-dp/sotto/privacy/ledger/postgres"
)

var backend = ledgertest.Backend{
	New: func(t testing.TB) string { return pgtest.Schema(t) },
	Open: func(ctx context.Context, address string, opt ledgertest.Options) (chain.Store, error) {
		return postgres.Open(ctx, address, postgres.Options{Create: opt.Create, Trace: opt.Trace})
	},
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

func BenchmarkLedger(b *testing.B) { ledgertest.Bench(b, backend) }

func TestBackend(t *testing.T) { ledgertest.Run(t, backend) }

func TestConcurrentBackend(t *testing.T) { ledgertest.RunConcurrent(t, backend) }

func TestMain(m *testing.M) { ledgertest.Main(m, backend) }
