package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
)

const sumsFile = "SHA256SUMS"

// checksums is what sha256sum reads.
func checksums(files []file) []byte {
	var b bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	return b.Bytes()
}

// provenance is an in-toto statement with SLSA's predicate: which files were built, from which
// commit, with which Go and flags. It has no time of the build, so that it too can be made again.
func provenance(src *source, files []file) ([]byte, error) {
	type digest map[string]string
	type subject struct {
		Name   string `json:"name,omitempty"`
		URI    string `json:"uri,omitempty"`
		Digest digest `json:"digest,omitempty"`
	}
	var subjects []subject
	for _, f := range files {
		subjects = append(subjects, subject{Name: f.name, Digest: digest{"sha256": fmt.Sprintf("%x", sha256.Sum256(f.data))}})
	}
	version, err := command(src.root, "go", "env", "GOVERSION").Output()
	if err != nil {
		return nil, failed("go env", err)
	}
	out, err := json.MarshalIndent(map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType": "https://github.com/sotto-dp/sotto/blob/main/docs/release.md",
				"externalParameters": map[string]any{
					"version": src.version, "sourceDateEpoch": src.date.Unix(), "modified": src.modified,
				},
				"internalParameters":   map[string]any{"flags": src.flags, "environment": src.environ(platform{"*", "*"})},
				"resolvedDependencies": []subject{{URI: "git+https://github.com/sotto-dp/sotto", Digest: digest{"gitCommit": src.commit}}, {URI: "pkg:generic/go@" + strings.TrimPrefix(strings.TrimSpace(string(version)), "go")}},
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": "https://github.com/sotto-dp/sotto/tree/main/tools/release"}},
		},
	}, "", "  ")
	return append(out, '\n'), err
}

// readKey reads a private key in PEM form (PKCS #8). Errors never quote the file.
func readKey(path string) (ed25519.PrivateKey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the key: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("%s is no private key in PEM form: openssl genpkey -algorithm ed25519 makes one", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	ed, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s is no Ed25519 key", path)
	}
	return ed, nil
}
