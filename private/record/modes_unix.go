//go:build unix

package record

import (
	"errors"
	"os"
)

// foreignModes reports that the mode of a file does not say who may read it.
const foreignModes = false

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
