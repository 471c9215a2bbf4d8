package certificate

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// payloadType is the DSSE payload type of in-toto statements.
const payloadType = "application/vnd.in-toto+json"

// Sign puts a statement in a DSSE envelope and signs it. The result is the
// content of a certificate file. Nearly always there is one signer; with more,
// verification requires trust in all of them.
func Sign(s *Statement, signers ...*Signer) ([]byte, error) {
	if s == nil || len(s.payload) == 0 {
		return nil, errors.New("there is no statement to sign; make one with NewStatement")
	}
	return seal(s.payload, signers...)
}

// seal signs any payload. It is not exported, so that a key of this package
// only ever signs the statements that this package makes.
func seal(payload []byte, signers ...*Signer) ([]byte, error) {
	adapters := make([]dsse.Signer, len(signers))
	for i, s := range signers {
		if s == nil || s.sign == nil {
			return nil, errors.New("a signer holds no key; generate one first")
		}
		adapters[i] = dsseKey{s.public, s.sign}
	}
	es, err := dsse.NewEnvelopeSigner(adapters...)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	env, err := es.SignPayload(context.Background(), payloadType, payload)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	data, err := encode(env)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	data = append(data, '\n')
	// Never write what cannot be read back.
	if _, _, err := openEnvelope(data); err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return data, nil
}

// openEnvelope reads an envelope in its one form. It checks no signature.
func openEnvelope(data []byte) (*dsse.Envelope, []byte, error) {
	if len(data) > maxEnvelope {
		return nil, nil, fmt.Errorf("the envelope has more than %d bytes", maxEnvelope)
	}
	line, ok := bytes.CutSuffix(data, []byte("\n"))
	if !ok {
		return nil, nil, errors.New("the envelope does not end in a new line; it may be cut short")
	}
	var env dsse.Envelope
	if err := decode(line, &env); err != nil {
		return nil, nil, fmt.Errorf("the envelope cannot be read: %w", err)
	}
	if env.PayloadType != payloadType {
		return nil, nil, fmt.Errorf("the payload type is %q, it should be %q", env.PayloadType, payloadType)
	}
	payload, err := decodeBase64(env.Payload)
	if err != nil {
		return nil, nil, fmt.Errorf("the payload %w", err)
	}
	if n := len(env.Signatures); n < 1 || n > maxSignatures {
		return nil, nil, fmt.Errorf("the envelope has %d signatures, it should have between 1 and %d", n, maxSignatures)
	}
	seen := map[string]bool{}
	for i, s := range env.Signatures {
		if err := checkKeyID(s.KeyID); err != nil {
			return nil, nil, fmt.Errorf("signature %d: %w", i+1, err)
		}
		if seen[s.KeyID] {
			return nil, nil, fmt.Errorf("signature %d: key %s signs twice", i+1, s.KeyID)
		}
		seen[s.KeyID] = true
		sig, err := decodeBase64(s.Sig)
		if err != nil {
			return nil, nil, fmt.Errorf("signature %d %w", i+1, err)
		}
		if len(sig) != ed25519.SignatureSize {
			return nil, nil, fmt.Errorf("signature %d has %d bytes, Ed25519 has %d", i+1, len(sig), ed25519.SignatureSize)
		}
	}
	return &env, payload, nil
}

// decodeBase64 accepts the one standard encoding of some bytes: the dsse library
// also takes line breaks, the URL alphabet and stray padding bits.
func decodeBase64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || base64.StdEncoding.EncodeToString(b) != s {
		return nil, errors.New("is not canonical base64")
	}
	return b, nil
}

func checkKeyID(id string) error {
	sum, err := hex.DecodeString(id)
	if err != nil || len(sum) != 32 || hex.EncodeToString(sum) != id {
		return fmt.Errorf("%q is not a key ID: that is 64 lower-case hex digits", id)
	}
	return nil
}

// dsseKey adapts a key to the dsse library.
type dsseKey struct {
	public PublicKey
	sign   func([]byte) []byte
}

func (k dsseKey) Sign(_ context.Context, message []byte) ([]byte, error) {
	return k.sign(message), nil
}

func (k dsseKey) Verify(_ context.Context, message, sig []byte) error {
	if !ed25519.Verify(k.public.key[:], message, sig) {
		return errors.New("the signature does not fit")
	}
	return nil
}

func (k dsseKey) KeyID() (string, error)   { return k.public.ID(), nil }
func (k dsseKey) Public() crypto.PublicKey { return ed25519.PublicKey(k.public.key[:]) }
