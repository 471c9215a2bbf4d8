package reference

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// Rewrite is the flag -rewrite of tests that compare documents with the code: it writes them.
var Rewrite = flag.Bool("rewrite", false, "write documents as they should be")

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
