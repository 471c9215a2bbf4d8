package mapfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/mapfile"
)

func TestMapping(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	want := bytes.Repeat([]byte("0123456789"), 10_000)
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := mapfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	// The name may go: downloads are replaced by renaming.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !bytes.Equal(m.Bytes(), want) {
			t.Fatal("the bytes are not those of the file")
		}
		if err := m.Release(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Release(); err != nil || m.Bytes() != nil {
		t.Errorf("after Close: %d bytes, error %v", len(m.Bytes()), err)
	}
}

// TestReleasePart: what was released is there when it is read again, and bytes of elsewhere are refused.
func TestReleasePart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	want := bytes.Repeat([]byte("0123456789"), 10_000)
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := mapfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, part := range [][2]int{{0, 0}, {0, len(want)}, {5, 6}, {4096, 8192}, {4000, 9000}, {len(want) - 1, len(want)}} {
		if err := m.ReleasePart(m.Bytes()[part[0]:part[1]]); err != nil {
			t.Errorf("bytes %d to %d: %v", part[0], part[1], err)
		}
		if !bytes.Equal(m.Bytes(), want) {
			t.Fatalf("after releasing %d to %d the bytes are not those of the file", part[0], part[1])
		}
	}
	if err := m.ReleasePart(want); err == nil {
		t.Error("bytes that are not of the mapping were released")
	}
	if err := (*mapfile.Mapping)(nil).ReleasePart(want); err != nil {
		t.Errorf("of no mapping: %v", err)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                           "not a regular file",
		empty:                         "is empty",
		filepath.Join(dir, "missing"): "missing",
	} {
		if _, err := mapfile.Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", path, err, want)
		}
	}
}
