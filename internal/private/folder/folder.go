package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
)

// KeyPath returns where the key of a folder is.
func KeyPath(dir string) string { return filepath.Join(dir, keys.KeyFile) }

// HasKey reports whether a folder has a key. It makes none.
func HasKey(dir string) (bool, error) {
	_, err := os.Stat(KeyPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// KeyID returns the id of the key of a folder. It makes none: without a key the error is
// [fs.ErrNotExist].
func KeyID(dir string) (string, error) {
	key, err := keys.ReadKey(KeyPath(dir))
	if err != nil {
		return "", err
	}
	return key.ID(), nil
}

// Export copies the key of a folder to a new file with mode 0600, and returns its id. It
// replaces nothing.
func Export(dir, to string) (id string, err error) {
	key, err := keys.ReadKey(KeyPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s has no key yet: the first use of data makes one, or import one", dir)
	}
	if err != nil {
		return "", err
	}
	if err := key.CopyTo(to); err != nil {
		return "", err
	}
	return key.ID(), nil
}

// Import gives a folder the key of an exported file, and returns its id. A folder that has
// another key keeps it: what that one identified would not be recognised any more.
func Import(dir, from string) (id string, err error) {
	key, err := keys.ReadKey(from)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the private folder: %w", err)
	}
	if err := key.WriteNew(KeyPath(dir)); !errors.Is(err, fs.ErrExist) {
		return key.ID(), err
	}
	known, err := keys.ReadKey(KeyPath(dir))
	if err != nil {
		return "", err
	}
	if known.ID() != key.ID() {
		return "", fmt.Errorf("%s has the key %s, and %s is the key %s: ledgers that were used with the first would not know their data again. Choose another private folder for the new key (--private DIR, SOTTO_PRIVATE), or move the old key file away if no ledger needs it", dir, known.ID(), from, key.ID())
	}
	return key.ID(), nil
}
