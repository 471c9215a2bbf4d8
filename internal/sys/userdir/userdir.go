// Package userdir finds where programs keep what their user must not lose: ledgers, keys
// that sign, and the key by which data sets are known. All programs look in one place, so
// that a data set has one budget whichever of them reads it.
package userdir

import (
	"os"
	"path/filepath"
	"runtime"
)

// Data returns the folder.
func Data() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sotto"), nil
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "sotto"), err
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share", "sotto"), err
}
