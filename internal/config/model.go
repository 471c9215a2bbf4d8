package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/remote"
)

// Model is the table [model] of a configuration file.
type Model struct {
	// Name of the catalogue, path of a GGUF file, or the server's name of a model.
	Name string `toml:"name"`
	// URL of a server, its dialect, and where its key is kept.
	URL     string `toml:"url"`
	Dialect string `toml:"dialect"`
	KeyEnv  string `toml:"key_env"`
	KeyFile string `toml:"key_file"`
	// Trusted says that private records may be sent to the server.
	Trusted bool `toml:"trusted"`
	// Proxy to go through; for a trusted server there is no other. AllowPlaintext lets
	// records go to it unencrypted. Exclusive says that nobody else uses it.
	Proxy          string `toml:"proxy"`
	AllowPlaintext bool   `toml:"allow_plaintext"`
	Exclusive      bool   `toml:"exclusive"`
	// Threads of the embedded engine; Context cuts the longest sequence.
	Threads int `toml:"threads"`
	Context int `toml:"context"`
	// CacheSalt and Tolerance are as in package remote.
	CacheSalt string  `toml:"cache_salt"`
	Tolerance float64 `toml:"tolerance"`
}

func (m *Model) check() error {
	if m.URL == "" && (m.Trusted || m.Dialect != "" || m.KeyEnv != "" || m.KeyFile != "" || m.Proxy != "" || m.AllowPlaintext || m.Exclusive) {
		return fmt.Errorf("[model] has trusted, dialect, key_env, key_file, proxy, allow_plaintext or exclusive, which are about a server, but no url")
	}
	return nil
}

// anchor makes paths relative to the directory of the file that has them.
func (m *Model) anchor(dir string) {
	paths := []*string{&m.KeyFile}
	if m.URL == "" && filepath.Base(m.Name) != m.Name && !strings.HasPrefix(m.Name, "hf:") {
		paths = append(paths, &m.Name)
	}
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
}

// Spec returns the model as package backend opens it.
func (m *Model) Spec() backend.Spec {
	return backend.Spec{
		Model: m.Name, URL: m.URL, Dialect: remote.Dialect(m.Dialect), Key: remote.Key{Env: m.KeyEnv, File: m.KeyFile}, Trusted: m.Trusted,
		Proxy: m.Proxy, AllowPlaintext: m.AllowPlaintext, Exclusive: m.Exclusive,
		Threads: m.Threads, Context: m.Context, CacheSalt: m.CacheSalt, Tolerance: m.Tolerance,
	}
}
