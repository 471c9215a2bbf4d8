//go:build !unix

package jobs

import (
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/gofrs/flock"
)

// folderLock is a lock on a job's folder, which the worker has.
type folderLock struct{ lock *flock.Flock }

// lockPlace locks a folder; nil if it is in use.
func lockPlace(place string) (*folderLock, error) {
	l := flock.New(filepath.Join(place, "lock"), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the folder of the job: %w", err)
	}
	if !ok {
		return nil, nil
	}
	return &folderLock{l}, nil
}

func (h *folderLock) close() { _ = h.lock.Close() } // nothing was written

// belongs does nothing: the process's own lock on its run keeps others out.
func belongs(*exec.Cmd, *folderLock) {}
