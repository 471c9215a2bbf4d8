package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestCommitted holds the committed files to what the generator writes.
func TestCommitted(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes; run: go generate ./internal/engine/kernel", name)
		}
	}
	for _, pattern := range []string{"../*_avx*_amd64.s", "../*_avx*_amd64.go", "../*_neon*_arm64.s", "../*_neon*_arm64.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if _, ok := files[filepath.Base(path)]; !ok {
				t.Errorf("the generator does not write %s; remove it", path)
			}
		}
	}
}
