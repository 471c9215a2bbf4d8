package sotto_test

import (
	"bytes"
	"database/sql"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/engines/enginetest"
)

// TestEngineInMemory: what this process reads passes the suite that every engine does.
func TestEngineInMemory(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		enginetest.Run(t, enginetest.Engine{
			Files: true,
			Put: func(t *testing.T, dir string, rows []byte) sotto.TableSource {
				path := filepath.Join(dir, "loans.csv")
				if err := os.WriteFile(path, rows, 0o600); err != nil {
					t.Fatal(err)
				}
				return sotto.TableSource{Location: path}
			},
		})
	})
	t.Run("database", func(t *testing.T) {
		enginetest.Run(t, enginetest.Engine{Put: func(t *testing.T, dir string, rows []byte) sotto.TableSource {
			path := filepath.Join(dir, "loans.db")
			putSQLite(t, path, rows)
			return sotto.TableSource{Location: path, Table: "loans"}
		}})
	})
}

// putSQLite makes a table of texts.
func putSQLite(t *testing.T, path string, rows []byte) {
	t.Helper()
	lines, err := csv.NewReader(bytes.NewReader(rows)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	run := func(statement string, args ...any) {
		t.Helper()
		if _, err := tx.Exec(statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE TABLE loans (" + strings.Join(lines[0], ", ") + ")")
	for _, line := range lines[1:] {
		args := make([]any, len(line))
		for i, v := range line {
			args[i] = v
		}
		run("INSERT INTO loans VALUES (?"+strings.Repeat(", ?", len(line)-1)+")", args...)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}
