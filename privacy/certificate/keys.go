package certificate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/durable"
)

// The files in the folder of a signer.
const (
	// privateFile is the key that signs, mode 0600.
	privateFile = "signer.pem"
	// publicFile is its public half, for verifiers.
	publicFile = "signer.pub.pem"
	// TrustFile lists other keys, and those that ended or were revoked.
	TrustFile = "trust.json"
	lockFile  = "trust.lock"
)

// OpenSigner loads the key that signs from a folder. The first use makes both, so that
// programs that nobody watches can sign.
func OpenSigner(dir string) (s *Signer, made bool, err error) {
	defer explain(dir, &err)
	if err := prepare(dir); err != nil {
		return nil, false, err
	}
	path := filepath.Join(dir, privateFile)
	if s, err = loadSigner(path); errors.Is(err, fs.ErrNotExist) {
		s, made, err = makeSigner(path)
	}
	if err != nil {
		return nil, false, err
	}
	t, err := loadOptional(filepath.Join(dir, TrustFile))
	if err != nil {
		return nil, false, err
	}
	if own, ok := t.keys[s.public.ID()]; ok {
		if err := own.admits(time.Now().UTC()); err != nil {
			return nil, false, fmt.Errorf("%w; make another: sotto keys new", err)
		}
	}
	return s, made, publish(dir, s.public)
}

// makeSigner makes a key, or loads that of a process that was faster.
func makeSigner(path string) (s *Signer, made bool, err error) {
	s, private, err := generate()
	if err != nil {
		return nil, false, err
	}
	if err := durable.LinkNew(path, private); errors.Is(err, fs.ErrExist) {
		s, err = loadSigner(path)
		return s, false, err
	} else if err != nil {
		return nil, false, err
	}
	return s, true, nil
}

// publish writes the public half of the key that signs.
func publish(dir string, k PublicKey) error {
	path, text := filepath.Join(dir, publicFile), k.PEM()
	if have, err := os.ReadFile(path); err == nil && string(have) == string(text) {
		return nil
	}
	return durable.WriteFile(path, text, 0o644)
}

// SignerKey returns the public half of the key that signs in a folder; without one the error is
// [fs.ErrNotExist].
func SignerKey(dir string) (PublicKey, error) {
	data, err := readKeyFile(filepath.Join(dir, publicFile), false)
	if err != nil {
		return PublicKey{}, err
	}
	keys, err := parsePublicKeys(data)
	if err == nil && len(keys) != 1 {
		err = fmt.Errorf("%s should hold one key", filepath.Join(dir, publicFile))
	}
	if err != nil {
		return PublicKey{}, err
	}
	return keys[0], nil
}

// NewKey makes another key that signs from now on. What the one before signed until today
// stays valid: the trust file lists it with its last day.
func NewKey(dir string) (k PublicKey, err error) {
	err = changeTrust(dir, func(t *Trust) error {
		before, err := loadSigner(filepath.Join(dir, privateFile))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		ended := newKey(before.public)
		ended.ValidUntil = Day(time.Now())
		t.add(ended)
		return nil
	}, func() error {
		s, private, err := generate()
		if err != nil {
			return err
		}
		k = s.public
		if err := durable.WriteFile(filepath.Join(dir, privateFile), private, 0o600); err != nil {
			return err
		}
		return publish(dir, k)
	})
	return k, err
}

// AddTrust adds keys to the trust file of a folder. Until, if it is not zero, is the last day of
// those that have no end.
func AddTrust(dir string, from *Trust, until time.Time) error {
	return changeTrust(dir, func(t *Trust) error {
		for _, k := range from.Keys() {
			if k.ValidUntil.IsZero() && !until.IsZero() {
				k.ValidUntil = Day(until)
			}
			t.add(k)
		}
		return nil
	}, nil)
}

// Revoke ends the trust in a key for all time, past included. The key is named by its ID or at
// least the first 8 digits of it. The private half of the key that signs is erased. Verifiers
// see the reason.
func Revoke(dir, prefix, reason string) (revoked Key, err error) {
	err = changeTrust(dir, func(t *Trust) error {
		if err := checkText("the reason", reason); err != nil {
			return err
		}
		all := &Trust{}
		all.Merge(t)
		if own, err := SignerKey(dir); err == nil {
			all.add(newKey(own))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if revoked, err = all.find(prefix); err != nil {
			return err
		}
		if !revoked.Revoked.IsZero() {
			return revoked.admits(time.Time{})
		}
		revoked.Revoked, revoked.Reason = time.Now().UTC().Truncate(time.Second), reason
		t.add(revoked)
		return nil
	}, func() error {
		own, err := SignerKey(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && own.ID() != revoked.ID {
			return nil
		}
		return errors.Join(err, os.Remove(filepath.Join(dir, privateFile)), os.Remove(filepath.Join(dir, publicFile)))
	})
	return revoked, err
}

// find finds a key by its ID or the beginning of it.
func (t *Trust) find(prefix string) (found Key, err error) {
	if len(prefix) < 8 {
		return Key{}, fmt.Errorf("key %q: give at least the first 8 digits of the ID", prefix)
	}
	for _, k := range t.Keys() {
		if !strings.HasPrefix(k.ID, prefix) {
			continue
		}
		if found.ID != "" {
			return Key{}, fmt.Errorf("key %q fits more than one key; give more digits", prefix)
		}
		found = k
	}
	if found.ID == "" {
		return Key{}, fmt.Errorf("key %q is not known here; list the keys", prefix)
	}
	return found, nil
}

// changeTrust changes the trust file of a folder, and then does the rest. A crash between the
// two leaves keys that are trusted for less, never for more.
func changeTrust(dir string, change func(*Trust) error, then func() error) (err error) {
	defer explain(dir, &err)
	if err := prepare(dir); err != nil {
		return err
	}
	lock := filepath.Join(dir, lockFile)
	if err := durable.WriteNew(lock, nil, 0o600); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("another program is changing its keys; if none is running, remove %s", lock)
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(lock)) }()
	path := filepath.Join(dir, TrustFile)
	t, err := loadOptional(path)
	if err != nil {
		return err
	}
	if err := change(t); err != nil {
		return err
	}
	if len(t.keys) > 0 {
		data, err := t.file()
		if err != nil {
			return err
		}
		if err := durable.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	if then == nil {
		return nil
	}
	return then()
}

// prepare makes a folder, and refuses one in which others could replace keys.
func prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if perm := info.Mode().Perm(); runtime.GOOS != "windows" && perm&0o022 != 0 {
		return fmt.Errorf("it can be changed by other users (mode %04o): run chmod 700 %s", perm, dir)
	}
	return nil
}

func explain(dir string, err *error) {
	if *err != nil {
		*err = fmt.Errorf("signing keys %s: %w", dir, *err)
	}
}
