//go:build cgo

package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/engines/duckdb"
	"github.com/sotto-dp/sotto/engines/enginetest"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/schema"
	"github.com/sotto-dp/sotto/sys/expect"
)

// bank is a folder with a schema and a DuckDB file.
func bank(t *testing.T) func(name string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"SOTTO_LEDGER", "SOTTO_KEYS", "SOTTO_PRIVATE"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_DATA_HOME", dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	var rows bytes.Buffer
	if err := demo.WriteLoans(&rows, demo.Loans(800)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("loans.toml"), demo.LoansFile(), 0o600); err != nil {
		t.Fatal(err)
	}
	store(t, at("bank.duckdb"), rows.Bytes())
	return at
}

// store puts a table into a DuckDB file, with its CSV beside it.
func store(t *testing.T, path string, rows []byte) {
	t.Helper()
	csv := filepath.Join(filepath.Dir(path), "loans.csv")
	if err := os.WriteFile(csv, rows, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("duckdb", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE loans AS SELECT * FROM read_csv('" + csv + "', types = {'repaid': 'VARCHAR'})"); err != nil {
		t.Fatal(err)
	}
}

// TestOneLedger: the ledger, the keys and the private folder are those of sotto.
func TestOneLedger(t *testing.T) {
	p := enginetest.Program{Verb: []string{"profile"}}
	p.Run = func(t *testing.T, args ...string) (int, string) {
		var out bytes.Buffer
		return execute(t.Context(), &ui.Terminal{Stdout: &out, Stderr: &out}, args), out.String()
	}
	p.Put = func(t *testing.T, dir string, rows []byte) []string {
		t.Helper()
		store(t, filepath.Join(dir, "bank.duckdb"), rows)
		return []string{"--data", filepath.Join(dir, "bank.duckdb"), "--table", "loans"}
	}
	enginetest.OneLedger(t, enginetest.BuildSotto(t), p)
}

// TestCommands: what a user does in a row, with the exit codes of sotto.
func TestCommands(t *testing.T) {
	at := bank(t)
	in := func(words string) []string {
		args := strings.Fields(words)
		for i, a := range args {
			args[i] = strings.Replace(a, "@", at("")+string(filepath.Separator), 1)
		}
		return args
	}
	enter(t, at, "ledger.db", duckdb.Source(at("bank.duckdb"), "loans"), ledger.Budget{Epsilon: 1})
	enter(t, at, "other.db", duckdb.Source(at("bank.duckdb"), "loans"), ledger.Budget{Epsilon: 8, Adjacency: privacy.ReplaceOne})
	const rows = " --schema @loans.toml --data @bank.duckdb --table loans --ledger @ledger.db --keys @keys "
	for _, c := range []struct {
		command string
		code    int
		says    string
	}{
		{"", 2, "profile or perturb"},
		{"--help", 0, "--table T"},
		{"perturb --help", 0, "-split"},
		{"profiel", 2, "profile or perturb"},
		{"profile --schema @loans.toml", 2, "--epsilon is missing"},
		{"profile --epsilon 1", 2, "--schema is missing: one of adult"},
		{"profile --out @a --epsilon 1" + rows, 2, "--size is missing"},
		{"profile --size 800 --epsilon 1" + rows, 2, "--out is missing"},
		{"profile --out @a --size 800 --epsilon 1" + rows + "--query q", 2, "either --table or --query"},
		{"profile --out @a --size 800 --epsilon 1 --groups 3" + rows, 2, "it has 2, 4, 8"},
		{"profile --out @a --size 800 --epsilon 1 --group incom:60" + rows, 2, "did you mean income?"},
		{"profile --out @a --size 800 --epsilon -1" + rows, 2, "-1"},
		{"profile --out @a --size 800 --epsilon 1 --noise none" + rows, 2, "noise"},
		{"profile --out @a --size 800 --epsilon 1 --unit custmer" + rows, 2, `no column "custmer"`},
		{"profile --out @a --size 800 --epsilon 1" + rows + "--data @none.duckdb", 2, "none.duckdb"},
		{"profile --out @a --size 800 --epsilon 1" + rows + "--data @loans.csv", 2, "not a DuckDB file"},
		{"profile --out @a --size 800 --epsilon 1" + rows + "--table lones", 2, "lones"},
		{"perturb --out @a --epsilon 8 --groups 4" + rows, 2, "not defined: -groups"},

		{"profile --out @demos --size 800 --epsilon 1 --group repaid --group income:60" + rows, 0, "the database adds up by itself"},
		{"profile --out @demos --size 800 --epsilon 1 --group repaid --group income:60" + rows, 0, "ε ≤ 1 at δ = 0"},
		{"profile --out @more --size 800 --epsilon 1 --groups 4" + rows, 3, "refused"},
		// Where the ledger is can be said by the environment.
		{"profile --out @more --size 800 --epsilon 1 --schema @loans.toml --data @bank.duckdb --table loans --ledger=", 3, "refused"},
		{"perturb --out @rows --epsilon 8" + rows + "--ledger @other.db", 0, "replace-one"},
	} {
		var out, errs bytes.Buffer
		if strings.HasSuffix(c.command, "--ledger=") {
			t.Setenv("SOTTO_LEDGER", at("ledger.db"))
		}
		code := execute(t.Context(), &ui.Terminal{Stdout: &out, Stderr: &errs}, in(c.command))
		if code != c.code || !strings.Contains(out.String()+errs.String(), c.says) {
			t.Errorf("%s: exit code %d, want %d and %q: %s%s", c.command, code, c.code, c.says, &out, &errs)
		}
	}
	trust, err := certificate.LoadTrust(at("keys"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"demos", "rows"} {
		if report, err := sotto.Verify(at(folder), trust); err != nil || !report.OK {
			t.Errorf("%s: %+v, %v", folder, report, err)
		}
	}
	if _, err := os.Stat(at("a")); err == nil {
		t.Error("what was refused has made a folder")
	}
}

// enter gives rows a budget, which those of a database have not by themselves.
func enter(t *testing.T, at func(string) string, name string, s sotto.TableSource, budget ledger.Budget) {
	t.Helper()
	of, err := schema.Find(at("loans.toml"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := sotto.Open(at("sotto"), &sotto.Options{Ledger: at(name)})
	if err != nil {
		t.Fatal(err)
	}
	if err := enginetest.Enter(t.Context(), c, s, of, budget); err != nil {
		t.Fatal(err)
	}
}

// TestJSON: results and failures are objects on standard output.
func TestJSON(t *testing.T) {
	at := bank(t)
	asked := duckdb.Source(at("bank.duckdb"), "")
	asked.Query = "SELECT * FROM loans"
	enter(t, at, "ledger.db", asked, ledger.Budget{Epsilon: 1, Delta: 1e-6, Unit: "user:customer"})
	args := []string{
		"profile", "--json", "--schema", at("loans.toml"), "--data", at("bank.duckdb"), "--query", "SELECT * FROM loans", "--size", "800",
		"--epsilon", "1", "--unit", "customer", "--delta", "1e-6", "--ledger", at("ledger.db"), "--out", at("demos"),
	}
	var out, errs bytes.Buffer
	if code := execute(t.Context(), &ui.Terminal{Stdout: &out, Stderr: &errs}, args); code != 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	var r struct {
		Epsilon, Delta       float64
		Unit, Charge, Schema string
		Guarantee            []string
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	expect.True(t, "ε above 0", r.Epsilon > 0, r.Epsilon)
	expect.Max(t, "ε", r.Epsilon, 1)
	expect.Equal(t, "δ", r.Delta, 1e-6)
	expect.Equal(t, "unit", r.Unit, "user:customer")
	expect.True(t, "a charge", r.Charge != "")
	expect.Min(t, "sentences of the guarantee", len(r.Guarantee), 1)
	expect.Equal(t, "schema", r.Schema, "loans")
	out.Reset()
	args[len(args)-1] += "2"
	var f struct {
		Error string
		Code  int
	}
	code := execute(t.Context(), &ui.Terminal{Stdout: &out, Stderr: &errs}, args)
	about := expect.At(t, "%s", &out)
	expect.Equal(about, "exit code", code, 3)
	expect.NoError(about, json.Unmarshal(out.Bytes(), &f))
	expect.Equal(about, "exit code in the object", f.Code, 3)
	expect.True(about, "an error", f.Error != "")
}
