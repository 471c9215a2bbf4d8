package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Names in a run folder.
const (
	planFile    = "plan.json"
	journalFile = "journal.jsonl"
	privateDir  = "private"
	keyFile     = "key"
	lockFile    = "lock"
)

// folder is a run folder.
type folder struct {
	dir  string
	disk disk
	lock *flock.Flock
	// made: the folder was not there before.
	made bool
}

func (f *folder) path(names ...string) string {
	return filepath.Join(append([]string{f.dir}, names...)...)
}

func (f *folder) refuse(format string, args ...any) error {
	return &FolderError{f.dir, fmt.Sprintf(format, args...)}
}

// exists reports whether there is something of a name.
func (f *folder) exists(names ...string) (bool, error) {
	_, err := os.Lstat(f.path(names...))
	if absent(err) {
		return false, nil
	}
	return err == nil, err
}

// prepare makes the folder with its private part, and locks it.
func (f *folder) prepare() error {
	_, err := os.Lstat(f.dir)
	f.made = absent(err)
	if err := makeDirs(f.disk, f.dir, 0o755); err != nil {
		return fmt.Errorf("make the run folder: %w; choose one that can be written", err)
	}
	if err := f.usable(); err != nil {
		return err
	}
	const tries = 10
	for range tries {
		if err := makeDir(f.disk, f.path(privateDir), 0o700); err != nil {
			return fmt.Errorf("make the private part of the run folder: %w; choose one that can be written", err)
		}
		if err := f.sealed(); err != nil {
			return err
		}
		ok, err := f.tryLock()
		if ok || err != nil {
			return err
		}
	}
	return &BusyError{f.dir}
}

// sealed makes sure that nobody else reads what is in the private part.
func (f *folder) sealed() error {
	name := f.path(privateDir)
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist): // a run that completed removed it
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return f.refuse("%s is not a folder; choose a new one", name)
	case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return f.refuse("others can read %s: chmod 700 it", name)
	}
	return nil
}

// tryLock locks the folder. It is false if the lock's file was removed meanwhile by a run
// that completed: a lock on a file that others do not find excludes nobody.
func (f *folder) tryLock() (bool, error) {
	l := flock.New(f.path(privateDir, lockFile), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("lock the run folder: %w", err)
	case !ok:
		return false, &BusyError{f.dir}
	}
	mine, err := l.Stat()
	there, missing := os.Lstat(l.Path())
	if err != nil || missing != nil || !os.SameFile(mine, there) {
		return false, errors.Join(err, l.Close())
	}
	f.lock = l
	return true, nil
}

// usable refuses a folder in which something else lies.
func (f *folder) usable() error {
	info, err := os.Lstat(f.dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return f.refuse("it is not a folder; choose another name")
	}
	if there, err := f.exists(journalFile); err != nil || there {
		return err
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		// A run that died before its journal began leaves these.
		name := strings.TrimSuffix(e.Name(), unfinished)
		if !slices.Contains([]string{planFile, journalFile, privateDir}, name) {
			return f.refuse("it holds %q and no run; choose a new or an empty folder", e.Name())
		}
	}
	return nil
}

// unlock lets others work in the folder.
func (f *folder) unlock() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

// savePlan writes the plan.
func (f *folder) savePlan(p any) error {
	data, _, err := encodePlan(p)
	if err != nil {
		return err
	}
	if err := writeWhole(f.disk, f.path(planFile), data, 0o644); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}

func encodePlan(p any) (data []byte, sum string, err error) {
	if data, err = json.MarshalIndent(p, "", "  "); err != nil {
		return nil, "", fmt.Errorf("encode the plan: %w", err)
	}
	data = append(data, '\n')
	return data, hexSum(data), nil
}

// newKey draws a key and makes it durable before anything is charged for it.
func (f *folder) newKey(draw func() (noise.Key, error)) (noise.Key, error) {
	key, err := draw()
	if err != nil {
		return noise.Key{}, fmt.Errorf("draw a key: %w", err)
	}
	data, err := key.Export()
	if err != nil {
		return noise.Key{}, err
	}
	defer clear(data)
	if err := writeWhole(f.disk, f.path(privateDir, keyFile), data, 0o600); err != nil {
		return noise.Key{}, fmt.Errorf("store the key of the run: %w", err)
	}
	return key, nil
}

// readKey reads the key of a run that continues.
func (f *folder) readKey() (noise.Key, error) {
	name := f.path(privateDir, keyFile)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return noise.Key{}, f.refuse("its key is gone (%s), so that what it began cannot be repeated; its charge stays. Start again in another folder", name)
	}
	if err != nil {
		return noise.Key{}, fmt.Errorf("read the key of the run: %w", err)
	}
	defer clear(data)
	key, err := noise.ImportKey(data)
	if err != nil {
		return noise.Key{}, fmt.Errorf("%s: %w", name, err)
	}
	return key, nil
}

// complete erases the key and removes the private part. The lock goes last but one: who
// finds none after that finds a complete run.
func (f *folder) complete() error {
	for _, name := range []string{keyFile, keyFile + unfinished} {
		if err := erase(f.disk, f.path(privateDir, name)); err != nil {
			return fmt.Errorf("erase the key of the run: %w", err)
		}
	}
	if err := remove(f.disk, f.path(privateDir, lockFile)); err != nil {
		return fmt.Errorf("remove the lock of the run: %w", err)
	}
	if err := remove(f.disk, f.path(privateDir)); err != nil && !f.lockedAgain(err) {
		return fmt.Errorf("remove the private part of the run folder: %w", err)
	}
	return f.disk.SyncDir(f.dir)
}

// date sets the times of all released files. When the file system last changed an entry cannot be
// set: who is on the machine sees that, and no copy has it.
func (f *folder) date(day time.Time) error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			if err := f.disk.Date(f.path(e.Name()), day); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockedAgain reports whether the private part could not be removed because another program
// locked it after the lock went. That one finds a complete run, and removes the private part.
func (f *folder) lockedAgain(err error) bool {
	entries, gone := os.ReadDir(f.path(privateDir))
	others := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != lockFile })
	return errors.Is(err, fs.ErrExist) && !others && (gone == nil || absent(gone))
}

// leftovers removes what an interrupted write left behind.
func (f *folder) leftovers() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		temporary := strings.HasSuffix(e.Name(), unfinished) || strings.HasPrefix(e.Name(), "."+certificate.FileName+".tmp-")
		if !temporary || e.IsDir() {
			continue
		}
		if err := remove(f.disk, f.path(e.Name())); err != nil {
			return fmt.Errorf("remove an unfinished file: %w", err)
		}
	}
	return nil
}
