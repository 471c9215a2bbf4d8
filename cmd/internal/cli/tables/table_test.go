package tables

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/sys/pgtest"
	"github.com/sotto-dp/sotto/internal/ui"
)

// TestTablesInDatabases: a database that adds up by itself gives the same profile as the
// same rows in a file, bit for bit, and says who added up.
func TestTablesInDatabases(t *testing.T) {
	clitest.Home(t)
	rows := demo.Loans(500)
	data, err := clitest.Loans(len(rows))
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "loans.csv", data)
	clitest.Write(t, "loans.toml", demo.LoansFile())
	profile := func(out string, args ...string) string {
		t.Helper()
		code, _, errs := clitest.Run(t, append([]string{"table", "profile", "--schema", "loans.toml", "--size", "500", "--epsilon", "1", "--groups", "4", "--out", out}, args...)...)
		if code != 0 {
			t.Fatalf("%s: %s", out, errs)
		}
		data, err := os.ReadFile(filepath.Join(out, "profile.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want := profile("file", "--data", "loans.csv", "--seed", "5")
	places := map[string]string{"sqlite": "loans.db", "postgres": pgtest.Database(t)}
	clitest.FillSQLite(t, places["sqlite"], rows)
	clitest.FillPostgres(t, places["postgres"], rows)
	for name, at := range places {
		if got := profile(name, "--data", at, "--table", "loans", "--seed", "5"); got != want {
			t.Errorf("%s gives\n%s\nwant\n%s", name, got, want)
		}
		if query := profile(name+" query", "--data", at, "--query", "select * from loans where age >= 0", "--seed", "5"); query != want {
			t.Errorf("a query of %s gives another profile", name)
		}
		charged := []string{"--data", at, "--table", "loans", "--ledger", name + ".db"}
		clitest.Done(t, "ledger", "init", "--ledger", name+".db")
		code, _, said := clitest.Run(t, append([]string{"table", "profile", "--schema", "loans.toml", "--size", "500", "--epsilon", "1", "--groups", "4", "--out", "x " + name}, charged...)...)
		if code != ui.Wrong || !strings.Contains(said, "sotto ledger init") {
			t.Errorf("%s has a budget by itself, %d: %s", name, code, said)
		}
		clitest.Done(t, append([]string{"ledger", "init", "loans", "--schema", "loans.toml", "--epsilon", "1", "--delta", "0"}, charged...)...)
		profile(name+" charged", charged...)
		if code, _, errs := clitest.Run(t, "verify", name+" charged"); code != 0 {
			t.Errorf("%s: %s", name, errs)
		}
	}
}
