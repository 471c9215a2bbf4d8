package folder_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/folder"
	"github.com/sotto-dp/sotto/internal/private/internal/keys"
)

// made is a folder with a key.
func made(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "private")
	if _, err := keys.FolderKey(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestShare: an exported key gives another folder the same id, in a file that only its
// owner can read, and importing it again changes nothing.
func TestShare(t *testing.T) {
	dir := made(t)
	want, err := folder.KeyID(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "shared.key")
	if id, err := folder.Export(dir, file); err != nil || id != want {
		t.Fatalf("%s, %v", id, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := folder.Export(dir, file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an export replaced a file: %v", err)
	}
	other := filepath.Join(t.TempDir(), "new", "private")
	for range 2 {
		if id, err := folder.Import(other, file); err != nil || id != want {
			t.Fatalf("%s, %v", id, err)
		}
	}
	if id, err := folder.KeyID(other); err != nil || id != want {
		t.Errorf("%s, %v", id, err)
	}
}

// TestImportReplacesNothing: a folder keeps the key that it has, and the error names both
// ids and holds neither key.
func TestImportReplacesNothing(t *testing.T) {
	dir, from := made(t), made(t)
	before, err := os.ReadFile(folder.KeyPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	_, err = folder.Import(dir, folder.KeyPath(from))
	if err == nil {
		t.Fatal("the key was replaced")
	}
	for _, d := range []string{dir, from} {
		if id, _ := folder.KeyID(d); !strings.Contains(err.Error(), id) {
			t.Errorf("%v does not name %s", err, id)
		}
	}
	if after, err := os.ReadFile(folder.KeyPath(dir)); err != nil || string(after) != string(before) {
		t.Errorf("the key changed: %v", err)
	}
}

// TestRefusedKeys: what is no key, or is open to others, is not imported, and a folder
// without a key has none to export.
func TestRefusedKeys(t *testing.T) {
	dir := t.TempDir()
	short, open := filepath.Join(dir, "short"), filepath.Join(dir, "open")
	for path, mode := range map[string]os.FileMode{short: 0o600, open: 0o644} {
		if err := os.WriteFile(path, make([]byte, 32), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(short, 31); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "private")
	for _, from := range []string{short, open, dir, filepath.Join(dir, "absent")} {
		if _, err := folder.Import(to, from); err == nil {
			t.Errorf("%s was imported", from)
		}
	}
	if has, err := folder.HasKey(to); has || err != nil {
		t.Errorf("%v, %v", has, err)
	}
	if _, err := folder.Export(to, filepath.Join(dir, "out")); err == nil {
		t.Error("a key came from nowhere")
	}
	if _, err := folder.KeyID(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestConcurrentFirstUse: however many use a folder first at once, it has one key.
func TestConcurrentFirstUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "private")
	ids := make([]string, 16)
	var wait sync.WaitGroup
	for i := range ids {
		wait.Go(func() {
			key, err := keys.FolderKey(dir)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = key.ID()
		})
	}
	wait.Wait()
	for _, id := range ids {
		if id != ids[0] || len(id) != 16 {
			t.Fatalf("%q and %q", id, ids[0])
		}
	}
}

// TestKeyIsNotPrinted: no verb prints the secret.
func TestKeyIsNotPrinted(t *testing.T) {
	dir := made(t)
	secret, err := os.ReadFile(folder.KeyPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.ReadKey(folder.KeyPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, key); strings.Contains(got, string(secret)) || strings.Contains(got, "secret") {
			t.Errorf("%s prints %q", verb, got)
		}
	}
}
