package certificate

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func openSigner(t *testing.T, dir string) *Signer {
	t.Helper()
	s, _, err := OpenSigner(dir)
	expect.NoError(t, err)
	return s
}

// certified verifies a certificate of a signer with the keys of a folder.
func certified(t *testing.T, s *Signer, at time.Time, dir string) string {
	t.Helper()
	c := testClaim(t)
	c.Created = at
	o := options(s)
	o.Trust = must[*Trust](t)(LoadTrust(dir))
	o.Now = at
	return failing(verifyFS(t, release(sealClaim(t, c, basic{}, s)), o))
}

// TestKeysLife: the first use makes a key, the next finds it; a replaced key verifies what is
// dated until its last day, and a revoked one nothing.
func TestKeysLife(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	first, made, err := OpenSigner(dir)
	expect.NoError(t, err)
	expect.True(t, "a key was made", made)
	again, made, err := OpenSigner(dir)
	expect.NoError(t, err)
	expect.Equal(t, "made", made, false)
	expect.Equal(t, "again", again.Public(), first.Public())
	today := Day(time.Now())
	expect.Equal(t, "the first key", certified(t, first, today, dir), "")

	next := must[PublicKey](t)(NewKey(dir))
	second := openSigner(t, dir)
	expect.Equal(t, "the key that signs", second.Public(), next)
	expect.Equal(t, "the second key", certified(t, second, today.AddDate(1, 0, 0), dir), "")
	expect.Equal(t, "the first key, until today", certified(t, first, today, dir), "")
	expect.Contains(t, "the first key, tomorrow", certified(t, first, today.AddDate(0, 0, 1), dir), "date: key "+first.Public().ID()+" has expired")

	revoked := must[Key](t)(Revoke(dir, second.Public().ID()[:8], "laptop stolen"))
	expect.Equal(t, "revoked", revoked.ID, second.Public().ID())
	expect.Contains(t, "the revoked key", certified(t, second, today, dir), "laptop stolen")
	if _, err := SignerKey(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a revoked key is published: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, privateFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the private half of a revoked key is still there: %v", err)
	}
	if _, err := Revoke(dir, second.Public().ID(), "again"); err == nil {
		t.Error("revoked twice")
	}
	if third := openSigner(t, dir); third.Public() == second.Public() {
		t.Error("a revoked key signs")
	}
}

// TestConcurrentFirstKey: programs that sign first at the same time have one key.
func TestConcurrentFirstKey(t *testing.T) {
	dir := t.TempDir()
	var wait sync.WaitGroup
	keys, makers := make([]PublicKey, 16), make([]bool, 16)
	for i := range keys {
		wait.Go(func() {
			s, made, err := OpenSigner(dir)
			expect.NoError(t, err)
			keys[i], makers[i] = s.Public(), made
		})
	}
	wait.Wait()
	n := 0
	for i, k := range keys {
		expect.Equal(t, "a key", k, keys[0])
		if makers[i] {
			n++
		}
	}
	expect.Equal(t, "keys made", n, 1)
}

// TestKeysAfterCrashes: a crash between the trust file and the private key leaves a key that is
// trusted for less, and the same command continues.
func TestKeysAfterCrashes(t *testing.T) {
	dir := t.TempDir()
	old := openSigner(t, dir)
	expect.NoError(t, AddTrust(dir, NewTrust(old.Public()), Day(time.Now()).AddDate(0, 0, -1)))
	if _, _, err := OpenSigner(dir); err == nil || !strings.Contains(err.Error(), "sotto keys new") {
		t.Errorf("an expired key signs: %v", err)
	}
	if next := must[PublicKey](t)(NewKey(dir)); next != openSigner(t, dir).Public() {
		t.Error("another key signs")
	}
	// The public half was not written.
	expect.NoError(t, os.Remove(filepath.Join(dir, publicFile)))
	expect.Equal(t, "the public half", signerKeyAfter(t, dir), openSigner(t, dir).Public())
	// Another program holds the lock.
	expect.NoError(t, os.WriteFile(filepath.Join(dir, lockFile), nil, 0o600))
	if _, err := NewKey(dir); err == nil || !strings.Contains(err.Error(), "remove") {
		t.Errorf("two programs change the keys: %v", err)
	}
	openSigner(t, dir) // signing waits for nobody
}

// signerKeyAfter returns the public half after the next use.
func signerKeyAfter(t *testing.T, dir string) PublicKey {
	t.Helper()
	openSigner(t, dir)
	return must[PublicKey](t)(SignerKey(dir))
}

