package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
)

// execute runs a statement past the ledger, and past the checks of columns.
func execute(ctx context.Context, path, statement string, args ...any) error {
	db, err := sql.Open("sqlite", path+"?_pragma=ignore_check_constraints(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement, args...)
	return err
}

// processes are the parts that the test binary can play, by the variable that
// tells it to.
var processes = map[string]func(string) error{}

// TestMain lets the test binary play other processes too.
func TestMain(m *testing.M) {
	for variable, play := range processes {
		if text := os.Getenv(variable); text != "" {
			if err := play(text); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

const records = ledger.Fingerprint("hmac-sha256:1111111111111111111111111111111111111111111111111111111111111111")

func open(ctx context.Context, path string) (*ledger.Ledger, error) {
	return ledger.Open(ctx, path, ledger.Options{Create: true, Meter: ledgertest.Count})
}

func reserve(ctx context.Context, l *ledger.Ledger, key string) error {
	_, err := l.Reserve(ctx, ledger.ReserveRequest{
		Dataset: string(records), Adjacency: privacy.AddRemove, Unit: privacy.Record, Event: privacy.Pure{Epsilon: 1}, Proof: ledger.Proven, Run: strings.Repeat("r", 200), Key: key,
	})
	return err
}

func newLedger(t *testing.T, path string) *ledger.Ledger {
	t.Helper()
	l, err := open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, err = l.Init(t.Context(), ledger.InitRequest{Dataset: records, Budget: ledger.Budget{Epsilon: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// wantSpent checks that a fresh ledger on the file is in order and has at least
// what was acknowledged, and at most what may have been charged.
func wantSpent(t *testing.T, path string, acknowledged, limit int) int {
	t.Helper()
	l, err := open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := l.Check(t.Context(), ledger.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spent := int(r.Datasets[0].Budgets[0].Spent)
	if spent < acknowledged || spent > limit {
		t.Errorf("%d is spent, %d was acknowledged and at most %d asked for", spent, acknowledged, limit)
	}
	return spent
}
