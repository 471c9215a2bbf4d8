package reference

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// Rewrite is the flag -rewrite of tests that compare documents with the code: it writes them.
var Rewrite = flag.Bool("rewrite", false, "write documents as they should be")

var dir = flag.String("docs", "", "write reference pages into this folder")

// Write writes a page into the folder of the flag -docs, if it is given: make docs gives it.
func Write(t testing.TB, name string, page []byte) {
	t.Helper()
	if *dir == "" {
		return
	}
	path := filepath.Join(*dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, page, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// Keep compares a file with what it should be, or writes it.
func Keep(t testing.TB, path string, want []byte) {
	t.Helper()
	if *Rewrite {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code says (%v): run this test with -args -rewrite, and read what changed", path, err)
	}
}
