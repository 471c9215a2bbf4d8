package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/ui"
)

func TestParseSettings(t *testing.T) {
	s, err := parseSettings([]byte("ledger = 'a.db'\nkeys = \"k\""))
	if err != nil || s.Ledger != "a.db" || s.Keys != "k" {
		t.Errorf("%+v, %v", s, err)
	}
	for text, want := range map[string]string{
		"ledgr = 'a'":           "ledgr: there is no such key; did you mean ledger?",
		"[models]\nx = 1":       "models: there is no such key; did you mean model?",
		"ledger = 3":            "ledger",
		"ledger = ":             "line 1",
		"ledger='a'\nledger=''": "line 2",
	} {
		if _, err := parseSettings([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, should mention %s", text, err, want)
		}
	}
}

// TestConfigurationIsBounded: a file that would take all memory to decode is refused
// before that.
func TestConfigurationIsBounded(t *testing.T) {
	home(t)
	for text, want := range map[string]string{
		strings.Repeat("a.", 20_000) + "a = 1":                                             "nested more than",
		strings.Repeat("a = {", 10_000) + strings.Repeat("}", 10_000):                      "nested more than",
		"[" + strings.Repeat("a.", 20_000) + "a]\n":                                        "nested more than",
		"# " + strings.Repeat("long ", 20_000):                                             "larger than",
		"ledger = \"" + strings.Repeat("a", largestConfig) + "\"":                          "larger than",
		"ledger = \"a.db\"\nkeys = " + strings.Repeat("[", 100) + strings.Repeat("]", 100): "line 2, file: it is nested",
	} {
		if err := os.WriteFile("a.toml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := run(t, "ledger", "list", "--config", "a.toml"); code != ui.Wrong || !strings.Contains(errs, want) {
			t.Errorf("%.30q: exit code %d: %s", text, code, errs)
		}
	}
}

// TestConfigurationKeepsSecrets: what is wrong with a file is told without its values.
func TestConfigurationKeepsSecrets(t *testing.T) {
	for _, text := range []string{
		"ledger = hunter2",
		"ledger = \"postgres://me:hunter2\\q@host/db\"",
		"ledger = \"postgres://me:hunter2\\u12@host/db\"",
		"ledger = \"postgres://me:hunter2@host/db",
		"[model]\ncache_salt = 'hunter2' hunter2",
		"[model]\ntolerance = 0xhunter2",
		"[model]\ntolerance = \"hunter2\"",
	} {
		_, err := parseSettings([]byte(text))
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSettingsAreRelativeToTheirFile(t *testing.T) {
	s := settings{Ledger: "a.db", Keys: "/k"}
	s.anchor("/etc/sotto")
	if s.Ledger != filepath.Join("/etc/sotto", "a.db") || s.Keys != "/k" {
		t.Errorf("%+v", s)
	}
	s = settings{Ledger: "postgres://host/db"}
	s.anchor("/etc")
	if s.Ledger != "postgres://host/db" || s.Keys != "" {
		t.Errorf("%+v", s)
	}
}

func TestRedact(t *testing.T) {
	for address, want := range map[string]string{
		"a.db":                               "a.db",
		"postgres://me:secret@h/db":          "postgres://me:xxxxx@h/db",
		"postgres://h/db?password=secret":    "postgres://h/db?password=xxxxx",
		"postgres://me:sec ret@h:port/d%zz":  "postgres://…",
		"postgres://h/db?sslmode=disable":    "postgres://h/db?sslmode=disable",
		"postgresql://me@h/db?host=%2Ftmp":   "postgresql://me@h/db?host=%2Ftmp",
		"/data/with:colon/postgres/file.db":  "/data/with:colon/postgres/file.db",
		"sqlite:/data/ledger.db":             "sqlite:/data/ledger.db",
		"postgres://u:p%20w@h/d?password=pw": "postgres://u:xxxxx@h/d?password=xxxxx",
	} {
		got := redact(address)
		if got != want || strings.Contains(got, "secret") {
			t.Errorf("%q is shown as %q, want %q", address, got, want)
		}
	}
}

func TestDataDirWithoutHome(t *testing.T) {
	for _, v := range []string{"HOME", "XDG_DATA_HOME", "SOTTO_LEDGER", "SOTTO_CONFIG"} {
		t.Setenv(v, "")
		os.Unsetenv(v)
	}
	t.Chdir(t.TempDir())
	p := &program{}
	if at, err := p.ledgerAddress(); ui.ExitCode(err) != ui.Wrong || !strings.Contains(err.Error(), "SOTTO_LEDGER") {
		t.Errorf("%q, %v", at, err)
	}
	p.ledger = "a.db"
	if at, err := p.ledgerAddress(); err != nil || at != "a.db" {
		t.Errorf("%q, %v", at, err)
	}
}
