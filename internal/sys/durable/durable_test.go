package durable_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/durable"
)

// only fails the test unless a folder has one file, with this content and mode.
func only(t *testing.T, path, want string, mode fs.FileMode) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Fatalf("the folder has %v, %v", entries, err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Fatalf("read %d bytes, %v", len(got), err)
	}
	info, err := entries[0].Info()
	if err != nil || runtime.GOOS != "windows" && info.Mode() != mode {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a file")
	large := strings.Repeat("x", 1<<20)
	for _, step := range []struct {
		content string
		mode    fs.FileMode
	}{{"first", 0o644}, {large, 0o600}, {"", 0o640}} {
		if err := durable.WriteFile(path, []byte(step.content), step.mode); err != nil {
			t.Fatal(err)
		}
		only(t, path, step.content, step.mode)
	}
}

// TestReplaceFails states that an error at any point leaves the old file and nothing else.
func TestReplaceFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := durable.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for _, before := range []int{0, 1, 1 << 20} {
		err := durable.Replace(path, 0o644, func(w io.Writer) error {
			_, err := w.Write(make([]byte, before))
			return errors.Join(err, broken)
		})
		if !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", before, err)
		}
		only(t, path, "old", 0o600)
	}
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.MkdirAll(filepath.Join(folder, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(folder, []byte("new"), 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	if entries, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(entries) != 1 {
		t.Errorf("beside the folder: %v, %v", entries, err)
	}
	if err := durable.WriteFile(filepath.Join(path, "below"), nil, 0o600); err == nil {
		t.Error("a file was written below a file")
	}
}

func TestWriteNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := durable.WriteNew(path, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteNew(path, []byte("second"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("written twice: %v", err)
	}
	only(t, path, "first", 0o600)
}

func TestSyncDir(t *testing.T) {
	if err := durable.SyncDir(t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := durable.SyncDir(filepath.Join(t.TempDir(), "missing")); err == nil && runtime.GOOS != "windows" {
		t.Error("a missing folder was synced")
	}
}
