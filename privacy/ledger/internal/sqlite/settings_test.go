package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

func openAt(t *testing.T, path string) (chain.Store, error) {
	t.Helper()
	s, err := Open(t.Context(), path, Options{Create: true})
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
			if err := c.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %s, %v; want %s", pragma, got, err, want)
			}
		})
	}
}
