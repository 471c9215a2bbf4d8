//go:build unix

package sqlite_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/sqlite"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
)

func TestOnlyTheOwnerMayRead(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "with space ?#%&.db")
	l := newLedger(t, path)
	seen := map[string]bool{}
	look := func() {
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			seen[e.Name()] = true
			if info, err := e.Info(); err == nil && info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %o", e.Name(), info.Mode().Perm())
			}
		}
	}
	look()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Trace: func(when, statement string) {
		if statement == "COMMIT" {
			look() // the journal too
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	l2, err := ledger.New(t.Context(), s, ledger.Options{Meter: ledgertest.Count})
	if err != nil {
		t.Fatal(err)
	}
	defer l2.Close()
	if _, err := l2.Grant(t.Context(), ledger.GrantRequest{Dataset: string(records), Epsilon: 1, Reason: "r"}); err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "seen[filepath.Base(path)]", seen[filepath.Base(path)], true)
	expect.Equal(t, "seen[filepath.Base(path)+\"-journal\"]", seen[filepath.Base(path)+"-journal"], true)
	expect.Equal(t, "files seen", len(seen), 2)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		path string
		want string
	}{
		"empty":              {"", "file name"},
		"a directory":        {dir, "regular file"},
		"another file":       {text, "not a ledger"},
		"nowhere":            {filepath.Join(dir, "no", "ledger.db"), "no such file"},
		"another scheme":     {"mysql://host/db", "postgres://"},
		"a wrong port":       {"postgres://localhost:99999/db?password=hunter2", "address"},
		"nobody's listening": {"postgres://nobody:hunter2@127.0.0.1:1/db", "connect"},
	}
	for name, tt := range tests {
		_, err := ledger.Open(t.Context(), tt.path, ledger.Options{Create: true})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
	missing := filepath.Join(dir, "ledger.db")
	if _, err := ledger.Open(t.Context(), missing, ledger.Options{}); !errors.Is(err, ledger.ErrMissing) {
		t.Errorf("a missing ledger: %v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opening a missing ledger left something: %v", err)
	}
}

func TestRowsCannotBeChangedByMistake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	newLedger(t, path)
	for _, statement := range []string{"UPDATE sotto_ledger_row SET body = ''", "DELETE FROM sotto_ledger_row"} {
		if err := execute(t.Context(), path, statement); err == nil {
			t.Errorf("%s succeeded", statement)
		}
	}
	wantSpent(t, path, 0, 0)
}

const lockVariable = "SOTTO_SQLITE_TEST_LOCK"

func init() { processes[lockVariable] = lockProcess }

// TestLocksSurviveOthers: another part of the program opens and closes the file
// in the middle of a transaction, which drops the ordinary locks of a process. A
// second process must still find it locked.
func TestLocksSurviveOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other := func() string {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), lockVariable+"="+path, "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if said := other(); said != "free" {
		t.Fatalf("without a transaction the other process finds the ledger %s", said)
	}
	err = s.Update(t.Context(), func(tx chain.Tx) error {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		file.Close()
		if said := other(); said != "locked" {
			t.Errorf("within a transaction the other process finds the ledger %s", said)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// lockProcess returns the process that TestLocksSurviveOthers starts.
func lockProcess(path string) error {
	said := "free"
	if err := execute(context.Background(), path, "BEGIN IMMEDIATE; ROLLBACK"); err != nil {
		said = "locked"
	}
	_, err := os.Stdout.WriteString(said)
	return err
}
