package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// key writes a new pair of keys and returns the private one.
func key(t *testing.T, dir string) ed25519.PrivateKey {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	der, err2 := x509.MarshalPKIXPublicKey(public)
	if err := errors.Join(err, err2,
		os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600),
		os.WriteFile(filepath.Join(dir, "pub.pem"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	return private
}

// TestSignatures: users' own tools check a release, and see a file that was changed.
func TestSignatures(t *testing.T) {
	src, _ := small(t)
	keys, dir := t.TempDir(), t.TempDir()
	private := key(t, keys)
	again, err := readKey(filepath.Join(keys, "key.pem"))
	if err != nil || !again.Equal(private) {
		t.Fatal(err)
	}
	if _, err := readKey(filepath.Join(keys, "pub.pem")); err == nil {
		t.Error("a public key signs")
	}
	r := &release{src: src, files: []file{{name: "a.whl", mode: 0o644, data: []byte("a")}}}
	if err := r.write(dir, private); err != nil {
		t.Fatal(err)
	}
	for file, c := range map[string][]string{
		"a.whl":  {"sha256sum", "--check", "--strict", sumsFile},
		sumsFile: {"openssl", "pkeyutl", "-verify", "-pubin", "-inkey", filepath.Join(keys, "pub.pem"), "-rawin", "-in", sumsFile, "-sigfile", sumsFile + ".sig"},
	} {
		if _, err := exec.LookPath(c[0]); err != nil {
			t.Skipf("%s is not here", c[0])
		}
		output(t, command(dir, c[0], c[1:]...))
		path := filepath.Join(dir, file)
		good, err := os.ReadFile(path)
		if err := errors.Join(err, os.WriteFile(path, append([]byte("x"), good...), 0o600)); err != nil {
			t.Fatal(err)
		}
		if command(dir, c[0], c[1:]...).Run() == nil {
			t.Errorf("%s does not see that %s was changed", c[0], file)
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := empty(keys); err == nil {
		t.Error("a folder that is no release was emptied")
	}
}

// TestStatement: the statement names every file, the commit and the version of Go.
func TestStatement(t *testing.T) {
	src, _ := small(t)
	data, err := provenance(src, pages)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Type          string `json:"_type"`
		PredicateType string `json:"predicateType"`
		Subject       []struct {
			Name   string
			Digest map[string]string
		}
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct {
					URI    string
					Digest map[string]string
				}
			}
		}
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	from := s.Predicate.BuildDefinition.ResolvedDependencies
	for _, c := range []struct{ what, got, want string }{
		{"type", s.Type, "https://in-toto.io/Statement/v1"},
		{"type of the predicate", s.PredicateType, "https://slsa.dev/provenance/v1"},
		{"commit", from[0].Digest["gitCommit"], src.commit},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, c.got, c.want)
		}
	}
	if len(s.Subject) != len(pages) {
		t.Fatalf("subjects: got %d, want %d", len(s.Subject), len(pages))
	}
	if got := s.Subject[0].Digest["sha256"]; len(got) != 64 {
		t.Errorf("digest of the first subject: got %q, want 64 digits", got)
	}
	if got := from[1].URI; !strings.HasPrefix(got, "pkg:generic/go@1.") {
		t.Errorf("compiler: got %q, want a version of Go", got)
	}
}
