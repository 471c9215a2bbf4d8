//go:build cgo

package duckdb_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/engines/duckdb"
	"github.com/sotto-dp/sotto/engines/enginetest"
)

// TestEngine: DuckDB passes the suite of refusals and budgets that every engine does.
func TestEngine(t *testing.T) {
	enginetest.Run(t, enginetest.Engine{
		Put: func(t *testing.T, dir string, rows []byte) sotto.TableSource {
			text, path := filepath.Join(dir, "loans.csv"), filepath.Join(dir, "bank.duckdb")
			if err := os.WriteFile(text, rows, 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("duckdb", path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec("CREATE TABLE loans AS SELECT * FROM read_csv('" + text + "', types = {'repaid': 'VARCHAR'})"); err != nil {
				t.Fatal(err)
			}
			return duckdb.Source(path, "loans")
		},
	})
}
