package jobs

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/config"
)

// Environment is that of a job: some variables of this process, and the places that it has: its ledger,
// keys, private folder and configuration. They are named in full: a job works in the directory of the
// one who added it, where relative paths and the defaults of another user would lead elsewhere.
func Environment(given *config.Places) (env []string, err error) {
	settings, err := given.Settings()
	if err != nil {
		return nil, err
	}
	at, err := given.All()
	if err != nil {
		return nil, err
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); passes(settings, name) {
			env = append(env, v)
		}
	}
	for _, place := range [][2]string{
		{config.LedgerVariable, at.Ledger},
		{config.KeysVariable, at.Keys},
		{config.PrivateVariable, at.Private},
		{config.FileVariable, cmp.Or(given.File, os.Getenv(config.FileVariable))},
	} {
		value := place[1]
		if value != "" && !config.IsURL(value) {
			if value, err = filepath.Abs(value); err != nil {
				return nil, fmt.Errorf("name %s in full for jobs: %w", place[0], err)
			}
		}
		if value != "" {
			env = append(env, place[0]+"="+value)
		}
	}
	return env, nil
}

// passes reports whether a job gets a variable of this process: what programs need to run and to
// reach records, and not keys of other servers.
func passes(s *config.Settings, name string) bool {
	switch {
	case name == s.Model.KeyEnv:
		return true
	case s.OIDC != nil && name == s.OIDC.SecretEnv, name == "SOTTO_STORE":
		return false
	}
	for _, u := range s.Upstreams {
		if name == u.KeyEnv {
			return false
		}
	}
	return slices.Contains([]string{"PATH", "HOME", "USER", "TMPDIR", "TMP", "TEMP", "TZ", "LANG", "SystemRoot", "APPDATA", "LOCALAPPDATA", "USERPROFILE"}, name) ||
		slices.ContainsFunc([]string{"LC_", "XDG_", "PG", "SOTTO_", "SSL_CERT_", "GO"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
