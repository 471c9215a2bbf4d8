package certificate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// FuzzEnvelope: of all byte strings, the test key's trust accepts the one that
// it signed.
func FuzzEnvelope(f *testing.F) {
	signer := testSigner(f)
	good, err := os.ReadFile(filepath.Join(goldenDir(), FileName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	o := options(signer)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := verifyFS(t, release(data), o)
		if r.OK != bytes.Equal(data, good) {
			t.Fatalf("ok is %v: %q", r.OK, failing(r))
		}
		if len(r.Checks) != len(checkNames) {
			t.Fatalf("%d checks are listed", len(r.Checks))
		}
	})
}

// FuzzStatement signs whatever comes: a trusted key makes no unsound claim pass.
func FuzzStatement(f *testing.F) {
	signer := testSigner(f)
	good, err := os.ReadFile(filepath.Join("testdata", "golden-statement.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.TrimSuffix(good, []byte("\n")))
	o := options(signer)
	f.Fuzz(func(t *testing.T, payload []byte) {
		if len(payload) > maxEnvelope/2 {
			return
		}
		r := verifyFS(t, release(forgeBytes(t, signer, payload)), o)
		if r.Predicate != nil {
			again, err := encode(body{statementType, r.Subjects, PredicateType, *r.Predicate})
			if err != nil || !bytes.Equal(again, payload) {
				t.Fatalf("read as %s, %v", again, err)
			}
		}
		if !r.OK {
			return
		}
		p := r.Predicate
		expect.Min(t, "p.Epsilon.Upper", p.Epsilon.Upper, r.Recomputed.Upper*(1-2*Tolerance))
		expect.True(t, "p.Delta >= 0 && p.Delta < 1", p.Delta >= 0 && p.Delta < 1)
		expect.Equal(t, "p.Randomness", p.Randomness, OSRandom)
		expect.Min(t, "len(p.Assumptions)", len(p.Assumptions), 4)
	})
}

// FuzzKeyFile: what is read as a key is written back as the same key.
func FuzzKeyFile(f *testing.F) {
	signer := testSigner(f)
	private, err := os.ReadFile(filepath.Join("testdata", "TEST-ONLY-not-a-secret.key.pem"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(private)
	f.Add(signer.Public().PEM())
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseSigner(data); err == nil {
			sealed, err := seal([]byte("{}"), s)
			if err != nil {
				t.Fatal(err)
			}
			env, payload, err := openEnvelope(sealed)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := NewTrust(s.Public()).verify(env, payload); err != nil {
				t.Fatal(err)
			}
		}
		keys, err := parsePublicKeys(data)
		if err != nil {
			return
		}
		for _, k := range keys {
			back, err := parsePublicKeys(k.PEM())
			at := expect.At(t, "key %s", k)
			expect.NoError(at, err)
			expect.Len(at, "back", back, 1)
			expect.Equal(at, "back[0]", back[0], k)
		}
	})
}
