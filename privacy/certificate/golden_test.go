package certificate

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

func goldenDir() string { return filepath.Join("testdata", "golden") }

// TestGolden pins the format: today's bytes for a fixed claim and key, and the
// conclusion on yesterday's file.
func TestGolden(t *testing.T) {
	signer := testSigner(t)
	got := sealClaim(t, testClaim(t), basic{}, signer)
	path := filepath.Join(goldenDir(), FileName)
	if *update {
		for name, content := range testFiles {
			p := filepath.Join(goldenDir(), filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the bytes of a certificate changed; that takes a new predicate type\n got %s\nwant %s", got, want)
	}
	r, err := VerifyDir(goldenDir(), options(signer))
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK {
		t.Error(failing(r))
	}
	for _, c := range r.Checks {
		if c.Warning {
			t.Errorf("unexpected warning: %+v", c)
		}
	}
	if r.Recomputed == nil {
		t.Fatal("no r.Recomputed")
	}
	expect.Equal(t, "r.Recomputed.Upper", r.Recomputed.Upper, 2)
	expect.Equal(t, "r.Predicate.Drawn.Epsilon.Upper", r.Predicate.Drawn.Epsilon.Upper, 2)
	expect.Equal(t, "r.Predicate.Drawn.Event", r.Predicate.Drawn.Event, testDrawn)
}

// TestGoldenPayload shows the statement in clear, so that a change of its
// meaning is seen in review.
func TestGoldenPayload(t *testing.T) {
	signer := testSigner(t)
	_, payload, err := openEnvelope(sealClaim(t, testClaim(t), basic{}, signer))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "golden-statement.json")
	if *update {
		if err := os.WriteFile(path, append(payload, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(payload)+"\n" != string(want) {
		t.Errorf("got %s\nwant %s", payload, want)
	}
}

// TestDSSEIsPlain verifies a certificate with nothing but the standard library and
// the two lines of the DSSE specification.
func TestDSSEIsPlain(t *testing.T) {
	signer := testSigner(t)
	var env struct {
		PayloadType, Payload string
		Signatures           []struct{ KeyID, Sig string }
	}
	if err := json.Unmarshal(sealClaim(t, testClaim(t), basic{}, signer), &env); err != nil {
		t.Fatal(err)
	}
	payload, err := base64.StdEncoding.DecodeString(env.Payload)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := base64.StdEncoding.DecodeString(env.Signatures[0].Sig)
	if err != nil {
		t.Fatal(err)
	}
	pae := fmt.Sprintf("DSSEv1 %d %s %d %s", len(env.PayloadType), env.PayloadType, len(payload), payload)
	public := ed25519.PublicKey(signer.public.key[:])
	if !ed25519.Verify(public, []byte(pae), sig) {
		t.Error("the signature is not over the pre-authentication encoding")
	}
	if ed25519.Verify(public, payload, sig) {
		t.Error("the signature is over the bare payload")
	}
	var statement struct {
		Type          string `json:"_type"`
		PredicateType string
	}
	if err := json.Unmarshal(payload, &statement); err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "env.PayloadType", env.PayloadType, "application/vnd.in-toto+json")
	expect.Equal(t, "statement.Type", statement.Type, "https://in-toto.io/Statement/v1")
	expect.Equal(t, "statement.PredicateType", statement.PredicateType, PredicateType)
}

// TestPlainEveryBitOfTheEnvelopeMatters flips every bit and drops and doubles every
// byte, of a short certificate so that it stays quick; of the full one it flips
// one bit a byte.
func TestPlainEveryBitOfTheEnvelopeMatters(t *testing.T) {
	signer := testSigner(t)
	short := sealClaim(t, Claim{
		Subjects: testClaim(t).Subjects[:1], Events: []privacy.Event{privacy.Pure{Epsilon: 1}},
		Method: "m", Proof: "p", Standing: Proven, Randomness: OSRandom, Samplers: []Sampler{SampleAll}, Version: "1",
	}, basic{}, signer)
	full := sealClaim(t, testClaim(t), basic{}, signer)
	o := options(signer)
	for _, data := range [][]byte{short, full} {
		if r := verifyFS(t, release(data), o); !r.OK {
			t.Fatal(failing(r))
		}
	}
	caught := map[string]int{}
	try := func(what string, data []byte) {
		t.Helper()
		r := verifyFS(t, release(data), o)
		if r.OK {
			t.Errorf("%s is not caught", what)
			return
		}
		caught[r.Failures()[0].Name]++
		if r.Predicate != nil {
			t.Errorf("%s: a statement that nobody signed is reported", what)
		}
	}
	for i := range short {
		for bit := range 8 {
			try(fmt.Sprintf("bit %d of byte %d", bit, i), flip(short, i, bit))
		}
		try(fmt.Sprintf("dropping byte %d", i), slices.Delete(bytes.Clone(short), i, i+1))
		try(fmt.Sprintf("doubling byte %d", i), slices.Insert(bytes.Clone(short), i, short[i]))
	}
	for i := range full {
		try(fmt.Sprintf("bit %d of byte %d, full", i%8, i), flip(full, i, i%8))
	}
	// Both lines of defence are met, or the test would not test what it says.
	if caught["envelope"] < 1000 || caught["signature"] < 1000 {
		t.Errorf("caught by %v", caught)
	}
}

func flip(data []byte, i, bit int) []byte {
	data = bytes.Clone(data)
	data[i] ^= 1 << bit
	return data
}

func TestEveryBitOfTheFilesMatters(t *testing.T) {
	signer := testSigner(t)
	good := release(sealClaim(t, testClaim(t), basic{}, signer))
	o := options(signer)
	for name, content := range testFiles {
		try := func(what string, data []byte) {
			m := cloneFS(good)
			f := *m[name]
			f.Data = data
			m[name] = &f
			if got := failing(verifyFS(t, m, o)); !strings.HasPrefix(got, "files: "+name+" was changed") {
				t.Errorf("%s of %s: %q", what, name, got)
			}
		}
		for i := range content {
			for bit := range 8 {
				try(fmt.Sprintf("bit %d of byte %d", bit, i), flip([]byte(content), i, bit))
			}
			try("a prefix", []byte(content[:i]))
		}
		try("an appended byte", []byte(content+"\n"))
	}
}

func TestEveryByteOfTheSignatureMatters(t *testing.T) {
	signer := testSigner(t)
	data := sealClaim(t, testClaim(t), basic{}, signer)
	env, _, err := openEnvelope(data)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := decodeBase64(env.Signatures[0].Sig)
	if err != nil {
		t.Fatal(err)
	}
	for i := range sig {
		for bit := range 8 {
			env.Signatures[0].Sig = base64.StdEncoding.EncodeToString(flip(sig, i, bit))
			line, err := encode(env)
			if err != nil {
				t.Fatal(err)
			}
			if got := failing(verifyFS(t, release(append(line, '\n')), options(signer))); !strings.HasPrefix(got, "signature: ") {
				t.Fatalf("bit %d of signature byte %d: %q", bit, i, got)
			}
		}
	}
}

func TestReportIsJSON(t *testing.T) {
	signer := testSigner(t)
	r := verifyFS(t, release(sealClaim(t, testClaim(t), basic{}, signer)), options(signer))
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		OK     bool
		Checks []struct {
			Name   string
			OK     bool
			Detail string
		}
	}
	expect.NoError(t, json.Unmarshal(data, &back))
	expect.Equal(t, "back.OK", back.OK, true)
	expect.Len(t, "back.Checks", back.Checks, len(checkNames))
	for i, c := range back.Checks {
		at := expect.At(t, "check %d", i)
		expect.Equal(at, "c.Name", c.Name, checkNames[i])
		expect.Equal(at, "c.OK", c.OK, true)
		expect.True(at, "c.Detail != \"\"", c.Detail != "")
	}
	if !strings.Contains(string(data), testTime.Format(time.RFC3339)) {
		t.Error("the date is missing")
	}
}
