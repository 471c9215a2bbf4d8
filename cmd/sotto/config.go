package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/bounded"
	"github.com/sotto-dp/sotto/internal/document"
	"github.com/sotto-dp/sotto/internal/userdir"
)

// configName is the name of configuration files.
const configName = "sotto.toml"

// settings is what a configuration file can say. Unknown keys are errors.
type settings struct {
	// Ledger is the path of a ledger's file or a PostgreSQL URL.
	Ledger string `toml:"ledger"`
	// Keys is the directory of the key ring.
	Keys string `toml:"keys"`
	// Private is the directory of the key by which data sets are known again.
	Private string `toml:"private"`
	// Model is what is used when no flag names a model.
	Model modelSettings `toml:"model"`

	// given lists the keys that the file has, and file is its path.
	given []string
	file  string
}

// openToAll are the keys that count from a file in the working directory too. Whoever
// may write there (a downloaded archive, a shared folder) must not decide where records
// go, which file is sent as a key, what signs, and what is charged.
var openToAll = []string{"model", "model.name", "model.threads", "model.context"}

// configured reads the configuration, once: the file that --config or SOTTO_CONFIG
// names; else the user's own, with what the working directory's may add.
func (p *program) configured() (*settings, error) {
	if p.settings != nil {
		return p.settings, nil
	}
	s, err := p.readConfiguration()
	if err != nil {
		return nil, err
	}
	p.settings = s
	return s, nil
}

func (p *program) readConfiguration() (*settings, error) {
	if path := cmp.Or(p.configPath, os.Getenv("SOTTO_CONFIG")); path != "" {
		return readSettings(path, nil, (*settings).check)
	}
	own := &settings{}
	path := ownConfig()
	if path != "" {
		var err error
		if own, err = readSettings(path, onlyOwner, (*settings).check); errors.Is(err, fs.ErrNotExist) {
			own = &settings{}
		} else if err != nil {
			return nil, err
		}
	}
	here, err := readSettings(configName, nil, (*settings).harmless)
	if errors.Is(err, fs.ErrNotExist) || sameFile(path, configName) {
		return own, nil
	}
	if err != nil {
		return nil, err
	}
	own.add(here)
	return own, nil
}

// ownConfig is the path of the user's own configuration, "" if there is no place for one.
func ownConfig() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "sotto", configName)
}

// readSettings reads a configuration file. Its file and what it says have to pass checks.
func readSettings(path string, file func(*os.File) error, check func(*settings) error) (*settings, error) {
	data, err := readConfigFile(path, file)
	if err != nil {
		return nil, usage("configuration: %w", err)
	}
	s, err := parseSettings(data)
	if err != nil {
		return nil, usage("configuration %s: %w", path, err)
	}
	if s.file, err = filepath.Abs(path); err != nil {
		s.file = path
	}
	if err := check(s); err != nil {
		return nil, usage("configuration %s: %w", path, err)
	}
	s.anchor(filepath.Dir(path))
	return s, nil
}

// largestConfig is far more than a configuration needs.
const largestConfig = 1 << 16

func readConfigFile(path string, check func(*os.File) error) (_ []byte, err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a file")} // a FIFO would be waited for
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if check != nil {
		if err := check(f); err != nil {
			return nil, err
		}
	}
	data, err := bounded.Read(f, largestConfig)
	if err != nil {
		err = &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return data, err
}

// check finds what is wrong with settings that may say everything.
func (s *settings) check() error { return s.Model.check() }

// harmless refuses keys that a file in the working directory may not have.
func (s *settings) harmless() error {
	for _, key := range s.given {
		if slices.Contains(openToAll, key) {
			continue
		}
		own := cmp.Or(ownConfig(), "a file that --config or SOTTO_CONFIG names")
		return fmt.Errorf("it sets %q, which a file in the working directory may not: whoever can write there would decide where records go, what signs and what is charged; if it is yours, put it into %s, or name the file with --config or SOTTO_CONFIG", key, own)
	}
	return nil
}

// add takes what a file in the working directory says. A model that it names is one of
// the embedded engine, also where the user's own configuration has a server.
func (s *settings) add(here *settings) {
	m := here.Model
	if m.Name != "" {
		s.Model = modelSettings{Name: m.Name, Threads: s.Model.Threads, Context: s.Model.Context}
	}
	s.Model.Threads = cmp.Or(m.Threads, s.Model.Threads)
	s.Model.Context = cmp.Or(m.Context, s.Model.Context)
}

// parseSettings decodes a configuration. Of what is no TOML it tells the place only: the
// decoder's words may quote a value, such as the address of a database with its password.
func parseSettings(data []byte) (*settings, error) {
	var s settings
	found, _ := document.Decode(data, &s)
	for i := range found.List {
		if p := &found.List[i]; p.Column > 0 && p.Where == "file" {
			p.What, p.Fix = "it cannot be read", "strings go in \"quotes\", with \\\\ for a backslash, and each key comes once"
		}
	}
	if len(found.List) > 0 {
		return nil, errors.New(document.Join(found.List))
	}
	for _, key := range found.Keys() {
		s.given = append(s.given, strings.ToLower(key))
	}
	return &s, nil
}

// anchor makes paths relative to the directory of the file that has them.
func (s *settings) anchor(dir string) {
	for _, path := range []*string{&s.Ledger, &s.Keys, &s.Private} {
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
		return "", usage("there is no place to look for %s: use the flag, or set %s (%w)", name, variable, err)
	}
	return filepath.Join(dir, name), nil
}

// addPlaces adds the flags for what a run that is charged and signed uses.
func (p *program) addPlaces(cmd *cobra.Command) {
	p.addLedger(cmd.Flags())
	p.addKeys(cmd)
	p.addPrivate(cmd)
}

// addPrivate adds the flag for the folder that [program.privateDir] finds.
func (p *program) addPrivate(cmd *cobra.Command) {
	addDir(cmd, &p.private, "private", "the `DIR` of the key by which data sets are known again, and of the index of their records (default: SOTTO_PRIVATE, your configuration, the user's data directory)")
}

// privateDir is the folder of the key by which the ledger knows data sets again.
// Whoever shares a ledger shares that key.
func (p *program) privateDir() (string, error) {
	return p.choose(p.private, "SOTTO_PRIVATE", func(s *settings) string { return s.Private }, "private")
}

// dataDir is where the user's programs keep what they must not lose.
func dataDir() (string, error) { return userdir.Data() }

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
