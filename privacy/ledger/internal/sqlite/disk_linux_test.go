package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sotto-dp/sotto/privacy/ledger"
)

// TestFullDisk leaves less and less room on a disk of its own, down to the byte
// at which each write of a reservation fails. A process that may not mount one
// gets the same from a limit on the size of its files.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Logf("cannot mount (%v): testing with a limit on file sizes only", err)
		return
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	path, ballast := filepath.Join(dir, "ledger.db"), filepath.Join(dir, "ballast")
	l := newLedger(t, path)
	acknowledged, refused := 0, 0
	for free := 0; free <= 6; free++ {
		fill(t, dir, ballast, free)
		for i := range 4 {
			switch err := reserve(t.Context(), l, fmt.Sprintf("%d/%d", free, i)); {
			case err == nil:
				acknowledged++
			case errors.Is(err, ledger.ErrUnknown):
				t.Errorf("%d pages free: a full disk leaves it open whether the charge was made: %v", free, err)
			default:
				refused++
				if !strings.Contains(err.Error(), "full") {
					t.Errorf("%d pages free: %v", free, err)
				}
			}
		}
		if d, err := l.Balance(t.Context(), string(records)); err != nil || int(d.Budgets[0].Spent) != acknowledged {
			t.Errorf("%d pages free: %+v, %v; %d was acknowledged", free, d.Budgets, err, acknowledged)
		}
	}
	if refused == 0 || acknowledged == 0 {
		t.Errorf("%d reservations failed, %d did not: both should happen", refused, acknowledged)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	wantSpent(t, path, acknowledged, acknowledged)
	for free := range 7 { // now there is room: the same requests again
		for i := range 4 {
			if err := reserve(t.Context(), l, fmt.Sprintf("%d/%d", free, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantSpent(t, path, 28, 28)
}

// fill writes a file until only so many pages are free.
func fill(t *testing.T, dir, ballast string, pages int) {
	t.Helper()
	var fs syscall.Statfs_t
	if err := os.RemoveAll(ballast); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	size := (int64(fs.Bfree) - int64(pages)) * fs.Bsize
	if err := os.WriteFile(ballast, make([]byte, max(0, size)), 0o600); err != nil {
		t.Fatal(err)
	}
}

const limitVariable = "SOTTO_SQLITE_TEST_LIMIT"

func init() { processes[limitVariable] = limitedProcess }

type diskLimit struct {
	Path string
	Size uint64
}

// TestFileSizeLimit reserves in another process whose files may not grow beyond
// a size, for sizes that fail at different writes.
func TestFileSizeLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	newLedger(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	spent, acknowledged, failed := 0, 0, 0
	for i := range 8 {
		// From less than a journal's header to a page more than the database has.
		size := uint64(info.Size()) * uint64(i) / 6
		text, err := json.Marshal(diskLimit{path, max(size, 100)})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), limitVariable+"="+string(text), "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var made, open int
		if _, err := fmt.Sscanf(string(out), "acknowledged %d, open %d", &made, &open); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		acknowledged += made
		failed += 5 - made
		spent = wantSpent(t, path, spent+made, spent+made+open)
	}
	if failed == 0 || acknowledged == 0 {
		t.Errorf("%d reservations failed, %d did not: both should happen", failed, acknowledged)
	}
}

// limitedProcess returns the process that TestFileSizeLimit starts.
func limitedProcess(text string) error {
	var c diskLimit
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ) // the write fails instead
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: c.Size, Max: c.Size}); err != nil {
		return err
	}
	l, err := open(context.Background(), c.Path)
	if err != nil {
		return err
	}
	made, unknown := 0, 0
	for i := range 5 {
		err := reserve(context.Background(), l, fmt.Sprintf("%d/%d", c.Size, i))
		if err == nil {
			made++
		} else if errors.Is(err, ledger.ErrUnknown) {
			unknown++ // even what was written cannot be undone under the limit
		}
	}
	fmt.Printf("acknowledged %d, open %d\n", made, unknown)
	return nil
}
