package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/sqlchain"
)

// failure is a disk that fails at a commit.
type failure struct {
	// commits counts the commits that fail, after or without having committed.
	commits   int
	committed bool
	// gone: no connection can be made after a failure.
	gone, failed bool
}

var errDisk = errors.New("the disk failed")

func (f *failure) commit(ctx context.Context, c *sql.Conn) error {
	if f.commits == 0 {
		return sqlchain.Commit(ctx, c)
	}
	f.commits--
	f.failed = true
	if f.committed {
		if err := sqlchain.Commit(ctx, c); err != nil {
			return err
		}
	}
	return errDisk
}

// TestUnknownOutcomes: when a commit fails in a way that leaves its outcome
// open, Update finds out, and says so if it cannot.
func TestUnknownOutcomes(t *testing.T) {
	tests := map[string]struct {
		failure
		unknown, fails bool
		rows           int64
	}{
		"committed":                {failure: failure{commits: 1, committed: true}, rows: 1},
		"not committed":            {failure: failure{commits: 1}, rows: 1},
		"not committed, again":     {failure: failure{commits: 3}, rows: 1},
		"never committed":          {failure: failure{commits: 99}, fails: true, rows: 0},
		"committed, then gone":     {failure: failure{commits: 1, committed: true, gone: true}, unknown: true, rows: 1},
		"not committed, then gone": {failure: failure{commits: 1, gone: true}, unknown: true, rows: 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			if _, err := openAt(t, path); err != nil {
				t.Fatal(err)
			}
			f := tt.failure
			d := dialect
			d.Commit = f.commit
			d.Connect = func(ctx context.Context, create bool) (*sqlchain.Connection, error) {
				if f.gone && f.failed {
					return nil, errDisk
				}
				return connect(ctx, path, create)
			}
			s, err := sqlchain.Open(t.Context(), d, sqlchain.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			err = add(t, s)
			if errors.Is(err, chain.ErrUnknown) != tt.unknown || (err != nil) != (tt.unknown || tt.fails) {
				t.Errorf("Update returns %v", err)
			}
			honest, err := openAt(t, path)
			if err != nil {
				t.Fatal(err)
			}
			if n := count(t, honest); n != tt.rows {
				t.Errorf("%d rows, want %d", n, tt.rows)
			}
		})
	}
}
