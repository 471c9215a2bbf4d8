package certificate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// Status is the state of a key.
type Status string

const (
	// Active keys sign and verify.
	Active Status = "active"
	// Retired keys verify what is dated before their retirement.
	Retired Status = "retired"
	// Revoked keys verify nothing.
	Revoked Status = "revoked"
)

// KeyInfo holds the public facts about a key. Times are zero when unknown.
type KeyInfo struct {
	ID      string    `json:"id"`
	Status  Status    `json:"status"`
	Created time.Time `json:"created,omitzero"`
	Retired time.Time `json:"retired,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`
	// Reason explains a revocation.
	Reason string `json:"reason,omitempty"`
	// Successor is the key that this one endorsed at its retirement.
	Successor string `json:"successor,omitempty"`
}

type trustedKey struct {
	KeyInfo
	key PublicKey
}

// Trust is a set of keys that a verifier trusts. The zero value has none.
type Trust struct{ keys map[string]trustedKey }

// NewTrust trusts public keys as active ones.
func NewTrust(keys ...PublicKey) *Trust {
	t := &Trust{}
	for _, k := range keys {
		t.add(trustedKey{KeyInfo{ID: k.ID(), Status: Active}, k})
	}
	return t
}

// LoadTrust reads the keys to trust: a file of public keys in PEM, taken as active, or the
// directory of a [Ring], whole or exported, which also lists retired and revoked keys.
func LoadTrust(path string) (*Trust, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("trusted keys: %w", err)
	}
	if info.IsDir() {
		r, err := OpenRing(path)
		if err != nil {
			return nil, err
		}
		return r.Trust(), nil
	}
	data, err := readKeyFile(path, false)
	if err != nil {
		return nil, err
	}
	keys, err := parsePublicKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return NewTrust(keys...), nil
}

// Merge adds the keys of another set. Where both have a key, the stricter status wins: a
// revocation, then the earlier retirement.
func (t *Trust) Merge(o *Trust) {
	for _, k := range o.keys {
		t.add(k)
	}
}

func (t *Trust) add(k trustedKey) {
	if t.keys == nil {
		t.keys = map[string]trustedKey{}
	}
	if old, ok := t.keys[k.ID]; ok && !worse(k.KeyInfo, old.KeyInfo) {
		return
	}
	t.keys[k.ID] = k
}

// worse reports whether a restricts a key more than b does.
func worse(a, b KeyInfo) bool {
	rank := map[Status]int{Active: 0, Retired: 1, Revoked: 2}
	if rank[a.Status] != rank[b.Status] {
		return rank[a.Status] > rank[b.Status]
	}
	return a.Status == Retired && a.Retired.Before(b.Retired)
}

// verify checks that every signature is by a trusted key that is not revoked,
// and returns the keys.
func (t *Trust) verify(env *dsse.Envelope) ([]KeyInfo, error) {
	var infos []KeyInfo
	var verifiers []dsse.Verifier
	for _, s := range env.Signatures {
		k, ok := t.keys[s.KeyID]
		if !ok {
			return nil, fmt.Errorf("key %s is not among the %d trusted ones; get the signer's public key from the signer, or the rotation statement that leads to it", s.KeyID, len(t.keys))
		}
		if k.Status == Revoked {
			return nil, fmt.Errorf("key %s was revoked on %s: %s", s.KeyID, k.Revoked.Format(time.DateOnly), k.Reason)
		}
		infos = append(infos, k.KeyInfo)
		verifiers = append(verifiers, dsseKey{public: k.key})
	}
	ev, err := dsse.NewMultiEnvelopeVerifier(len(verifiers), verifiers...)
	if err != nil {
		return nil, err
	}
	accepted, err := ev.Verify(context.Background(), env)
	if err != nil || len(accepted) != len(env.Signatures) {
		return nil, errors.New("a signature does not fit the signed bytes and its key: one of them was changed")
	}
	return infos, nil
}

// checkPeriod checks that keys were in use at a time. What is dated by the day, with midnight, may
// have been signed at any time of it: on the day of its retirement a key counts as in use, and so
// it does on the day that it was made.
func checkPeriod(keys []KeyInfo, at time.Time) error {
	for _, k := range keys {
		if k.Status == Retired && at.After(k.Retired) {
			return fmt.Errorf("key %s was retired on %s, and this is dated %s", k.ID, k.Retired.Format(time.RFC3339), at.Format(time.RFC3339))
		}
	}
	for _, k := range keys {
		if at.Before(Day(k.Created)) {
			return caution{fmt.Sprintf("this is dated %s, before key %s was made on %s: a clock was wrong, or the date is", at.Format(time.RFC3339), k.ID, k.Created.Format(time.RFC3339))}
		}
	}
	return nil
}
