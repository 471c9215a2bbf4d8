package certificate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/sotto-dp/sotto/sys/durable"
)

// Generate makes a new active key where there is none, as after a revocation. No older key
// endorses it: verifiers must get it from the signer.
func (r *Ring) Generate() (KeyInfo, error) {
	var made KeyInfo
	err := r.change(func() error {
		if i := r.find(isActive); i >= 0 {
			return fmt.Errorf("key %s is active; rotate or revoke it", r.keys[i].ID)
		}
		_, k, err := r.newKey()
		made = k.KeyInfo
		return err
	})
	return made, err
}

// Rotate retires the active key and makes a new one, which the old endorses. The
// old private key is erased.
func (r *Ring) Rotate() (retired, active KeyInfo, err error) {
	err = r.change(func() error {
		i := r.find(isActive)
		if i < 0 {
			return r.errNoActive()
		}
		old, err := loadSigner(r.privatePath(r.keys[i].ID))
		if err != nil {
			return err
		}
		at := r.instant()
		next, k, err := r.newKey()
		if err != nil {
			return err
		}
		statement, err := endorse(old, next.public, at)
		if err != nil {
			return err
		}
		if err := createNew(r.rotationPath(k.ID), statement, 0o644); err != nil {
			return err
		}
		r.keys[i].Status, r.keys[i].Retired, r.keys[i].Successor = Retired, at, k.ID
		retired, active = r.keys[i].KeyInfo, k.KeyInfo
		return nil
	})
	return retired, active, err
}

// Revoke withdraws trust from a key for all time, past included. The private
// half is erased. Reason is shown to verifiers.
func (r *Ring) Revoke(prefix, reason string) (KeyInfo, error) {
	var info KeyInfo
	err := r.change(func() error {
		if err := checkText("the reason", reason); err != nil {
			return err
		}
		i, err := r.lookup(prefix)
		if err != nil {
			return err
		}
		k := &r.keys[i].KeyInfo
		if k.Status == Revoked {
			return fmt.Errorf("key %s is revoked already, since %s", k.ID, k.Revoked.Format(time.RFC3339))
		}
		k.Status, k.Revoked, k.Reason = Revoked, r.instant(), reason
		info = *k
		return nil
	})
	return info, err
}

// newKey writes a key pair and appends it to the keys in memory.
func (r *Ring) newKey() (*Signer, trustedKey, error) {
	s, private, err := generate()
	if err != nil {
		return nil, trustedKey{}, err
	}
	k := trustedKey{KeyInfo{ID: s.public.ID(), Status: Active, Created: r.instant()}, s.public}
	r.keys = append(r.keys, k)
	if err := createNew(r.privatePath(k.ID), private, 0o600); err != nil {
		return nil, trustedKey{}, err
	}
	if err := createNew(r.publicPath(k.ID), k.key.PEM(), 0o644); err != nil {
		return nil, trustedKey{}, err
	}
	return s, k, nil
}

// change applies a change to the ring on disk. It takes effect when ring.json is replaced.
// Private keys that it made useless are erased after that, so a crash at any point leaves a
// working ring.
func (r *Ring) change(apply func() error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("key ring %s: %w", r.dir, err)
		}
	}()
	if err := checkDirMode(r.dir); err != nil {
		return err
	}
	lock := r.path(lockFile)
	if err := createNew(lock, nil, 0o600); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("another program is changing it; if none is running, remove %s", lock)
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(lock)) }()
	if err := r.load(); err != nil {
		return err
	}
	if err = apply(); err == nil {
		err = r.writeIndex()
	}
	if err != nil {
		return errors.Join(err, r.rollBack())
	}
	return r.erase()
}

// rollBack returns to the ring on disk and removes new keys that it lacks.
func (r *Ring) rollBack() error {
	tried := r.Keys()
	if err := r.load(); err != nil {
		return err
	}
	for _, k := range tried {
		if r.find(func(o KeyInfo) bool { return o.ID == k.ID }) < 0 {
			for _, name := range []string{r.privatePath(k.ID), r.publicPath(k.ID), r.rotationPath(k.ID)} {
				os.Remove(name)
			}
		}
	}
	return nil
}

