package run

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/durable"
)

// disk is what a run does to its folder, one system call each, so that tests can make
// every one of them fail.
type disk interface {
	Mkdir(name string, mode fs.FileMode) error
	// Create opens a file for writing that does not exist or is to be replaced.
	Create(name string, mode fs.FileMode) (file, error)
	// Append opens an existing file for writing at its end.
	Append(name string) (file, error)
	// Overwrite opens an existing file for writing at its beginning.
	Overwrite(name string) (file, error)
	Rename(from, to string) error
	Remove(name string) error
	// Date sets when a file or folder was last changed and read.
	Date(name string, at time.Time) error
	// SyncDir makes the names in a folder durable.
	SyncDir(name string) error
}

type file interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

// osDisk is the real one.
type osDisk struct{}

func (osDisk) Mkdir(name string, mode fs.FileMode) error { return os.Mkdir(name, mode) }

func (osDisk) Create(name string, mode fs.FileMode) (file, error) {
	return open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
}

func (osDisk) Append(name string) (file, error) { return open(name, os.O_WRONLY|os.O_APPEND, 0) }

func (osDisk) Overwrite(name string) (file, error) { return open(name, os.O_WRONLY, 0) }

// open avoids an interface that holds a nil pointer.
func open(name string, flag int, mode fs.FileMode) (file, error) {
	f, err := os.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osDisk) Rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) Remove(name string) error { return os.Remove(name) }

func (osDisk) Date(name string, at time.Time) error { return os.Chtimes(name, at, at) }

func (osDisk) SyncDir(name string) error { return durable.SyncDir(name) }

// unfinished is the suffix of files that are being written.
const unfinished = ".part"

// writeWhole puts a complete file in place, durably, or leaves what was there.
func writeWhole(d disk, name string, data []byte, mode fs.FileMode) error {
	part := name + unfinished
	f, err := d.Create(part, mode)
	if err != nil {
		return err
	}
	if err := writeAndClose(f, data); err != nil {
		_ = d.Remove(part) // the first error is the one to report
		return err
	}
	if err := d.Rename(part, name); err != nil {
		_ = d.Remove(part)
		return err
	}
	return d.SyncDir(filepath.Dir(name))
}

func writeAndClose(f file, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// makeDir makes a folder unless it is there, durably.
func makeDir(d disk, name string, mode fs.FileMode) error {
	if err := d.Mkdir(name, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.SyncDir(filepath.Dir(name))
}

// makeDirs makes a folder and all above it that are missing, durably.
func makeDirs(d disk, name string, mode fs.FileMode) error {
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	if parent := filepath.Dir(name); parent != name {
		if err := makeDirs(d, parent, mode); err != nil {
			return err
		}
	}
	return makeDir(d, name, mode)
}

// absent reports whether an error says that there is no such file, or could not be one.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// remove deletes a file if it is there.
func remove(d disk, name string) error {
	if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// erase overwrites a file before it deletes it. A file system that writes elsewhere, or a
// disk that does, keeps a copy for a while; a run's key is worth an encrypted disk.
func erase(d disk, name string) error {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := d.Overwrite(name)
	if err != nil {
		return err
	}
	if err := writeAndClose(f, make([]byte, info.Size())); err != nil {
		return err
	}
	if err := d.Remove(name); err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(name))
}
