package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/BurntSushi/toml"
)

// configName is the configuration file that is read when no other is named.
const configName = "sotto.toml"

// settings is what a configuration file can say. Unknown keys are errors.
type settings struct {
	// Ledger is the path of a ledger's file or a PostgreSQL URL.
	Ledger string `toml:"ledger"`
	// Keys is the directory of the key ring.
	Keys string `toml:"keys"`
	// Model is what is used when no flag names a model.
	Model modelSettings `toml:"model"`
}

// configured reads the configuration file, once.
func (p *program) configured() (*settings, error) {
	if p.settings != nil {
		return p.settings, nil
	}
	path := p.configPath
	if path == "" {
		path = os.Getenv("SOTTO_CONFIG")
	}
	optional := path == ""
	if optional {
		path = configName
	}
	data, err := os.ReadFile(path)
	if optional && errors.Is(err, fs.ErrNotExist) {
		p.settings = &settings{}
		return p.settings, nil
	}
	if err != nil {
		return nil, usage("configuration: %w", err)
	}
	s, err := parseSettings(string(data))
	if err != nil {
		return nil, usage("configuration %s: %w", path, err)
	}
	s.anchor(filepath.Dir(path))
	p.settings = s
	return s, nil
}

func parseSettings(text string) (*settings, error) {
	var s settings
	meta, err := toml.Decode(text, &s)
	if err != nil {
		return nil, err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		names := make([]string, len(unknown))
		for i, k := range unknown {
			names[i] = fmt.Sprintf("%q", k.String())
		}
		return nil, fmt.Errorf("unknown key %s; known are \"ledger\", \"keys\", and in [model] \"name\", \"url\", \"dialect\", \"key_env\", \"key_file\", \"trusted\", \"threads\", \"context\", \"cache_salt\", \"tolerance\"", strings.Join(names, ", "))
	}
	if err := s.Model.check(); err != nil {
		return nil, err
	}
	return &s, nil
}

// anchor makes paths relative to the directory of the file that has them.
func (s *settings) anchor(dir string) {
	for _, path := range []*string{&s.Ledger, &s.Keys} {
		if *path != "" && !filepath.IsAbs(*path) && !isURL(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	s.Model.anchor(dir)
}

func isURL(s string) bool {
	scheme, _, found := strings.Cut(s, ":")
	return found && (scheme == "postgres" || scheme == "postgresql" || scheme == "sqlite" || strings.Contains(s, "://"))
}

// choose returns the first that is given of a flag, a variable, and a value of
// the configuration file; else a file in the user's data directory.
func (p *program) choose(flag, variable string, configured func(*settings) string, name string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if v := os.Getenv(variable); v != "" {
		return v, nil
	}
	s, err := p.configured()
	if err != nil {
		return "", err
	}
	if v := configured(s); v != "" {
		return v, nil
	}
	dir, err := dataDir()
	if err != nil {
		return "", usage("there is no place to look for %s: use the flag, set %s, or write it in %s (%w)", name, variable, configName, err)
	}
	return filepath.Join(dir, name), nil
}

// dataDir is where the user's programs keep what they must not lose.
func dataDir() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sotto"), nil
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "sotto"), err
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share", "sotto"), err
}

// redact removes the password of an address, for messages.
func redact(address string) string {
	if !isURL(address) {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		scheme, _, _ := strings.Cut(address, ":")
		return scheme + "://…"
	}
	q := u.Query()
	if q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}
