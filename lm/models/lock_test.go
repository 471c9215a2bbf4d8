package models

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func pinFor(name, of string) Pin {
	return Pin{Name: name, Repository: "someone/tiny", Commit: firstCommit, Path: name + ".gguf", Bytes: 1, SHA256: hashOf([]byte(of))}
}

// TestLockFile: pins of several processes at once are all kept, in order of their names,
// and a name that is pinned to other bytes meanwhile is not overwritten.
func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conf", "models.lock")
	var group sync.WaitGroup
	failed := make([]error, 20)
	for i := range failed {
		group.Go(func() { failed[i] = writePin(t.Context(), path, pinFor(fmt.Sprintf("m%02d", i), "a"), "") })
	}
	group.Wait()
	for _, err := range failed {
		if err != nil {
			t.Fatal(err)
		}
	}
	pins, err := readPins(path)
	expect.NoError(t, err)
	expect.Len(t, "pins", pins, len(failed))
	expect.True(t, "the pin is the one that was written", reflect.DeepEqual(pins[7], pinFor("m07", "a")), pins[7])
	if err := writePin(t.Context(), path, pinFor("m03", "b"), ""); !is[*ChangedError](err) {
		t.Error(err)
	}
	if err := writePin(t.Context(), path, pinFor("m03", "b"), hashOf([]byte("a"))); err != nil {
		t.Error(err)
	}
	if pins, err := readPins(path); err != nil || !reflect.DeepEqual(pins[3], pinFor("m03", "b")) {
		t.Error(pins, err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 2 {
		t.Error(left, err)
	}
}

// TestLockDamaged: a lock file that cannot be read is not taken for one without pins.
func TestLockDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.lock")
	t.Setenv("SOTTO_MODELS_LOCK", path)
	t.Setenv("SOTTO_MODELS", t.TempDir())
	good := fmt.Sprintf(`{"version":1,"models":[{"name":"a","repository":"x/y","commit":%q,"path":"a.gguf","bytes":1,"sha256":%q}]}`, firstCommit, hashOf(nil))
	write(t, path, []byte(good))
	if pins, err := Pins(); err != nil || len(pins) != 1 {
		t.Fatal(pins, err)
	}
	for want, text := range map[string]string{
		"cannot be read": good[:40],
		"version 2":      strings.Replace(good, `"version":1`, `"version":2`, 1),
		"is damaged":     strings.Replace(good, `"name":"a"`, `"name":"../a"`, 1),
		"of \"a\"":       strings.Replace(good, firstCommit, "main", 1),
	} {
		write(t, path, []byte(text))
		_, err := Pins()
		expect.Contains(t, "error", fmt.Sprint(err), want)
		expect.Contains(t, "error", fmt.Sprint(err), path)
		for _, name := range []string{"a", "other"} {
			if _, _, err := Find(name); !is[*RequestError](err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := List(); err == nil {
			t.Error("listed")
		}
	}
	t.Setenv("SOTTO_MODELS_LOCK", "")
	t.Setenv("XDG_CONFIG_HOME", "/conf")
	if got, err := LockPath(); err != nil || got != filepath.Join("/conf", "sotto", "models.lock") {
		t.Error(got, err)
	}
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "")
	if _, err := LockPath(); err == nil || !strings.Contains(err.Error(), "SOTTO_MODELS_LOCK") {
		t.Error(err)
	}
}