// erase removes the private halves of keys that must not sign any more.
func (r *Ring) erase() error {
	var failed []error
	for _, k := range r.keys {
		if k.Status == Active {
			continue
		}
		if err := os.Remove(r.privatePath(k.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, fmt.Errorf("key %s is %s, but its private half could not be erased: %w", k.ID, k.Status, err))
		}
	}
	return errors.Join(failed...)
}

func (r *Ring) index() ([]byte, error) {
	data, err := encode(ringIndex{ringFormat, r.Keys()})
	return append(data, '\n'), err
}

func (r *Ring) writeIndex() error {
	data, err := r.index()
	if err != nil {
		return err
	}
	return durable.WriteFile(r.path(ringFile), data, 0o644)
}

// load reads ring.json and the public keys.
func (r *Ring) load() error {
	info, err := os.Stat(r.path(ringFile))
	if err != nil {
		return fmt.Errorf("%w (is this a key ring? generate one first)", err)
	}
	if info.Size() > maxRing {
		return fmt.Errorf("%s has more than %d bytes", ringFile, maxRing)
	}
	data, err := os.ReadFile(r.path(ringFile))
	if err != nil {
		return err
	}
	index, err := parseRing(data)
	if err != nil {
		return fmt.Errorf("%s: %w", ringFile, err)
	}
	keys := make([]trustedKey, 0, len(index.Keys))
	for _, info := range index.Keys {
		data, err := readKeyFile(r.publicPath(info.ID), false)
		if err != nil {
			return err
		}
		pub, err := parsePublicKeys(data)
		if err != nil {
			return fmt.Errorf("%s: %w", r.publicPath(info.ID), err)
		}
		if len(pub) != 1 || pub[0].ID() != info.ID {
			return fmt.Errorf("%s does not hold key %s", r.publicPath(info.ID), info.ID)
		}
		keys = append(keys, trustedKey{info, pub[0]})
	}
	r.keys = keys
	return nil
}

// parseRing reads the index strictly: misreading a status means trusting a wrong key.
func parseRing(data []byte) (ringIndex, error) {
	var index ringIndex
	if len(data) == 0 || data[len(data)-1] != '\n' {
		return index, errors.New("it is cut short")
	}
	if err := decode(data[:len(data)-1], &index); err != nil {
		return index, err
	}
	if index.Format != ringFormat {
		return index, fmt.Errorf("its format is %q, this program knows %q", index.Format, ringFormat)
	}
	if index.Keys == nil {
		return index, errors.New("it lists no keys")
	}
	active := 0
	seen := map[string]bool{}
	for _, k := range index.Keys {
		if err := k.check(); err != nil {
			return index, err
		}
		if seen[k.ID] {
			return index, fmt.Errorf("key %s is listed twice", k.ID)
		}
		seen[k.ID] = true
		if k.Status == Active {
			active++
		}
	}
	if active > 1 {
		return index, errors.New("more than one key is active")
	}
	return index, nil
}

// check checks that a status agrees with its times.
func (k KeyInfo) check() error {
	if err := errors.Join(checkKeyID(k.ID), checkTime("created", k.Created)); err != nil {
		return err
	}
	bad := func(what string) error { return fmt.Errorf("key %s is %s %s", k.ID, k.Status, what) }
	if !k.Retired.IsZero() {
		if err := checkTime("retired", k.Retired); err != nil {
			return err
		}
	}
	switch k.Status {
	case Active:
		if !k.Retired.IsZero() || !k.Revoked.IsZero() || k.Reason != "" || k.Successor != "" {
			return bad("and has traces of retirement or revocation")
		}
	case Retired:
		if k.Retired.IsZero() || !k.Revoked.IsZero() || k.Reason != "" {
			return bad("without a time of retirement, or has traces of revocation")
		}
	case Revoked:
		return cmp.Or(checkTime("revoked", k.Revoked), checkText("the reason of a revocation", k.Reason))
	default:
		return fmt.Errorf("key %s has unknown status %q", k.ID, k.Status)
	}
	if k.Successor != "" {
		return checkKeyID(k.Successor)
	}
	return nil
}
