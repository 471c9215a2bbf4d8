package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/remote"
)

// Model is the table [model] of a configuration file.
type Model struct {
	// Name of the catalogue, path of a GGUF file, or the server's name of a model.
	Name string `toml:"name"`
	// Encoder of sentences that runs in this program: a name of "sotto model list", or the path of a folder or of a GGUF file. Default: minilm.
	Encoder string `toml:"encoder"`
	// URL of a server; without one the embedded engine is used.
	URL string `toml:"url"`
	// Dialect of the server: vllm, sglang, llamacpp, ollama, openai or azure; it is found out if it is not given.
	Dialect string `toml:"dialect"`
	// KeyEnv and KeyFile name the variable or the file that holds the server's key.
	KeyEnv  string `toml:"key_env"`
	KeyFile string `toml:"key_file"`
	// Trusted says that private records may be sent to the server.
	Trusted bool `toml:"trusted"`
	// Proxy to go through; for a trusted server there is no other.
	Proxy string `toml:"proxy"`
	// AllowPlaintext lets records go to the server unencrypted.
	AllowPlaintext bool `toml:"allow_plaintext"`
	// Exclusive says that nobody else uses the server while it reads records, and that it keeps nothing between them that changes an answer.
	Exclusive bool `toml:"exclusive"`
	// Threads of the embedded engine. Default: all processors.
	Threads int `toml:"threads"`
	// Context cuts the longest sequence of the embedded engine, in tokens.
	Context int `toml:"context"`
	// Activations is the number of bits that the embedded engine rounds the inputs of its products to: 8 or 16. Default: 16.
	Activations int `toml:"activations"`
	// CacheSalt separates the server's cache of these prompts from that of others, where it
	// can.
	CacheSalt string `toml:"cache_salt"`
	// Tolerance is how far two log-probabilities of one sequence may be apart, in nats.
	Tolerance float64 `toml:"tolerance"`
}

func (m *Model) check() error {
	if m.URL == "" && (m.Trusted || m.Dialect != "" || m.KeyEnv != "" || m.KeyFile != "" || m.Proxy != "" || m.AllowPlaintext || m.Exclusive) {
		return fmt.Errorf("[model] has trusted, dialect, key_env, key_file, proxy, allow_plaintext or exclusive, which are about a server, but no url")
	}
	if !slices.Contains([]int{0, 8, 16}, m.Activations) {
		return fmt.Errorf("[model] has activations of %d bits: there are 8 and 16", m.Activations)
	}
	return nil
}

// anchor makes paths relative to the directory of the file that has them.
func (m *Model) anchor(dir string) {
	paths := []*string{&m.KeyFile}
	if m.URL == "" && filepath.Base(m.Name) != m.Name && !strings.HasPrefix(m.Name, "hf:") {
		paths = append(paths, &m.Name)
	}
	if filepath.Base(m.Encoder) != m.Encoder && !strings.HasPrefix(m.Encoder, "hf:") {
		paths = append(paths, &m.Encoder)
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
		Model: m.Name, Encoder: m.Encoder, URL: m.URL, Dialect: remote.Dialect(m.Dialect), Key: remote.Key{Env: m.KeyEnv, File: m.KeyFile}, Trusted: m.Trusted,
		Proxy: m.Proxy, AllowPlaintext: m.AllowPlaintext, Exclusive: m.Exclusive,
		Threads: m.Threads, Context: m.Context, Activations: m.Activations, CacheSalt: m.CacheSalt, Tolerance: m.Tolerance,
	}
}
