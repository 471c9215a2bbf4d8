//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// onlyOwner checks that nobody but the user (and root) can change a configuration: not
// its file, not the folder it is in, and where it is a link, not the file that it leads to.
func onlyOwner(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := ownedAlone(f.Name(), info); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(f.Name())
	if err != nil {
		return err
	}
	for _, dir := range []string{filepath.Dir(f.Name()), filepath.Dir(real)} {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if err := ownedAlone(dir, info); err != nil {
			return err
		}
	}
	return nil
}

func ownedAlone(path string, info fs.FileInfo) error {
	wrong := ""
	if of, ok := info.Sys().(*syscall.Stat_t); ok && of.Uid != 0 && int(of.Uid) != os.Geteuid() {
		wrong = "it belongs to somebody else; make one of your own"
	} else if info.Mode().Perm()&0o022 != 0 {
		wrong = fmt.Sprintf("others may write to it; run: chmod go-w %s", path)
	}
	if wrong == "" {
		return nil
	}
	return fmt.Errorf("%s decides where records go, and %s", path, wrong)
}
