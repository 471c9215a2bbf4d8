package tables

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/private/folder"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/sys/pgtest"
	"github.com/sotto-dp/sotto/internal/ui"
)

// TestSavedAnew: a table that was saved with a byte-order mark, with other line ends, in
// another order, with a row more or rows less has no fresh budget, in either way of use and
// with any number of tries; nor has it when the ledger is asked to enter it.
func TestSavedAnew(t *testing.T) {
	clitest.Home(t)
	variants := clitest.BankFiles(t)
	clitest.Done(t, clitest.ProfileArgs("first", "--data", "loans.csv")...)
	for name := range variants {
		for _, try := range []string{"a", "b"} {
			code, _, errs := clitest.Run(t, clitest.ProfileArgs(name+try, "--data", name)...)
			if code != ui.Refused {
				t.Errorf("%s: exit code %d: %s", name, code, errs)
			}
			if said := strings.Contains(errs, `this is data set "loans", saved anew`); said != (try == "a") {
				t.Errorf("%s %s: it is said %v that it is known: %s", name, try, said, errs)
			}
		}
		if code, _, errs := clitest.Run(t, "ledger", "init", "again", "--data", name, "--schema", "loans.toml", "--epsilon", "1", "--delta", "0"); code != ui.Wrong {
			t.Errorf("%s was entered again, %d: %s", name, code, errs)
		}
	}
	code, out, _ := clitest.Run(t, "ledger", "show", "loans")
	if n := strings.Count(out, "its records"); code != ui.Done || n != 1+len(variants) {
		t.Errorf("%d versions are shown: %s", n, out)
	}
	clitest.Done(t, "ledger", "check")
}

// TestQueriesAndViews: rows of a database have no budget by themselves; once they have one,
// another text of the query, a view, another database and a file of the same rows have the
// same.
func TestQueriesAndViews(t *testing.T) {
	clitest.Home(t)
	clitest.BankFiles(t)
	rows := demo.Loans(500)
	postgres := pgtest.Database(t)
	clitest.FillSQLite(t, "bank.db", rows)
	clitest.FillPostgres(t, postgres, rows)
	inBoth(t, "bank.db", postgres, "CREATE VIEW clients AS SELECT * FROM loans")
	places := [][]string{
		{"--data", "bank.db", "--query", "SELECT * FROM loans"},
		{"--data", "bank.db", "--query", "SELECT *  FROM loans"},
		{"--data", "bank.db", "--table", "loans"},
		{"--data", "bank.db", "--table", "clients"},
		{"--data", postgres, "--query", "select * from loans where age > 0"},
		{"--data", postgres, "--table", "clients"},
		{"--data", "loans.csv"},
	}
	for i, place := range places[:6] {
		code, _, errs := clitest.Run(t, clitest.ProfileArgs("early"+string(rune('a'+i)), place...)...)
		if code != ui.Wrong || !strings.Contains(errs, "sotto ledger init NAME --data") {
			t.Errorf("%v has a budget by itself, %d: %s", place[1:], code, errs)
		}
	}
	clitest.Done(t, append([]string{"ledger", "init", "bank", "--schema", "loans.toml", "--epsilon", "1", "--delta", "0"}, places[0]...)...)
	clitest.Done(t, clitest.ProfileArgs("paid", places[1]...)...)
	for i, place := range places {
		if code, _, errs := clitest.Run(t, clitest.ProfileArgs("late"+string(rune('a'+i)), place...)...); code != ui.Refused {
			t.Errorf("%v has a fresh budget, %d: %s", place[1:], code, errs)
		}
	}
}

