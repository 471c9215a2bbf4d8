package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/privacy/ledger/chain"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/sqlchain"
	"github.com/sotto-dp/sotto/sys/expect"
)

// openAt opens a file with a program that knows the given migrations on top of
// those there are.
func openAt(t *testing.T, path string, more ...[]string) (chain.Store, error) {
	t.Helper()
	d := dialect
	d.Migrations = append(d.Migrations[:len(d.Migrations):len(d.Migrations)], more...)
	d.Connect = func(ctx context.Context, create bool) (sqlchain.Conn, error) { return connect(ctx, path, create) }
	s, err := sqlchain.Open(t.Context(), d, sqlchain.Options{Create: true})
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

func count(t *testing.T, s chain.Store) int64 {
	t.Helper()
	var n int64
	if err := s.View(t.Context(), func(r chain.Reader) error {
		for row, err := range r.Rows(0) {
			if err != nil {
				return err
			}
			n = row.Seq
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

func add(t *testing.T, s chain.Store) error {
	t.Helper()
	return s.Update(t.Context(), func(tx chain.Tx) error {
		head, err := tx.Head()
		if err != nil {
			return err
		}
		return tx.Append(chain.Seal(head, chain.Entry{Kind: "k", At: 1}))
	})
}

func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	old, err := openAt(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := add(t, old); err != nil {
		t.Fatal(err)
	}

	// A migration that fails leaves the database as it was.
	second := []string{"CREATE TABLE sotto_ledger_extra (x INTEGER) STRICT"}
	if _, err := openAt(t, path, append(second, "CREATE TABLE nonsense (")); err == nil {
		t.Fatal("a migration with an error was accepted")
	}
	if err := add(t, old); err != nil {
		t.Errorf("after a failed migration: %v", err)
	}

	// One that succeeds keeps the rows, and shuts out programs that do not know
	// it, also those that have the ledger open.
	fresh, err := openAt(t, path, second)
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, fresh); n != 2 {
		t.Errorf("%d rows after the migration, want 2", n)
	}
	if err := add(t, fresh); err != nil {
		t.Error(err)
	}
	newer := expect.As[*chain.SchemaError](t, add(t, old))
	expect.Equal(t, "newer.Found", newer.Found, 2)
	expect.Equal(t, "newer.Known", newer.Known, 1)
	if _, err := openAt(t, path); !errors.As(err, &newer) {
		t.Errorf("the old program opens the new schema: %v", err)
	}
	if _, err := openAt(t, path, second); err != nil {
		t.Errorf("opening again: %v", err)
	}
	if err := fresh.(chain.Auditor).Audit(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestSettingsHold: what durability rests on is set on every connection.
func TestSettingsHold(t *testing.T) {
	c, err := connect(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for pragma, want := range map[string]string{"journal_mode": "delete", "synchronous": "3", "fullfsync": "1"} {
		t.Run(pragma, func(t *testing.T) {
			var got string
			if err := c.(*conn).QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %s, %v; want %s", pragma, got, err, want)
			}
		})
	}
}
