//go:build unix

package jobs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// folderLock is a lock on a job's folder. The process has a copy, so that the lock lasts as long as
// either of them.
type folderLock struct{ file *os.File }

// lockPlace locks a folder; nil if it is in use.
func lockPlace(place string) (*folderLock, error) {
	f, err := os.OpenFile(filepath.Join(place, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the folder of the job: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, f.Close()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the folder of the job: %w", err), f.Close())
	}
	return &folderLock{f}, nil
}

func (h *folderLock) close() { _ = h.file.Close() } // nothing was written

// belongs gives the process its copy of the lock.
func belongs(cmd *exec.Cmd, h *folderLock) {
	cmd.ExtraFiles = []*os.File{h.file}
	dieTogether(cmd)
}