// inBoth runs a statement in both databases.
func inBoth(t *testing.T, sqlite, postgres, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", sqlite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), postgres)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	if _, err := c.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// TestLinkAndNewPeople: data that shares some rows is refused until its owner decides; then
// it counts toward the budget, or has one of its own with the reason on record.
func TestLinkAndNewPeople(t *testing.T) {
	clitest.Home(t)
	clitest.BankFiles(t)
	all, err := clitest.Loans(1400)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(all), "\n")
	for name, rows := range map[string][2]int{"mixed.csv": {401, 901}, "other.csv": {451, 1351}} {
		clitest.Write(t, name, []byte(lines[0]+strings.Join(lines[rows[0]:rows[1]], "")))
	}
	clitest.Done(t, "ledger", "init", "bank", "--data", "loans.csv", "--schema", "loans.toml", "--epsilon", "1", "--delta", "0")
	code, _, errs := clitest.Run(t, clitest.ProfileArgs("x", "--data", "mixed.csv")...)
	expect.Equal(t, "exit code with "+errs, code, ui.Wrong)
	expect.Contains(t, "errs", errs, `sotto ledger link "bank"`)
	expect.Contains(t, "errs", errs, "--new-people")
	if code, _, _ := clitest.Run(t, "ledger", "init", "mixed", "--data", "mixed.csv", "--schema", "loans.toml", "--epsilon", "1", "--delta", "0"); code != ui.Wrong {
		t.Errorf("it was entered, %d", code)
	}
	clitest.Done(t, "ledger", "link", "bank", "--data", "mixed.csv", "--schema", "loans.toml", "--reason", "the same branch")
	clitest.Done(t, clitest.ProfileArgs("y", "--data", "mixed.csv")...)
	if code, _, errs := clitest.Run(t, clitest.ProfileArgs("z", "--data", "loans.csv")...); code != ui.Refused {
		t.Errorf("linked data does not count, %d: %s", code, errs)
	}
	other := []string{"ledger", "init", "elsewhere", "--new-people", "--data", "other.csv", "--schema", "loans.toml", "--epsilon", "1", "--delta", "0"}
	if code, _, errs := clitest.Run(t, other...); code != ui.Wrong || !strings.Contains(errs, "--reason") {
		t.Errorf("%d: %s", code, errs)
	}
	clitest.Done(t, append(other, "--reason", "another town")...)
	clitest.Done(t, clitest.ProfileArgs("w", "--data", "other.csv")...)
	_, out, _ := clitest.Run(t, "ledger", "show", "elsewhere")
	if !strings.Contains(out, "has other people than bank") || !strings.Contains(out, "another town") {
		t.Errorf("%s", out)
	}
	if _, out, _ = clitest.Run(t, "ledger", "show", "bank"); !strings.Contains(out, "linked: the same") {
		t.Errorf("%s", out)
	}
}

// at moves to another user's machine: a home of its own, with the table in it.
func at(t *testing.T, home string) {
	t.Helper()
	t.Chdir(home)
	t.Setenv("HOME", home)
}

// TestTwoUsersOneLedger: two users on two machines share a ledger on a PostgreSQL server.
// Until they share the fingerprint key, the second is refused and told how; then the same
// file has one budget, however many start at once.
func TestTwoUsersOneLedger(t *testing.T) {
	program := filepath.Join(clitest.Built(t), "sotto")
	clitest.Home(t)
	t.Setenv("SOTTO_LEDGER", pgtest.Schema(t))
	anna, ben := t.TempDir(), t.TempDir()
	at(t, anna)
	clitest.BankFiles(t)
	code, _, errs := clitest.Run(t, clitest.ProfileArgs("out", "--data", "loans.csv")...)
	if code != ui.Wrong || !strings.Contains(errs, "sotto ledger init --ledger postgres://") {
		t.Fatalf("a shared ledger came from nowhere, %d: %s", code, errs)
	}
	clitest.Done(t, "ledger", "init", "loans", "--data", "loans.csv", "--schema", "loans.toml", "--epsilon", "1", "--delta", "0")
	annas, err := folder.KeyID(filepath.Join(anna, ".local/share/sotto/private"))
	expect.NoError(t, err)

	at(t, ben)
	clitest.BankFiles(t)
	code, _, errs = clitest.Run(t, clitest.ProfileArgs("out", "--data", "loans.csv")...)
	private := filepath.Join(ben, ".local/share/sotto/private")
	bens, err := folder.KeyID(private)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{annas, bens, folder.KeyPath(private), "sotto ledger key export", "sotto ledger key import"} {
		if code != ui.Wrong || !strings.Contains(errs, want) {
			t.Errorf("%d: %q is not in %s", code, want, errs)
		}
	}
	if code, _, errs := clitest.Run(t, "ledger", "init", "mine", "--data", "loans.csv", "--schema", "loans.toml", "--epsilon", "1", "--delta", "0"); code != ui.Wrong || !strings.Contains(errs, annas) {
		t.Errorf("another key enters data, %d: %s", code, errs)
	}

	at(t, anna)
	shared := filepath.Join(t.TempDir(), "shared.key")
	clitest.Done(t, "ledger", "key", "export", shared)
	if info, err := os.Stat(shared); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	at(t, ben)
	if code, _, errs := clitest.Run(t, "ledger", "key", "import", shared); code != ui.Wrong || !strings.Contains(errs, "--private") {
		t.Errorf("a key was replaced, %d: %s", code, errs)
	}
	t.Setenv("SOTTO_PRIVATE", filepath.Join(ben, "shared-private"))
	_, out, errs := clitest.Run(t, "ledger", "key", "import", shared)
	secret, err := os.ReadFile(shared)
	expect.NoError(t, err)
	expect.True(t, "no string(secret) in out+errs", !strings.Contains(out+errs, string(secret)), out+errs)
	expect.Contains(t, "out", out, annas)
	usedAtOnce(t, program, anna, ben)
}

