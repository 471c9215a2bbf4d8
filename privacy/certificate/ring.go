package certificate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	ringFile   = "ring.json"
	lockFile   = "ring.lock"
	ringFormat = "sotto-keyring-v1"
	maxRing    = 1 << 20
)

// Ring is a directory of keys: at most one is active, the others are retired or revoked. It
// holds
//
//	ring.json         the status of each key; authoritative
//	ID.key.pem        the private half of the active key, mode 0600
//	ID.pub.pem        the public halves of all
//	ID.rotation.json  the statement in which its predecessor endorses key ID
//
// A key that ring.json does not name, as a crash may leave behind, is never used. A Ring is
// a view of the directory as it was opened. Every change reads it again, under a lock that
// other processes respect.
type Ring struct {
	dir  string
	keys []trustedKey
	now  func() time.Time
}

type ringIndex struct {
	Format string    `json:"format"`
	Keys   []KeyInfo `json:"keys"`
}

// CreateRing makes a directory with a new active key. The directory may exist
// when it is empty.
func CreateRing(dir string) (*Ring, error) { return createRing(dir, time.Now) }

func createRing(dir string, now func() time.Time) (*Ring, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("key ring: %w", err)
	}
	if err := checkDirMode(dir); err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(dir); err != nil {
		return nil, fmt.Errorf("key ring: %w", err)
	} else if len(entries) > 0 {
		return nil, fmt.Errorf("key ring: %s is not empty, and keys are never overwritten: choose another directory, or rotate the keys there", dir)
	}
	r := &Ring{dir: dir, now: now}
	data, err := r.index()
	if err != nil {
		return nil, fmt.Errorf("key ring: %w", err)
	}
	if err := createNew(r.path(ringFile), data, 0o644); err != nil {
		return nil, fmt.Errorf("key ring: %w", err)
	}
	if _, err := r.Generate(); err != nil {
		return nil, err
	}
	return r, nil
}

// OpenRing reads a key ring, whole or exported. It reads no private key.
func OpenRing(dir string) (*Ring, error) {
	r := &Ring{dir: dir, now: time.Now}
	if err := r.load(); err != nil {
		return nil, fmt.Errorf("key ring %s: %w", dir, err)
	}
	return r, nil
}

func (r *Ring) path(name string) string       { return filepath.Join(r.dir, name) }
func (r *Ring) privatePath(id string) string  { return r.path(id + ".key.pem") }
func (r *Ring) publicPath(id string) string   { return r.path(publicFileName(id)) }
func (r *Ring) rotationPath(id string) string { return r.path(id + ".rotation.json") }
func (r *Ring) instant() time.Time            { return r.now().UTC().Truncate(time.Second) }
func (r *Ring) find(match func(KeyInfo) bool) int {
	return slices.IndexFunc(r.keys, func(k trustedKey) bool { return match(k.KeyInfo) })
}

func isActive(k KeyInfo) bool { return k.Status == Active }

// Keys lists all keys, oldest first.
func (r *Ring) Keys() []KeyInfo {
	infos := make([]KeyInfo, len(r.keys))
	for i, k := range r.keys {
		infos[i] = k.KeyInfo
	}
	return infos
}

// Trust returns the keys as a verifier sees them.
func (r *Ring) Trust() *Trust {
	t := &Trust{}
	for _, k := range r.keys {
		t.add(k)
	}
	return t
}

// Lookup finds a key by its ID or the beginning of it, at least 8 digits.
func (r *Ring) Lookup(prefix string) (KeyInfo, error) {
	i, err := r.lookup(prefix)
	if err != nil {
		return KeyInfo{}, err
	}
	return r.keys[i].KeyInfo, nil
}

func (r *Ring) lookup(prefix string) (int, error) {
	if len(prefix) < 8 {
		return 0, fmt.Errorf("key %q: give at least the first 8 digits of the ID", prefix)
	}
	match := func(k KeyInfo) bool { return strings.HasPrefix(k.ID, prefix) }
	i := r.find(match)
	if i < 0 {
		return 0, fmt.Errorf("key %q is not in the ring %s; list its keys", prefix, r.dir)
	}
	if slices.ContainsFunc(r.keys[i+1:], func(k trustedKey) bool { return match(k.KeyInfo) }) {
		return 0, fmt.Errorf("key %q fits more than one key; give more digits", prefix)
	}
	return i, nil
}

// Public returns a public key by its ID or the beginning of it; the active one
// for the empty text.
func (r *Ring) Public(prefix string) (PublicKey, error) {
	if prefix == "" {
		i := r.find(isActive)
		if i < 0 {
			return PublicKey{}, r.errNoActive()
		}
		return r.keys[i].key, nil
	}
	i, err := r.lookup(prefix)
	if err != nil {
		return PublicKey{}, err
	}
	return r.keys[i].key, nil
}

func (r *Ring) errNoActive() error {
	return fmt.Errorf("key ring %s has no active key; generate one", r.dir)
}

// Signer loads the active private key. A retired or revoked one cannot sign.
func (r *Ring) Signer() (*Signer, error) {
	if err := r.load(); err != nil {
		return nil, fmt.Errorf("key ring %s: %w", r.dir, err)
	}
	i := r.find(isActive)
	if i < 0 {
		return nil, r.errNoActive()
	}
	if err := checkDirMode(r.dir); err != nil {
		return nil, err
	}
	s, err := loadSigner(r.privatePath(r.keys[i].ID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("key ring %s is an export without private keys; sign with the original: %w", r.dir, err)
	}
	if err != nil {
		return nil, err
	}
	if s.public != r.keys[i].key {
		return nil, fmt.Errorf("private key %s does not belong to the public one beside it", r.privatePath(r.keys[i].ID))
	}
	return s, nil
}

// checkDirMode refuses a directory in which others could replace keys.
func checkDirMode(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("key ring: %w", err)
	}
	if perm := info.Mode().Perm(); runtime.GOOS != "windows" && perm&0o022 != 0 {
		return fmt.Errorf("key ring %s can be changed by other users (mode %04o): run chmod 700 %s", dir, perm, dir)
	}
	return nil
}

// Export copies the public part of the ring into a new or empty directory, for
// verifiers.
func (r *Ring) Export(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("export keys: %w", err)
	}
	if err := r.load(); err != nil {
		return fmt.Errorf("export keys: %w", err)
	}
	var names []string
	for _, k := range r.keys {
		names = append(names, publicFileName(k.ID))
		if _, err := os.Stat(r.rotationPath(k.ID)); err == nil {
			names = append(names, k.ID+".rotation.json")
		}
	}
	for _, name := range append(names, ringFile) {
		data, err := os.ReadFile(r.path(name))
		if err != nil {
			return fmt.Errorf("export keys: %w", err)
		}
		if err := createNew(filepath.Join(dir, name), data, 0o644); err != nil {
			return fmt.Errorf("export keys: %w", err)
		}
	}
	return nil
}

// Rotation returns the statement in which its predecessor endorsed a key, by the
// key's ID or the beginning of it.
func (r *Ring) Rotation(prefix string) ([]byte, error) {
	k, err := r.Lookup(prefix)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(r.rotationPath(k.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("key %s was not endorsed by an earlier key: %w", k.ID, err)
	}
	return data, err
}
