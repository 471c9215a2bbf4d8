package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

const (
	sumsFile     = "SHA256SUMS"
	envelopeFile = "provenance.intoto.jsonl"
	inToto       = "application/vnd.in-toto+json"
)

// checksums is what sha256sum reads.
func checksums(files []file) []byte {
	var b bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	return b.Bytes()
}

// provenance is an in-toto statement with SLSA's predicate: which files were built, from which
// commit, with which Go and flags. It has no time of the build, so that it too can be made again.
func provenance(src *source, files []file) ([]byte, error) {
	type digest map[string]string
	type subject struct {
		Name   string `json:"name,omitempty"`
		URI    string `json:"uri,omitempty"`
		Digest digest `json:"digest,omitempty"`
	}
	var subjects []subject
	for _, f := range files {
		subjects = append(subjects, subject{Name: f.name, Digest: digest{"sha256": fmt.Sprintf("%x", sha256.Sum256(f.data))}})
	}
	version, err := command(src.root, "go", "env", "GOVERSION").Output()
	if err != nil {
		return nil, failed("go env", err)
	}
	out, err := json.MarshalIndent(map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType": "https://github.com/sotto-dp/sotto/blob/main/docs/release.md",
				"externalParameters": map[string]any{
					"version": src.version, "sourceDateEpoch": src.date.Unix(), "modified": src.modified,
				},
				"internalParameters":   map[string]any{"flags": src.flags, "environment": src.environ(platform{"*", "*"})},
				"resolvedDependencies": []subject{{URI: "git+https://github.com/sotto-dp/sotto", Digest: digest{"gitCommit": src.commit}}, {URI: "pkg:generic/go@" + strings.TrimPrefix(strings.TrimSpace(string(version)), "go")}},
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": "https://github.com/sotto-dp/sotto/tree/main/tools/release"}},
		},
	}, "", "  ")
	return append(out, '\n'), err
}

// readKey reads a private key in PEM form (PKCS #8). Errors never quote the file.
func readKey(path string) (ed25519.PrivateKey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the key: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("%s is no private key in PEM form: make one with sotto keys new, and name its signer.pem", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	ed, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s is no Ed25519 key", path)
	}
	return ed, nil
}

func readPublic(path string) (ed25519.PublicKey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the public key: %w", err)
	}
	if block, _ := pem.Decode(data); block != nil && block.Type == "PUBLIC KEY" {
		if key, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
			if ed, ok := key.(ed25519.PublicKey); ok {
				return ed, nil
			}
		}
	}
	return nil, fmt.Errorf("%s is no Ed25519 public key in PEM form: sotto keys new writes signer.pub.pem", path)
}

// signer signs and checks envelopes.
type signer struct {
	private ed25519.PrivateKey
	public  ed25519.PublicKey
}

func (s signer) Sign(_ context.Context, data []byte) ([]byte, error) {
	return ed25519.Sign(s.private, data), nil
}

func (s signer) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(s.public, data, sig) {
		return errors.New("the signature does not hold")
	}
	return nil
}

func (s signer) Public() crypto.PublicKey { return s.public }

// KeyID is what sotto keys calls the key: the SHA-256 of its PKIX encoding.
func (s signer) KeyID() (string, error) {
	der, err := x509.MarshalPKIXPublicKey(s.public)
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:]), err
}

// sign puts a statement into an envelope, on one line.
func sign(ctx context.Context, key ed25519.PrivateKey, statement []byte) ([]byte, error) {
	public, _ := key.Public().(ed25519.PublicKey)
	s, err := dsse.NewEnvelopeSigner(signer{key, public})
	if err != nil {
		return nil, err
	}
	e, err := s.SignPayload(ctx, inToto, statement)
	if err != nil {
		return nil, err
	}
	out, err := json.Marshal(e)
	return append(out, '\n'), err
}

// verify checks the files of a release against its checksums, and those against a public key.
func verify(dir, public string) error {
	sums, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return fmt.Errorf("%s is no release: %w", dir, err)
	}
	var named []string
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if name != filepath.Base(name) {
			return fmt.Errorf("%s names %q, which is no file beside it", sumsFile, name)
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if fmt.Sprintf("%x", sha256.Sum256(data)) != want {
			return fmt.Errorf("%s is not the file that %s names", name, sumsFile)
		}
		named = append(named, name)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.Contains(append(named, sumsFile, sumsFile+".sig", envelopeFile), e.Name()) {
			return fmt.Errorf("%s does not name %s: it is not of this release", sumsFile, e.Name())
		}
	}
	if public == "" {
		fmt.Printf("%d files are those of %s; whose they are was not checked: give -pub FILE\n", len(named), sumsFile)
		return nil
	}
	return verifySignatures(dir, public, sums)
}

func verifySignatures(dir, public string, sums []byte) error {
	key, err := readPublic(public)
	if err != nil {
		return err
	}
	sig, err := os.ReadFile(filepath.Join(dir, sumsFile+".sig"))
	if err != nil {
		return fmt.Errorf("the release is not signed: %w", err)
	}
	if !ed25519.Verify(key, sums, sig) {
		return fmt.Errorf("the signature of %s does not hold for %s", sumsFile, public)
	}
	line, err := os.ReadFile(filepath.Join(dir, envelopeFile))
	if err != nil {
		return err
	}
	var e dsse.Envelope
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("%s: %w", envelopeFile, err)
	}
	v, err := dsse.NewEnvelopeVerifier(signer{public: key})
	if err != nil {
		return err
	}
	if _, err := v.Verify(context.Background(), &e); err != nil {
		return fmt.Errorf("%s: %w", envelopeFile, err)
	}
	said, err := e.DecodeB64Payload()
	if err != nil {
		return err
	}
	// The checksums cover the plain statement; the signed one has to be the same.
	plain, err := os.ReadFile(filepath.Join(dir, "provenance.json"))
	if err != nil {
		return err
	}
	if !bytes.Equal(said, plain) {
		return fmt.Errorf("%s signs another statement than provenance.json", envelopeFile)
	}
	fmt.Printf("the signatures hold, and the files are those that were signed\n")
	return nil
}
