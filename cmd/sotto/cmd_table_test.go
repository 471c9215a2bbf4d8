package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"

	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/sys/pgtest"
)

// loans is a table of the demo as a file.
func loans(n int) ([]byte, error) {
	var b bytes.Buffer
	err := demo.WriteLoans(&b, demo.Loans(n))
	return b.Bytes(), err
}

// writeLoans makes a table and its schema: loans FILE N
func writeLoans(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: loans FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	data, err := loans(n)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("loans.toml"), demo.LoansFile(), 0o600))
}

// fill makes a table of loans in a database. PostgreSQL and SQLite both take $1.
func fill(t *testing.T, rows []demo.Loan, execute func(statement string, args ...any) error) {
	t.Helper()
	all := []error{execute("create table loans (customer int, age int, income int, employment text, home text, purpose text, amount double precision, late int, repaid text)"), execute("begin")}
	for _, l := range rows {
		repaid := map[bool]string{true: "yes", false: "no"}[l.Repaid]
		all = append(all, execute("insert into loans values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
			l.Customer, l.Age, l.Income, l.Employment, l.Home, l.Purpose, l.Amount, l.Late, repaid))
	}
	if err := errors.Join(append(all, execute("commit"))...); err != nil {
		t.Fatal(err)
	}
}

func fillSQLite(t *testing.T, path string, rows []demo.Loan) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // of one transaction
	fill(t, rows, func(statement string, args ...any) error {
		_, err := db.Exec(statement, args...)
		return err
	})
}

func fillPostgres(t *testing.T, address string, rows []demo.Loan) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.WithoutCancel(t.Context()))
	fill(t, rows, func(statement string, args ...any) error {
		_, err := db.Exec(t.Context(), statement, args...)
		return err
	})
}

// done runs a command that should succeed.
func done(t *testing.T, args ...string) {
	t.Helper()
	if code, _, errs := run(t, args...); code != ui.Done {
		t.Fatalf("%v: exit code %d: %s", args, code, errs)
	}
}

// TestTablesInDatabases: a database that adds up by itself gives the same profile as the
// same rows in a file, bit for bit, and says who added up.
func TestTablesInDatabases(t *testing.T) {
	home(t)
	rows := demo.Loans(500)
	data, err := loans(len(rows))
	if err != nil {
		t.Fatal(err)
	}
	write(t, "loans.csv", data)
	write(t, "loans.toml", demo.LoansFile())
	profile := func(out string, args ...string) (string, string) {
		t.Helper()
		code, _, errs := run(t, append([]string{"table", "profile", "--schema", "loans.toml", "--size", "500", "--epsilon", "1", "--groups", "4", "--out", out}, args...)...)
		if code != 0 {
			t.Fatalf("%s: %s", out, errs)
		}
		data, err := os.ReadFile(filepath.Join(out, "profile.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data), errs
	}
	want, _ := profile("file", "--data", "loans.csv", "--seed", "5")
	places := map[string]string{"sqlite": "loans.db", "postgres": pgtest.Database(t)}
	fillSQLite(t, places["sqlite"], rows)
	fillPostgres(t, places["postgres"], rows)
	for name, at := range places {
		got, said := profile(name, "--data", at, "--table", "loans", "--seed", "5", "--push-down", "always")
		if got != want {
			t.Errorf("%s gives\n%s\nwant\n%s", name, got, want)
		}
		if !strings.Contains(said, "the database adds up by itself") {
			t.Errorf("%s: %s", name, said)
		}
		read, said := profile(name+" read", "--data", at, "--table", "loans", "--seed", "5", "--push-down", "never")
		if read != want || !strings.Contains(said, "rows are read from the database") {
			t.Errorf("%s, read: %s", name, said)
		}
		query, _ := profile(name+" query", "--data", at, "--query", "select * from loans where age >= 0", "--seed", "5")
		if query != want {
			t.Errorf("a query of %s gives another profile", name)
		}
		charged := []string{"--data", at, "--table", "loans", "--ledger", name + ".db"}
		done(t, "ledger", "init", "--ledger", name+".db")
		code, _, said := run(t, append([]string{"table", "profile", "--schema", "loans.toml", "--size", "500", "--epsilon", "1", "--groups", "4", "--out", "x " + name}, charged...)...)
		if code != ui.Wrong || !strings.Contains(said, "sotto ledger init") {
			t.Errorf("%s has a budget by itself, %d: %s", name, code, said)
		}
		done(t, append([]string{"ledger", "init", "loans", "--schema", "loans.toml", "--epsilon", "1", "--delta", "0"}, charged...)...)
		profile(name+" charged", charged...)
		if code, _, errs := run(t, "verify", name+" charged"); code != 0 {
			t.Errorf("%s: %s", name, errs)
		}
	}
}
