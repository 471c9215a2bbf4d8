//go:build unix

package origin

import (
	"errors"
	"os"
)

// ForeignModes reports that the mode of a file does not say who may read it.
const ForeignModes = false

// SyncDir makes the names in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
