package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/durable"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func TestKeyRoundTrip(t *testing.T) {
	s, private, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	back, err := parseSigner(private)
	if err != nil || back.Public() != s.Public() {
		t.Fatalf("private key: %v", err)
	}
	keys, err := parsePublicKeys(s.Public().PEM())
	expect.NoError(t, err)
	expect.Len(t, "keys", keys, 1)
	expect.Equal(t, "keys[0]", keys[0], s.Public())
	other := freshSigner(t).Public()
	keys, err = parsePublicKeys(append(s.Public().PEM(), other.PEM()...))
	expect.NoError(t, err)
	expect.Len(t, "keys", keys, 2)
	expect.Equal(t, "keys[1]", keys[1], other)
	if other.ID() == s.Public().ID() {
		t.Errorf("IDs are %s and %s", other, s.Public())
	}
}

// TestKeyID pins the ID to what openssl pkey -pubin -outform DER | sha256sum
// prints for the test key.
func TestKeyID(t *testing.T) {
	const want = "e127e567c8c1a547956b158e248a0a9f84db80a215e3608fbc3684e7a22f8d9c"
	if got := testSigner(t).Public().ID(); got != want {
		t.Errorf("got %s", got)
	}
}

// TestPrivateBytesAreNeverPrinted looks for the seed in every spelling that
// printers, encoders and loggers produce.
func TestPrivateBytesAreNeverPrinted(t *testing.T) {
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := newSigner(k)
	nested := struct {
		Exported *Signer
		hidden   *Signer
		value    Signer
	}{s, s, *s}
	var out bytes.Buffer
	for _, v := range []any{s, *s, nested, &nested, []*Signer{s}, map[string]any{"k": s, "v": *s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(data)
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "v", v)
	}
	fmt.Fprintln(&out, fmt.Errorf("wrapped: %v", s))
	seed := k.Seed()
	list := strings.Trim(fmt.Sprint(seed), "[]")
	var goSyntax []string
	for _, b := range seed {
		goSyntax = append(goSyntax, fmt.Sprintf("0x%x", b))
	}
	for _, spelling := range []string{
		string(seed), hex.EncodeToString(seed), strings.ToUpper(hex.EncodeToString(seed)),
		base64.StdEncoding.EncodeToString(seed)[:40], list, strings.Join(goSyntax, ", "), strings.ReplaceAll(list, " ", ","),
	} {
		if strings.Contains(out.String(), spelling) {
			t.Errorf("private bytes are printed as %q", spelling)
		}
	}
	if !strings.Contains(out.String(), s.Public().ID()) || !strings.Contains(out.String(), "redacted") {
		t.Error("nothing was printed")
	}
}

func TestBadKeys(t *testing.T) {
	_, private, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecPrivate, err := x509.MarshalPKCS8PrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	ecPublic, err := x509.MarshalPKIXPublicKey(ec.Public())
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	public := testSigner(t).Public().PEM()
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "empty"},
		{"text", []byte("ssh-ed25519 AAAA"), "PEM"},
		{"text before", append([]byte("key:\n"), private...), "PEM"},
		{"text after", append(bytes.Clone(private), "x"...), "PEM"},
		{"two", append(bytes.Clone(private), private...), "2 PEM blocks"},
		{"damaged block before", append([]byte("-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----\n"), private...), "PEM"},
		{"public", public, `"PUBLIC KEY"`},
		{"headers", pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Headers: map[string]string{"a": "b"}, Bytes: []byte{1}}), "headers"},
		{"encrypted", block("ENCRYPTED PRIVATE KEY", []byte{1}), "decrypt"},
		{"not PKCS#8", block(pemPrivate, []byte{1, 2, 3}), "PKCS#8"},
		{"other algorithm", block(pemPrivate, ecPrivate), "Ed25519"},
		{"huge", bytes.Repeat([]byte("A"), maxKeyFile+1), "more than"},
	} {
		if _, err := parseSigner(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("private, %s: %v, want %q", c.name, err, c.want)
		}
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "empty"},
		{"private", private, "never the private one"},
		{"not PKIX", block(pemPublic, []byte{1, 2, 3}), "public key: "},
		{"trailing bytes", block(pemPublic, append(testSigner(t).Public().der(), 0)), "public key: "},
		{"other algorithm", block(pemPublic, ecPublic), "Ed25519"},
	} {
		if _, err := parsePublicKeys(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("public, %s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestLoadSignerChecksTheFile(t *testing.T) {
	_, private, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := durable.LinkNew(path, private); err != nil {
		t.Fatal(err)
	}
	if _, err := loadSigner(path); err != nil {
		t.Error(err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o601, 0o644, 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := loadSigner(path); err == nil || !strings.Contains(err.Error(), "run chmod 600 "+path) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if _, err := loadSigner(filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := loadSigner(path + "x"); err == nil {
		t.Error("a file that does not exist was loaded")
	}
	if err := durable.LinkNew(path, private); err == nil {
		t.Error("a key was overwritten")
	}
}

func TestLoadTrust(t *testing.T) {
	s := testSigner(t)
	path := filepath.Join(t.TempDir(), "pub.pem")
	if err := os.WriteFile(path, s.Public().PEM(), 0o644); err != nil {
		t.Fatal(err)
	}
	trust, err := LoadTrust(path)
	if err != nil {
		t.Fatal(err)
	}
	keys := trust.Keys()
	expect.Len(t, "keys", keys, 1)
	expect.Equal(t, "keys[0].ID", keys[0].ID, s.Public().ID())
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{path, path + "x", filepath.Dir(path)} {
		if _, err := LoadTrust(bad); err == nil {
			t.Errorf("%s was trusted", bad)
		}
	}
}
