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
	"slices"
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

// TestSignatures: a release is checked by this program and by others' tools, and what was changed
// in it is found.
func TestSignatures(t *testing.T) {
	src, _ := small(t)
	keys, strangers := t.TempDir(), t.TempDir()
	private := key(t, keys)
	key(t, strangers)
	again, err := readKey(filepath.Join(keys, "key.pem"))
	if err != nil || !again.Equal(private) {
		t.Fatal(err)
	}
	if _, err := readKey(filepath.Join(keys, "pub.pem")); err == nil {
		t.Error("a public key signs")
	}
	dir, public := t.TempDir(), filepath.Join(keys, "pub.pem")
	write := func(signer ed25519.PrivateKey) {
		t.Helper()
		r := &release{src: src, files: []file{{name: "a.deb", mode: 0o644, data: []byte("a")}, {name: "b.tar.gz", mode: 0o644, data: []byte("b")}}}
		if err := r.write(dir, signer); err != nil {
			t.Fatal(err)
		}
	}
	write(private)
	if err := verify(dir, public); err != nil {
		t.Error(err)
	}
	others(t, dir, public)
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, change := range map[string]func() error{
		"another file":       func() error { return os.WriteFile(path("a.deb"), []byte("x"), 0o644) },
		"a file is gone":     func() error { return os.Remove(path("b.tar.gz")) },
		"one file too many":  func() error { return os.WriteFile(path("c.zip"), nil, 0o644) },
		"no signature":       func() error { return os.Remove(path("SHA256SUMS.sig")) },
		"no statement":       func() error { return os.Remove(path(envelopeFile)) },
		"a file outside":     func() error { return appendTo(path("SHA256SUMS"), strings.Repeat("0", 64)+"  ../a\n") },
		"checksums changed":  func() error { return resum(dir, "a.deb", "x") },
		"statement changed":  func() error { return resum(dir, "provenance.json", "{}") },
		"someone else's key": func() error { public = filepath.Join(strangers, "pub.pem"); return nil },
	} {
		write(private)
		public = filepath.Join(keys, "pub.pem")
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if err := verify(dir, public); err == nil {
			t.Errorf("%s: nobody noticed", name)
		}
	}
	write(nil)
	if err := verify(dir, ""); err != nil {
		t.Error(err)
	}
	if err := verify(dir, filepath.Join(keys, "pub.pem")); err == nil || !strings.Contains(err.Error(), "not signed") {
		t.Errorf("without a signature: %v", err)
	}
	if err := empty(keys); err == nil {
		t.Error("a folder that is no release was emptied")
	}
}

// others checks a release as docs/release.md has users do.
func others(t *testing.T, dir, public string) {
	t.Helper()
	for _, c := range [][]string{
		{"sha256sum", "--check", "--strict", sumsFile},
		{"openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", sumsFile, "-sigfile", sumsFile + ".sig"},
	} {
		if _, err := exec.LookPath(c[0]); err != nil {
			t.Logf("%s is not here", c[0])
			continue
		}
		output(t, command(dir, c[0], c[1:]...))
	}
}

func appendTo(path, text string) error {
	data, err := os.ReadFile(path)
	return errors.Join(err, os.WriteFile(path, append(data, text...), 0o644))
}

// resum changes a file and its line in the checksums.
func resum(dir, name, text string) error {
	err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
	data, err2 := os.ReadFile(filepath.Join(dir, sumsFile))
	lines := strings.SplitAfter(string(data), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, "  "+name+"\n") })
	lines[i] = string(checksums([]file{{name: name, data: []byte(text)}}))
	return errors.Join(err, err2, os.WriteFile(filepath.Join(dir, sumsFile), []byte(strings.Join(lines, "")), 0o644))
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
