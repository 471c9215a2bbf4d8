package certificate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	intoto "github.com/in-toto/attestation/go/v1"
)

// rotationType identifies the predicate of a rotation statement.
const rotationType = "urn:sotto:key-rotation:v1"

// rotation is the predicate by which a key names its successor. The subject of
// the statement is the successor's public key file.
type rotation struct {
	From string `json:"from"`
	To   string `json:"to"`
	// PublicKey is the successor's, in PEM.
	PublicKey string `json:"publicKey"`
	// Rotated is when From retires and To takes over.
	Rotated time.Time `json:"rotated"`
}

func publicFileName(id string) string { return id + ".pub.pem" }

// endorse makes the statement in which one key names the next.
func endorse(from *Signer, to PublicKey, at time.Time) ([]byte, error) {
	text := to.PEM()
	sum := sha256.Sum256(text)
	payload, err := encode(body[rotation]{
		Type:          intoto.StatementTypeUri,
		Subject:       []Subject{{publicFileName(to.ID()), Digest{hex.EncodeToString(sum[:])}}},
		PredicateType: rotationType,
		Predicate:     rotation{from.public.ID(), to.ID(), string(text), at},
	})
	if err != nil {
		return nil, err
	}
	return seal(payload, from)
}

// Follow reads a rotation statement. If a trusted key made it, Follow trusts the key that
// it endorses and marks the old one as retired. A revoked key cannot endorse, a retired key
// cannot endorse after its retirement, and no key can endorse two successors: a thief of an
// old key must not be able to name an heir.
func (t *Trust) Follow(statement []byte) (KeyInfo, error) {
	info, err := t.follow(statement)
	if err != nil {
		return KeyInfo{}, fmt.Errorf("rotation statement: %w", err)
	}
	return info, nil
}

func (t *Trust) follow(statement []byte) (KeyInfo, error) {
	env, payload, err := openEnvelope(statement)
	if err != nil {
		return KeyInfo{}, err
	}
	if len(env.Signatures) != 1 {
		return KeyInfo{}, errors.New("it should have one signature, by the old key")
	}
	signers, err := t.verify(env)
	if err != nil {
		return KeyInfo{}, err
	}
	var b body[rotation]
	if err := decodeStatement(payload, &b, rotationType); err != nil {
		return KeyInfo{}, err
	}
	next, err := successor(&b, signers[0].ID)
	if err != nil {
		return KeyInfo{}, err
	}
	at := b.Predicate.Rotated
	var warning caution
	if err := checkPeriod(signers, at); err != nil && !errors.As(err, &warning) {
		return KeyInfo{}, err
	}
	old := t.keys[b.Predicate.From]
	if old.Successor != "" && old.Successor != next.ID() {
		return KeyInfo{}, fmt.Errorf("key %s already endorsed %s and cannot endorse %s too; ask the signer which is right", old.ID, old.Successor, next.ID())
	}
	old.Successor = next.ID()
	if old.Status == Active {
		old.Status, old.Retired = Retired, at
	}
	t.keys[old.ID] = old
	t.add(trustedKey{KeyInfo{ID: next.ID(), Status: Active, Created: at}, next})
	return t.keys[next.ID()].KeyInfo, nil
}

// successor checks a rotation statement by key from and returns the new key.
func successor(b *body[rotation], from string) (PublicKey, error) {
	r := b.Predicate
	keys, err := parsePublicKeys([]byte(r.PublicKey))
	if err != nil {
		return PublicKey{}, err
	}
	next := keys[0]
	sum := sha256.Sum256(next.PEM())
	want := Subject{publicFileName(next.ID()), Digest{hex.EncodeToString(sum[:])}}
	switch {
	case len(keys) != 1 || string(next.PEM()) != r.PublicKey || r.To != next.ID():
		return PublicKey{}, errors.New("the new key and its ID do not fit")
	case len(b.Subject) != 1 || b.Subject[0] != want:
		return PublicKey{}, errors.New("the subject is not the new key")
	case r.From != from:
		return PublicKey{}, fmt.Errorf("it is about key %s and signed by key %s", r.From, from)
	case r.From == r.To:
		return PublicKey{}, errors.New("a key endorses itself")
	}
	return next, checkTime("rotated", r.Rotated)
}
