package certificate

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
)

// payloadType is the DSSE payload type of in-toto statements.
const payloadType = "application/vnd.in-toto+json"

// envelope is a DSSE envelope with one signature.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"`
}

// preAuthentication is what DSSE signs (PAE of its specification, version 1).
func preAuthentication(payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// Sign puts a statement in a DSSE envelope and signs it. The result is the content of a
// certificate file.
func Sign(s *Statement, signer *Signer) ([]byte, error) {
	if s == nil || len(s.payload) == 0 {
		return nil, errors.New("there is no statement to sign; make one with NewStatement")
	}
	return seal(s.payload, signer)
}

// seal signs any payload. It is not exported, so that a key of this package
// only ever signs the statements that this package makes.
func seal(payload []byte, signer *Signer) ([]byte, error) {
	if signer == nil || signer.sign == nil {
		return nil, errors.New("the signer holds no key; generate one first")
	}
	data, err := encode(envelope{
		payloadType, base64.StdEncoding.EncodeToString(payload),
		[]signature{{signer.public.ID(), base64.StdEncoding.EncodeToString(signer.sign(preAuthentication(payload)))}},
	})
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
func openEnvelope(data []byte) (*envelope, []byte, error) {
	if len(data) > maxEnvelope {
		return nil, nil, fmt.Errorf("the envelope has more than %d bytes", maxEnvelope)
	}
	line, ok := bytes.CutSuffix(data, []byte("\n"))
	if !ok {
		return nil, nil, errors.New("the envelope does not end in a new line; it may be cut short")
	}
	var env envelope
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
	if n := len(env.Signatures); n != 1 {
		return nil, nil, fmt.Errorf("the envelope has %d signatures, it should have one", n)
	}
	s := env.Signatures[0]
	if id, err := hex.DecodeString(s.KeyID); err != nil || len(id) != 32 || hex.EncodeToString(id) != s.KeyID {
		return nil, nil, fmt.Errorf("%q is not a key ID: that is 64 lower-case hex digits", s.KeyID)
	}
	sig, err := decodeBase64(s.Sig)
	if err != nil {
		return nil, nil, fmt.Errorf("the signature %w", err)
	}
	if len(sig) != ed25519.SignatureSize {
		return nil, nil, fmt.Errorf("the signature has %d bytes, Ed25519 has %d", len(sig), ed25519.SignatureSize)
	}
	return &env, payload, nil
}

// decodeBase64 accepts the one standard encoding of some bytes.
func decodeBase64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || base64.StdEncoding.EncodeToString(b) != s {
		return nil, errors.New("is not canonical base64")
	}
	return b, nil
}
