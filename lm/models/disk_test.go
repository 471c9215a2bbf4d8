package models

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// full is a disk with room for some bytes.
type full struct {
	disk
	room int
}

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	n, err := f.disk.Write(p[:n])
	f.room -= n
	if err == nil && n < len(p) {
		err = &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return n, err
}

func TestFullDisk(t *testing.T) {
	data := content(11, 500_000)
	entry := entryFor(data)
	s := newSite(t, data)
	o := quick(t)
	o.faults.free = func(string) int64 { return 1000 }
	_, err := pull(t.Context(), entry, "tiny", o)
	space := expect.As[*SpaceError](t, err)
	expect.Equal(t, "free", space.Free, 1000)
	expect.Equal(t, "needed", space.Need, 500_000)
	expect.Len(t, "requests", s.ranges(), 0)
	if !strings.Contains(err.Error(), "SOTTO_MODELS") || !strings.Contains(err.Error(), "500.0 kB") {
		t.Error(err)
	}
	o.faults.free = nil
	o.faults.open = func(path string) (disk, error) {
		d, err := openDisk(path)
		return &full{d, 300_000}, err
	}
	if _, err = pull(t.Context(), entry, "tiny", o); !errors.As(err, &space) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if got := len(s.ranges()); got != 1 {
		t.Errorf("%d requests: a full disk is not the server's fault", got)
	}
	o.faults.open = nil
	if _, err = pull(t.Context(), entry, "tiny", o); err != nil {
		t.Fatal(err)
	}
	if asked := s.ranges(); asked[1] != "bytes=300000-" {
		t.Errorf("asked for %q", asked)
	}
	checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
}

func TestReallyFullDisk(t *testing.T) {
	mount, err := exec.LookPath("mount")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("needs Linux's mount; TestFullDisk covers the same with a simulated disk")
	}
	dir := t.TempDir()
	if out, err := exec.Command(mount, "-t", "tmpfs", "-o", "size=1m", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("may not mount (%s); TestFullDisk covers the same with a simulated disk", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	data := content(12, 3<<20)
	newSite(t, data)
	var space *SpaceError
	o := quick(t)
	o.Dir = dir
	if _, err := pull(t.Context(), entryFor(data), "tiny", o); !errors.As(err, &space) || space.Free < 0 {
		t.Fatal("before:", err)
	}
	o.faults.free = func(string) int64 { return -1 }
	if _, err := pull(t.Context(), entryFor(data), "tiny", o); !errors.As(err, &space) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatal("while writing:", err)
	}
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	data := content(13, 1000)
	newSite(t, data)
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, nil)
	dirs := []string{filepath.Join(file, "models")}
	if os.Getuid() > 0 {
		locked := t.TempDir()
		if err := os.Chmod(locked, 0o555); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, locked)
	}
	for _, dir := range dirs {
		_, err := pull(t.Context(), entryFor(data), "tiny", Options{Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "SOTTO_MODELS") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
