// Package durable writes files that are there as a whole or not at all, also after a crash.
package durable

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Replace puts what write writes in the place of a file. It writes beside it, and renames
// when the content is on disk: readers see the old file or the new one. After an error the
// old one stands, and nothing else is left. The new name lasts after [SyncDir].
func Replace(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error is the one to report
		}
	}()
	b := bufio.NewWriter(f)
	if err = write(b); err == nil {
		err = errors.Join(b.Flush(), f.Chmod(mode), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return rename(f.Name(), path)
}

// WriteFile replaces a file by data, and syncs the folder.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	if err := Replace(path, mode, Bytes(data)); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Bytes returns a function for [Replace] that writes data.
func Bytes(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// WriteNew writes a file that must not exist yet, on any kind of file system. One that is
// there stays, with an error that is [fs.ErrExist]. The name lasts after [SyncDir].
func WriteNew(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// LinkNew writes a secret to a file with mode 0600 that must not exist yet. It is there as a whole
// or not at all, and lasts. One that is there stays, with an error that is [fs.ErrExist].
func LinkNew(path string, secret []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(secret)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	// A link, unlike a rename, does not replace the key of another process.
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a folder durable. Windows has no such call: there [Replace]
// renames through to the disk, and syncing a new file writes its name with it.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
