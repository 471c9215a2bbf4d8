// Package config reads the user's configuration: where ledger, keys and the private folder
// are, and which model to use. What a file in the working directory may set is little, since
// others may have written it.
package config

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

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/document"
)

// configName is the name of configuration files.
const configName = "sotto.toml"

// Settings is what a configuration file can say. Unknown keys are errors.
type Settings struct {
	// Ledger is the path of a ledger's file or a PostgreSQL URL.
	Ledger string `toml:"ledger"`
	// Keys is the directory of the key ring.
	Keys string `toml:"keys"`
	// Private is the directory of the key by which data sets are known again.
	Private string `toml:"private"`
	// Model is what is used when no flag names a model.
	Model Model `toml:"model"`
	// Service is the path of the service's store, or a PostgreSQL URL.
	Service string `toml:"service"`
	// Upstreams are servers that the service's routes may name. They see what is released,
	// and questions, and no private record.
	Upstreams map[string]Upstream `toml:"upstream"`
	// OIDC lets people of an organisation in to the dashboard. Without it nobody comes in that way.
	OIDC *OIDC `toml:"oidc"`

	// File is the path of the file, and given lists the keys that it has.
	File  string
	given []string
}

// Upstream is a server of OpenAI's API.
type Upstream struct {
	// URL up to its /v1.
	URL string `toml:"url"`
	// KeyEnv and KeyFile name what holds its key.
	KeyEnv  string `toml:"key_env"`
	KeyFile string `toml:"key_file"`
	// AllowPlaintext lets questions and the key travel in clear.
	AllowPlaintext bool `toml:"allow_plaintext"`
}

// openToAll are the keys that count from a file in the working directory too. Anyone who
// may write there (a downloaded archive, a shared folder) must not decide where records
// go, which file is sent as a key, what signs, and what is charged.
var openToAll = []string{"model", "model.name", "model.threads", "model.context", "model.activations"}

// Read reads the file that is named, by path or by SOTTO_CONFIG; else the user's own, with what
// the working directory's may add.
func Read(path string) (*Settings, error) {
	if path = cmp.Or(path, os.Getenv(FileVariable)); path != "" {
		return read(path, nil, (*Settings).check)
	}
	own := &Settings{}
	path = Own()
	if path != "" {
		var err error
		if own, err = read(path, onlyOwner, (*Settings).check); errors.Is(err, fs.ErrNotExist) {
			own = &Settings{}
		} else if err != nil {
			return nil, err
		}
	}
	here, err := read(configName, nil, (*Settings).harmless)
	if errors.Is(err, fs.ErrNotExist) || SameFile(path, configName) {
		return own, nil
	}
	if err != nil {
		return nil, err
	}
	own.add(here)
	return own, nil
}

// Own returns the path of the user's own configuration, or "" if there is no place for one.
func Own() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "sotto", configName)
}

// read reads a configuration file. Its file and what it says have to pass checks.
func read(path string, file func(*os.File) error, check func(*Settings) error) (*Settings, error) {
	data, err := readFile(path, file)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	s, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	if s.File, err = filepath.Abs(path); err != nil {
		s.File = path
	}
	if err := check(s); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	s.anchor(filepath.Dir(path))
	return s, nil
}

// largestConfig is far more than a configuration needs.
const largestConfig = 1 << 16

func readFile(path string, check func(*os.File) error) (_ []byte, err error) {
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
func (s *Settings) check() error {
	return errors.Join(s.Model.check(), s.OIDC.check())
}

// harmless refuses keys that a file in the working directory may not have.
func (s *Settings) harmless() error {
	for _, key := range s.given {
		if slices.Contains(openToAll, key) {
			continue
		}
		own := cmp.Or(Own(), "a file that --config or SOTTO_CONFIG names")
		return fmt.Errorf("it sets %q, which a file in the working directory may not: anyone who can write there would decide where records go, what signs and what is charged; if it is yours, put it into %s, or name the file with --config or SOTTO_CONFIG", key, own)
	}
	return nil
}

// add takes what a file in the working directory says. A model that it names is one of
// the embedded engine, also where the user's own configuration has a server.
func (s *Settings) add(here *Settings) {
	m := here.Model
	if m.Name != "" {
		s.Model = Model{Name: m.Name, Threads: s.Model.Threads, Context: s.Model.Context, Activations: s.Model.Activations}
	}
	s.Model.Threads = cmp.Or(m.Threads, s.Model.Threads)
	s.Model.Context = cmp.Or(m.Context, s.Model.Context)
	s.Model.Activations = cmp.Or(m.Activations, s.Model.Activations)
}

// parse decodes a configuration. For what is no TOML it names the place only: the
// decoder's words may quote a value, such as the address of a database with its password.
func parse(data []byte) (*Settings, error) {
	var s Settings
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
func (s *Settings) anchor(dir string) {
	for _, path := range []*string{&s.Ledger, &s.Keys, &s.Private, &s.Service} {
		if *path != "" && !filepath.IsAbs(*path) && !IsURL(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	for name, u := range s.Upstreams {
		if u.KeyFile != "" && !filepath.IsAbs(u.KeyFile) {
			u.KeyFile = filepath.Join(dir, u.KeyFile)
			s.Upstreams[name] = u
		}
	}
	s.Model.anchor(dir)
	s.OIDC.anchor(dir)
}

// IsURL reports whether a place is an address rather than a path.
func IsURL(s string) bool {
	scheme, _, found := strings.Cut(s, ":")
	return found && (scheme == "postgres" || scheme == "postgresql" || scheme == "sqlite" || strings.Contains(s, "://"))
}

// SameFile reports whether two paths are of one file that is there.
func SameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// KeptInStore is what becomes of the address of a route's data.
const KeptInStore = "would be kept in the service's store"

// WithoutPassword refuses addresses that would be kept with a password.
func WithoutPassword(address, becomes string) error {
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("the address of the data is not one")
	}
	_, has := u.User.Password()
	for name := range u.Query() {
		has = has || strings.Contains(strings.ToLower(name), "password")
	}
	if has {
		return fmt.Errorf("the address of the data has a password, which %s: leave it out, and give it to the process that uses it (PGPASSWORD, or a password file)", becomes)
	}
	return nil
}

// Redact removes the password of an address, for messages.
func Redact(address string) string {
	if !IsURL(address) {
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