// TestKeysOfOthersCannotReplace: folders and files that others may change are refused.
func TestKeysOfOthersCannotReplace(t *testing.T) {
	dir := t.TempDir()
	openSigner(t, dir)
	for _, mode := range []os.FileMode{0o720, 0o702, 0o777} {
		expect.NoError(t, os.Chmod(dir, mode))
		if _, _, err := OpenSigner(dir); err == nil || !strings.Contains(err.Error(), "run chmod 700 "+dir) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	expect.NoError(t, os.Chmod(dir, 0o700))
	info, err := os.Stat(filepath.Join(dir, privateFile))
	expect.NoError(t, err)
	expect.Equal(t, "mode", info.Mode().Perm(), 0o600)
}

// TestTrustFile: revocations and last days of others are taken over, and nothing extends the
// trust in a key.
func TestTrustFile(t *testing.T) {
	dir, theirs := t.TempDir(), t.TempDir()
	openSigner(t, dir)
	s := openSigner(t, theirs)
	public := filepath.Join(theirs, publicFile)
	expect.Contains(t, "before", certified(t, s, testTime, dir), "is unknown")
	expect.NoError(t, AddTrust(dir, must[*Trust](t)(LoadTrust(public)), testTime))
	expect.Equal(t, "until its last day", certified(t, s, testTime, dir), "")
	expect.NoError(t, AddTrust(dir, must[*Trust](t)(LoadTrust(public)), time.Time{}))
	expect.Contains(t, "after its last day", certified(t, s, testTime.AddDate(0, 0, 1), dir), "has expired")
	must[Key](t)(Revoke(theirs, s.Public().ID(), "sold"))
	expect.NoError(t, AddTrust(dir, must[*Trust](t)(LoadTrust(filepath.Join(theirs, TrustFile))), time.Time{}))
	expect.Contains(t, "revoked", certified(t, s, testTime, dir), "sold")
	expect.NoError(t, AddTrust(dir, must[*Trust](t)(LoadTrust(dir)), time.Time{}))
	expect.Contains(t, "still revoked", certified(t, s, testTime, dir), "sold")
}

// TestTrustFileDamage: a file that does not say what it seems to is refused.
func TestTrustFileDamage(t *testing.T) {
	a, b := newKey(testSigner(t).Public()), newKey(freshSigner(t).Public())
	trust := &Trust{}
	trust.add(a)
	good := string(must[[]byte](t)(trust.file()))
	if _, err := parseTrust([]byte(strings.ReplaceAll(good, "\n", "\r\n  "))); err != nil {
		t.Errorf("indented otherwise: %v", err)
	}
	replace := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in %s", old, good)
		}
		return strings.Replace(good, old, new, 1)
	}
	key := strings.TrimSuffix(string(must[[]byte](t)(json.Marshal(a))), "}")
	for name, text := range map[string]string{
		"another id":         replace(a.ID, b.ID),
		"another format":     replace("trust-v1", "trust-v9"),
		"an unknown field":   replace(`"id"`, `"valid": true, "id"`),
		"a field twice":      replace(`"id"`, `"id": "x", "id"`),
		"cut short":          good[:len(good)-4],
		"more behind":        good + "{}",
		"a key twice":        `{"format":"sotto-trust-v1","keys":[` + key + `},` + key + `}]}`,
		"a time for a day":   `{"format":"sotto-trust-v1","keys":[` + key + `,"validUntil":"2030-01-01T01:00:00Z"}]}`,
		"a reason alone":     `{"format":"sotto-trust-v1","keys":[` + key + `,"reason":"x"}]}`,
		"no reason":          `{"format":"sotto-trust-v1","keys":[` + key + `,"revoked":"2030-01-01T01:00:00Z"}]}`,
		"revoked to nothing": `{"format":"sotto-trust-v1","keys":[` + key + `,"revoked":null}]}`,
	} {
		if _, err := parseTrust([]byte(text)); err == nil {
			t.Errorf("%s was accepted: %s", name, text)
		}
	}
}

// FuzzTrust: a trust file that is accepted says the same when it is written again.
func FuzzTrust(f *testing.F) {
	k := newKey(testSigner(f).Public())
	for _, change := range []func(*Key){func(*Key) {}, func(k *Key) { k.ValidUntil = testTime }, func(k *Key) { k.Revoked, k.Reason = testTime, "x" }} {
		one := k
		change(&one)
		t := &Trust{}
		t.add(one)
		data, err := t.file()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		trust, err := parseTrust(data)
		if err != nil {
			return
		}
		again, err := trust.file()
		expect.NoError(t, err)
		back, err := parseTrust(again)
		expect.NoError(t, err)
		expect.Equal(t, "keys", len(back.keys), len(trust.keys))
		for id, k := range trust.keys {
			expect.Equal(t, "a key", back.keys[id], k)
		}
	})
}

// TestOtherLibrariesRead: the libraries of DSSE and in-toto read a certificate, check its
// signature and find a valid statement.
func TestOtherLibrariesRead(t *testing.T) {
	s := testSigner(t)
	var env dsse.Envelope
	expect.NoError(t, json.Unmarshal(sealClaim(t, testClaim(t), basic{}, s), &env))
	verifier, err := dsse.NewEnvelopeVerifier(libraryKey{s.Public()})
	expect.NoError(t, err)
	accepted, err := verifier.Verify(t.Context(), &env)
	expect.NoError(t, err)
	expect.Len(t, "accepted", accepted, 1)
	payload, err := env.DecodeB64Payload()
	expect.NoError(t, err)
	var statement intoto.Statement
	expect.NoError(t, protojson.Unmarshal(payload, &statement))
	expect.NoError(t, statement.Validate())
	expect.Equal(t, "type", statement.Type, intoto.StatementTypeUri)
	expect.Equal(t, "predicate type", statement.PredicateType, PredicateType)
}

// libraryKey adapts a key to the library of DSSE.
type libraryKey struct{ public PublicKey }

func (k libraryKey) Verify(_ context.Context, message, sig []byte) error {
	if !ed25519.Verify(k.public.key[:], message, sig) {
		return errors.New("it does not fit")
	}
	return nil
}

func (k libraryKey) KeyID() (string, error)   { return k.public.ID(), nil }
func (k libraryKey) Public() crypto.PublicKey { return ed25519.PublicKey(k.public.key[:]) }
