package certificate

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
)

// maxKeyFile bounds what is read as a key, or as a list of public ones.
const maxKeyFile = 64 << 10

const (
	pemPrivate = "PRIVATE KEY"
	pemPublic  = "PUBLIC KEY"
)

var pemBegin = []byte("-----BEGIN ")

// PublicKey is an Ed25519 public key.
type PublicKey struct{ key [ed25519.PublicKeySize]byte }

func newPublicKey(k ed25519.PublicKey) (p PublicKey) {
	copy(p.key[:], k)
	return p
}

func (p PublicKey) der() []byte {
	// The error is for unknown key types only.
	der, _ := x509.MarshalPKIXPublicKey(ed25519.PublicKey(p.key[:]))
	return der
}

// ID returns the SHA-256 of the key's PKIX encoding, in hex.
func (p PublicKey) ID() string {
	sum := sha256.Sum256(p.der())
	return hex.EncodeToString(sum[:])
}

// PEM returns the key as a PKIX block, in openssl's format.
func (p PublicKey) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemPublic, Bytes: p.der()})
}

// String returns the ID.
func (p PublicKey) String() string { return p.ID() }

// parsePublicKeys reads one or more Ed25519 public keys, each a PKIX PEM block.
func parsePublicKeys(data []byte) ([]PublicKey, error) {
	blocks, err := pemBlocks(data)
	if err != nil {
		return nil, err
	}
	var keys []PublicKey
	for _, b := range blocks {
		if b.Type != pemPublic {
			return nil, fmt.Errorf("a PEM block is %q, it should be %q: give the public key, never the private one", b.Type, pemPublic)
		}
		k, err := x509.ParsePKIXPublicKey(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("public key: %w", err)
		}
		ed, ok := k.(ed25519.PublicKey)
		if !ok {
			return nil, fmt.Errorf("the public key is a %T, it should be Ed25519", k)
		}
		keys = append(keys, newPublicKey(ed))
	}
	return keys, nil
}

// pemBlocks reads blocks with nothing between or around them.
func pemBlocks(data []byte) ([]*pem.Block, error) {
	if len(data) > maxKeyFile {
		return nil, fmt.Errorf("the key file has more than %d bytes", maxKeyFile)
	}
	var blocks []*pem.Block
	for rest := bytes.TrimSpace(data); len(rest) > 0; rest = bytes.TrimSpace(rest) {
		b, after := pem.Decode(rest)
		// pem.Decode passes over what it cannot read, up to a later block.
		used := rest[:len(rest)-len(after)]
		if b == nil || !bytes.HasPrefix(rest, pemBegin) || bytes.Count(used, pemBegin) != 1 {
			return nil, errors.New("the key file holds something other than whole PEM blocks")
		}
		if len(b.Headers) > 0 {
			return nil, errors.New("the key file holds a PEM block with headers; remove them")
		}
		blocks = append(blocks, b)
		rest = after
	}
	if len(blocks) == 0 {
		return nil, errors.New("the key file is empty")
	}
	return blocks, nil
}

// Signer holds a private key. It prints, formats and marshals as its key ID.
type Signer struct {
	public PublicKey
	// sign closes over the private key: reflection meets a function, so no printer reaches
	// the bytes.
	sign func(message []byte) []byte
}

func newSigner(k ed25519.PrivateKey) *Signer {
	return &Signer{
		public: newPublicKey(k.Public().(ed25519.PublicKey)),
		sign:   func(message []byte) []byte { return ed25519.Sign(k, message) },
	}
}

// Public returns the public half.
func (s *Signer) Public() PublicKey { return s.public }

// String names the key, never its bytes.
func (s *Signer) String() string { return "private key " + s.public.ID() + " (redacted)" }

// Format prints [Signer.String] for every verb.
func (s *Signer) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalJSON writes [Signer.String].
func (s *Signer) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText writes [Signer.String].
func (s *Signer) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// generate draws a key from the operating system.
func generate() (*Signer, []byte, error) {
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return nil, nil, fmt.Errorf("generate a key: %w", err)
	}
	return newSigner(k), pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: der}), nil
}

// parseSigner reads an Ed25519 private key from one PKCS#8 PEM block. Its errors contain
// nothing of the key.
func parseSigner(data []byte) (*Signer, error) {
	blocks, err := pemBlocks(data)
	if err != nil {
		return nil, err
	}
	if len(blocks) != 1 {
		return nil, fmt.Errorf("the private key file holds %d PEM blocks, it should hold one", len(blocks))
	}
	switch blocks[0].Type {
	case pemPrivate:
	case "ENCRYPTED PRIVATE KEY":
		return nil, errors.New("the private key is encrypted, which is not supported: decrypt it with openssl pkey, into a file of mode 0600")
	default:
		return nil, fmt.Errorf("the private key file holds a block %q, it should be %q", blocks[0].Type, pemPrivate)
	}
	k, err := x509.ParsePKCS8PrivateKey(blocks[0].Bytes)
	if err != nil {
		return nil, errors.New("the private key is not in PKCS#8 form")
	}
	ed, ok := k.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the private key is a %T, it should be Ed25519", k)
	}
	return newSigner(ed), nil
}

// loadSigner reads a private key from a file that nobody else can read.
func loadSigner(path string) (*Signer, error) {
	data, err := readKeyFile(path, true)
	if err != nil {
		return nil, err
	}
	s, err := parseSigner(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// readKeyFile reads a small regular file; a secret one must be closed to others.
func readKeyFile(path string, secret bool) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("key file %s is not a regular file", path)
	}
	if perm := info.Mode().Perm(); secret && runtime.GOOS != "windows" && perm&0o077 != 0 {
		return nil, fmt.Errorf("private key %s is open to other users (mode %04o): run chmod 600 %s, and revoke the key if someone may have read it", path, perm, path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return data, nil
}
