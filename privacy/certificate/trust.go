package certificate

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Key is a public key, and until when it is trusted.
type Key struct {
	ID string `json:"id"`
	// PublicKey is a PKIX block in PEM.
	PublicKey string `json:"publicKey"`
	// ValidUntil is the last day of the certificates that the key is trusted for. Default: no
	// end.
	ValidUntil time.Time `json:"validUntil,omitzero"`
	// Revoked is when trust in the key ended for all time, past included; Reason says why.
	Revoked time.Time `json:"revoked,omitzero"`
	Reason  string    `json:"reason,omitempty"`

	public PublicKey
}

func newKey(p PublicKey) Key { return Key{ID: p.ID(), PublicKey: string(p.PEM()), public: p} }

// worse reports whether k is trusted for less than o.
func (k *Key) worse(o *Key) bool {
	switch {
	case k.Revoked.IsZero() != o.Revoked.IsZero():
		return !k.Revoked.IsZero()
	case k.ValidUntil.IsZero() != o.ValidUntil.IsZero():
		return !k.ValidUntil.IsZero()
	}
	return k.ValidUntil.Before(o.ValidUntil)
}

// check parses the key and checks that its fields agree.
func (k *Key) check() error {
	keys, err := parsePublicKeys([]byte(k.PublicKey))
	if err != nil {
		return err
	}
	k.public = keys[0]
	switch {
	case len(keys) != 1 || k.public.ID() != k.ID || string(k.public.PEM()) != k.PublicKey:
		return fmt.Errorf("key %q and its ID do not fit", k.ID)
	case !k.ValidUntil.IsZero() && !k.ValidUntil.Equal(Day(k.ValidUntil)):
		return fmt.Errorf("key %s is valid until %s, it should be a day", k.ID, k.ValidUntil.Format(time.RFC3339Nano))
	case k.Revoked.IsZero() && k.Reason != "":
		return fmt.Errorf("key %s has the reason of a revocation, and no date of one", k.ID)
	case k.Revoked.IsZero():
		return nil
	}
	return cmp.Or(checkTime("revoked", k.Revoked), checkText("the reason of a revocation", k.Reason))
}

// admits checks that the key may have signed what is dated a day.
func (k *Key) admits(day time.Time) error {
	switch {
	case !k.Revoked.IsZero():
		return fmt.Errorf("key %s was revoked on %s: %s", k.ID, k.Revoked.Format(time.DateOnly), k.Reason)
	case !k.ValidUntil.IsZero() && Day(day).After(k.ValidUntil):
		return fmt.Errorf("key %s has expired: it was valid until %s, and this is dated %s", k.ID, k.ValidUntil.Format(time.DateOnly), day.Format(time.DateOnly))
	}
	return nil
}

// Trust is a set of keys that a verifier trusts. The zero value has none.
type Trust struct{ keys map[string]Key }

// NewTrust trusts public keys without an end.
func NewTrust(keys ...PublicKey) *Trust {
	t := &Trust{}
	for _, k := range keys {
		t.add(newKey(k))
	}
	return t
}

// LoadTrust reads the keys to trust: a trust file, a file of public keys in PEM, or the folder
// of a signer, with its own key and its trust file.
func LoadTrust(path string) (*Trust, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("trusted keys: %w", err)
	}
	if !info.IsDir() {
		return loadTrust(path)
	}
	t, err := loadOptional(filepath.Join(path, TrustFile))
	if err != nil {
		return nil, err
	}
	own, err := loadOptional(filepath.Join(path, publicFile))
	if err != nil {
		return nil, err
	}
	t.Merge(own)
	if len(t.keys) == 0 {
		return nil, fmt.Errorf("the folder %s has no key", path)
	}
	return t, nil
}

// loadOptional reads a file of keys; one that is not there has none.
func loadOptional(path string) (*Trust, error) {
	t, err := loadTrust(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Trust{}, nil
	}
	return t, err
}

func loadTrust(path string) (*Trust, error) {
	data, err := readKeyFile(path, false)
	if err != nil {
		return nil, err
	}
	t, err := parseTrust(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// trustFormat names the format of a trust file.
const trustFormat = "sotto-trust-v1"

type trustList struct {
	Format string `json:"format"`
	Keys   []Key  `json:"keys"`
}

// parseTrust reads a trust file, or public keys in PEM. It is strict: to misread a file is to
// trust a wrong key.
func parseTrust(data []byte) (*Trust, error) {
	if len(data) > maxKeyFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxKeyFile)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		keys, err := parsePublicKeys(data)
		return NewTrust(keys...), err
	}
	// People may indent a trust file, and nothing else.
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return nil, fmt.Errorf("the trust file cannot be read: %w", err)
	}
	var list trustList
	if err := decode(compact.Bytes(), &list); err != nil {
		return nil, fmt.Errorf("the trust file cannot be read: %w", err)
	}
	if list.Format != trustFormat {
		return nil, fmt.Errorf("the format of the trust file is %q, this program knows %q", list.Format, trustFormat)
	}
	t := &Trust{}
	for _, k := range list.Keys {
		if err := k.check(); err != nil {
			return nil, err
		}
		if _, twice := t.keys[k.ID]; twice {
			return nil, fmt.Errorf("key %s is listed twice", k.ID)
		}
		t.add(k)
	}
	return t, nil
}

// file returns the set as a trust file.
func (t *Trust) file() ([]byte, error) {
	line, err := encode(trustList{trustFormat, t.Keys()})
	if err != nil {
		return nil, err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, line, "", "  "); err != nil {
		return nil, err
	}
	return append(indented.Bytes(), '\n'), nil
}

// Keys lists the keys, in the order of their IDs.
func (t *Trust) Keys() []Key {
	list := make([]Key, 0, len(t.keys))
	for _, id := range slices.Sorted(maps.Keys(t.keys)) {
		list = append(list, t.keys[id])
	}
	return list
}

// Merge adds the keys of another set. Where both have a key, the stricter entry wins: a
// revocation, then the earlier end.
func (t *Trust) Merge(o *Trust) {
	for _, k := range o.keys {
		t.add(k)
	}
}

func (t *Trust) add(k Key) {
	if t.keys == nil {
		t.keys = map[string]Key{}
	}
	if old, ok := t.keys[k.ID]; !ok || k.worse(&old) {
		t.keys[k.ID] = k
	}
}

// verify checks that a trusted key made the signature of an envelope, and returns the key.
func (t *Trust) verify(env *envelope, payload []byte) (Key, error) {
	s := env.Signatures[0]
	k, ok := t.keys[s.KeyID]
	if !ok {
		return Key{}, fmt.Errorf("key %s is unknown: it is not among the %d trusted ones; get the signer's public key from the signer", s.KeyID, len(t.keys))
	}
	if !k.Revoked.IsZero() {
		return Key{}, k.admits(time.Time{})
	}
	sig, err := decodeBase64(s.Sig)
	if err != nil || !ed25519.Verify(k.public.key[:], preAuthentication(payload), sig) {
		return Key{}, errors.New("the signature does not fit the signed bytes and its key: one of them was changed")
	}
	return k, nil
}
