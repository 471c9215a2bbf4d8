//go:build cgo

package duckdb_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/engines/duckdb"
	"github.com/sotto-dp/sotto/engines/enginetest"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/schema"
)

// loans writes the demo's table to a DuckDB file.
func loans(dir string, rows int) (path string, of schema.Schema, err error) {
	if of, err = schema.Parse("loans", demo.LoansFile()); err != nil {
		return "", of, err
	}
	var b bytes.Buffer
	if err := demo.WriteLoans(&b, demo.Loans(rows)); err != nil {
		return "", of, err
	}
	text := filepath.Join(dir, "loans.csv")
	if err := os.WriteFile(text, b.Bytes(), 0o600); err != nil {
		return "", of, err
	}
	path = filepath.Join(dir, "bank.duckdb")
	db, err := sql.Open("duckdb", path)
	if err != nil {
		return "", of, err
	}
	defer db.Close()
	// DuckDB would make booleans of yes and no, which are true and false.
	_, err = db.Exec("CREATE TABLE loans AS SELECT * FROM read_csv('" + text + "', types = {'repaid': 'VARCHAR'})")
	return path, of, err
}

// Typical rows of groups from a table in a DuckDB file, and a check of their certificate.
func ExampleSource() {
	dir, err := os.MkdirTemp("", "sotto")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path, of, err := loans(dir, 2000)
	if err != nil {
		log.Fatal(err)
	}
	client, err := sotto.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	source := duckdb.Source(path, "loans")
	// The owner of a database gives its table a budget: sotto ledger init.
	if err := enginetest.Enter(context.Background(), client, source, of, ledger.Budget{Epsilon: 1}); err != nil {
		log.Fatal(err)
	}
	run, err := client.Profile(context.Background(), sotto.ProfileOptions{
		Request:      sotto.ProfileRequest{Schema: of, Size: 2000, Epsilon: 1, Groups: []schema.Group{{Column: "repaid"}}},
		TableOptions: sotto.TableOptions{Source: source, Out: filepath.Join(dir, "demos")},
	})
	if err != nil {
		log.Fatal(err)
	}
	for i, g := range run.Profile.Groups {
		// Noise moves a count of this size by a few rows.
		fmt.Println(g.Where, "about a thousand:", g.Count > 500 && g.Count < 1500, run.Examples[i].Output)
	}
	report, err := client.Verify(run.Dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the certificate holds:", report.OK, "ε at most 1:", run.Guarantee.Epsilon.Upper <= 1)
	// Output:
	// repaid = yes about a thousand: true Yes
	// repaid = no about a thousand: true No
	// the certificate holds: true ε at most 1: true
}