// usedAtOnce has both users start, in processes of their own, with the whole budget each.
func usedAtOnce(t *testing.T, program, anna, ben string) {
	t.Helper()
	codes := make([]int, 6)
	var wait sync.WaitGroup
	for i := range codes {
		home, private, file := anna, filepath.Join(anna, ".local/share/sotto/private"), "loans.csv"
		if i%2 == 1 {
			home, private, file = ben, filepath.Join(ben, "shared-private"), "crlf.csv"
		}
		wait.Go(func() {
			name := string(rune('a' + i))
			cmd := exec.Command(program, clitest.ProfileArgs("at-once-"+name, "--data", file, "--keys", "keys-"+name)...)
			cmd.Dir, cmd.Env = home, append(os.Environ(), "HOME="+home, "SOTTO_PRIVATE="+private)
			out, _ := cmd.CombinedOutput()
			if codes[i] = cmd.ProcessState.ExitCode(); codes[i] != ui.Done && codes[i] != ui.Refused {
				t.Errorf("exit code %d: %s", codes[i], out)
			}
		})
	}
	wait.Wait()
	slices.Sort(codes)
	if want := []int{0, 3, 3, 3, 3, 3}; !slices.Equal(codes, want) {
		t.Errorf("exit codes %v, want %v: one budget for all", codes, want)
	}
}

// TestTextsInAnotherFormat: texts that are saved as JSON lines instead of CSV, or with
// another line end, are the same data set.
func TestTextsInAnotherFormat(t *testing.T) {
	clitest.Home(t)
	var csv, jsonl strings.Builder
	csv.WriteString("text,label\n")
	for i := range 300 {
		text := "message number " + strconv.Itoa(i) + " about the bill"
		csv.WriteString(text + ",World\n")
		jsonl.WriteString(`{"label": "World", "text": "` + text + "\"}\n")
	}
	clitest.Write(t, "a.csv", []byte(csv.String()))
	clitest.Write(t, "a.jsonl", []byte(jsonl.String()))
	clitest.Write(t, "crlf.csv", []byte("\ufeff"+strings.ReplaceAll(csv.String(), "\n", "\r\n")))
	enter := func(name, file string) (int, string) {
		code, _, errs := clitest.Run(t, "ledger", "init", name, "--data", file, "--task", "agnews", "--epsilon", "1", "--delta", "1e-6")
		return code, errs
	}
	if code, errs := enter("news", "a.csv"); code != ui.Done {
		t.Fatalf("%d: %s", code, errs)
	}
	for _, file := range []string{"a.jsonl", "crlf.csv"} {
		if code, errs := enter(file, file); code != ui.Wrong || !strings.Contains(errs, `with "news"`) {
			t.Errorf("%s was entered again, %d: %s", file, code, errs)
		}
	}
}

// TestKnown: with the setting known data that the ledger does not know is refused, in every way of use, and gets no
// budget; once its owner has entered it, it is used.
func TestKnown(t *testing.T) {
	command := clitest.Asking(t, "--set", "known", "--input", "One?")
	clitest.BankFiles(t)
	profile := clitest.ProfileArgs("out", "--data", "loans.csv", "--set", "known")
	perturb := []string{"table", "perturb", "--schema", "loans.toml", "--data", "loans.csv", "--epsilon", "1", "--out", "rows", "--set", "known"}
	texts := []string{"synth", "--method", "clipped", "--task", "chat.toml", "--data", "chats.jsonl", "--size", "300", "--epsilon", "2", "--set", "batch=16", "--inputs", "questions.txt", "--model", "tiny.gguf", "--out", "texts", "--set", "known"}
	clitest.Write(t, "questions.txt", []byte("One?\n"))
	clitest.Done(t, "ledger", "init")
	for _, args := range [][]string{command, profile, perturb, texts} {
		if code, _, errs := clitest.Run(t, args...); code != ui.Wrong || !strings.Contains(errs, "owner gives it a budget") {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
	if _, out, _ := clitest.Run(t, "ledger", "show", "--json"); len(clitest.Object(t, out)["rows"].([]any)) != 0 {
		t.Errorf("a budget was made: %s", out)
	}
	clitest.Done(t, "ledger", "init", "loans", "--data", "loans.csv", "--schema", "loans.toml", "--epsilon", "1", "--delta", "1e-6")
	clitest.Done(t, profile...)
}
