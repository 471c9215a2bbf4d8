package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func TestParseSettings(t *testing.T) {
	s, err := parse([]byte("ledger = 'a.db'\nkeys = \"k\""))
	expect.NoError(t, err)
	expect.Equal(t, "s.Ledger", s.Ledger, "a.db")
	expect.Equal(t, "s.Keys", s.Keys, "k")
	for text, want := range map[string]string{
		"ledgr = 'a'":           "ledgr: there is no such key; did you mean ledger?",
		"[models]\nx = 1":       "models: there is no such key; did you mean model?",
		"ledger = 3":            "ledger",
		"ledger = ":             "line 1",
		"ledger='a'\nledger=''": "line 2",
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, should mention %s", err, want)
			}
		})
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
		_, err := parse([]byte(text))
		at := expect.At(t, "%q", text)
		expect.True(at, "no hunter2 in error", !strings.Contains(fmt.Sprint(err), "hunter2"), fmt.Sprint(err))
		expect.Contains(at, "error", fmt.Sprint(err), "line ")
	}
}

func TestSettingsAreRelativeToTheirFile(t *testing.T) {
	s := Settings{Ledger: "a.db", Keys: "/k"}
	s.anchor("/etc/sotto")
	if s.Ledger != filepath.Join("/etc/sotto", "a.db") || s.Keys != "/k" {
		t.Errorf("%+v", s)
	}
	s = Settings{Ledger: "postgres://host/db"}
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
		t.Run(address, func(t *testing.T) {
			got := Redact(address)
			if got != want || strings.Contains(got, "secret") {
				t.Errorf("%q is shown as %q, want %q", address, got, want)
			}
		})
	}
}

func TestModelSettings(t *testing.T) {
	for _, wrong := range []string{
		"[model]\ntrusted = true",
		"[model]\nkey_env = \"K\"",
		"[model]\nurl = \"http://x\"\ntrust = true",
		"[model]\nurl = 3",
	} {
		s, err := parse([]byte(wrong))
		if err == nil {
			err = s.check()
		}
		if err == nil {
			t.Errorf("accepted: %s", wrong)
		}
	}
	s, err := parse([]byte("[model]\nname = \"models/x.gguf\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.anchor("/etc/sotto"); s.Model.Name != filepath.Join("/etc/sotto", "models/x.gguf") {
		t.Error(s.Model.Name)
	}
	s, err = parse([]byte("[model]\nname = \"org/x\"\nurl = \"http://x\"\nkey_file = \"key\""))
	if err != nil {
		t.Fatal(err)
	}
	if s.anchor("/etc/sotto"); s.Model.Name != "org/x" || s.Model.KeyFile != filepath.Join("/etc/sotto", "key") {
		t.Errorf("%+v", s.Model)
	}
}
