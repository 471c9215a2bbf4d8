package certificate

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sotto-dp/sotto/privacy"
)

var update = flag.Bool("update", false, "write the golden certificate anew")

// basic is an accountant by basic composition of pure leaves, without credit for
// sampling or partitions: an upper bound by the simplest theorem, and exact in
// binary for the numbers used here, so that golden bytes hold on every machine.
type basic struct{}

func (basic) Name() string { return "basic" }

func (basic) Epsilon(e privacy.Event, adj privacy.Adjacency, _ float64) (privacy.Interval, error) {
	sum, err := basicSum(e)
	if adj == privacy.ReplaceOne {
		sum *= 2 // one record out, one in
	}
	return privacy.Interval{Lower: 0, Upper: sum}, err
}

func basicSum(e privacy.Event) (float64, error) {
	switch v := e.(type) {
	case privacy.Pure:
		return v.Epsilon, nil
	case privacy.Repeat:
		s, err := basicSum(v.Event)
		return float64(v.N) * s, err
	case privacy.Compose, privacy.Parallel, privacy.Poisson, privacy.FixedSize:
		sum := 0.0
		for _, c := range privacy.Children(v) {
			s, err := basicSum(c)
			if err != nil {
				return 0, err
			}
			sum += s
		}
		return sum, nil
	}
	return 0, fmt.Errorf("the basic accountant has no rule for %s", e.Node())
}

// zcdpAccountant is an accountant by zCDP (Bun, Steinke 2016), again without
// credit for sampling or partitions; it knows every node.
type zcdpAccountant struct{}

func (zcdpAccountant) Name() string { return "concentrated" }

func (zcdpAccountant) Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error) {
	rho := rhoOf(e)
	if adj == privacy.ReplaceOne {
		rho *= 4 // group privacy for two records
	}
	if rho == 0 {
		return privacy.Interval{}, nil
	}
	return privacy.Interval{Lower: 0, Upper: rho + 2*math.Sqrt(rho*math.Log(1/delta))}, nil
}

func rhoOf(e privacy.Event) float64 {
	switch v := e.(type) {
	case privacy.Gaussian:
		return 1 / (2 * v.Sigma * v.Sigma)
	case privacy.Laplace:
		return 1 / (2 * v.B * v.B)
	case privacy.Pure:
		return v.Epsilon * v.Epsilon / 2
	case privacy.RandomizedResponse:
		return v.Epsilon * v.Epsilon / 2
	case privacy.BoundedRange:
		return v.C * v.C / 8
	case privacy.ZCDP:
		return v.Rho
	case privacy.NonPrivate:
		return math.Inf(1)
	case privacy.Repeat:
		return float64(v.N) * rhoOf(v.Event)
	}
	sum := 0.0
	for _, c := range privacy.Children(e) {
		sum += rhoOf(c)
	}
	return sum
}

// constantAccountant answers every question alike.
type constantAccountant privacy.Interval

func (constantAccountant) Name() string { return "fixed" }

func (f constantAccountant) Epsilon(privacy.Event, privacy.Adjacency, float64) (privacy.Interval, error) {
	return privacy.Interval(f), nil
}

// testSigner returns the key in testdata, whose private half is published with the source:
// it protects nothing.
func testSigner(t testing.TB) *Signer {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "TEST-ONLY-not-a-secret.key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := parseSigner(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func freshSigner(t testing.TB) *Signer {
	t.Helper()
	s, _, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustParse(t testing.TB, expr string) privacy.Event {
	t.Helper()
	e, err := privacy.Parse(expr)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var (
	testTime  = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	testFiles = map[string]string{
		"demos.jsonl":      "{\"text\":\"a made-up headline\",\"label\":\"World\"}\n",
		"extra/notes.json": "{\"shots\":4}\n",
	}
)

const (
	testEvent = "parallel(repeat(4, poisson(1/512, repeat(8, pure(1/32)))), repeat(4, poisson(1/256, repeat(8, pure(1/32)))))"
	// testDrawn is testEvent without its sampling, in its canonical form: 4 texts of 8 tokens.
	testDrawn = "parallel(repeat(32, pure(0.03125)), repeat(32, pure(0.03125)))"
)

// testClaim returns a complete claim about testFiles.
func testClaim(t testing.TB) Claim {
	t.Helper()
	dir := t.TempDir()
	for name, content := range testFiles {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	subjects, err := HashFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	return Claim{
		Subjects:    subjects,
		Events:      []privacy.Event{mustParse(t, testEvent)},
		Delta:       1.0 / (1 << 20),
		Method:      "clipped",
		Proof:       "composition of pure mechanisms (Dwork, Roth 2014, Corollary 3.15)",
		Standing:    Proven,
		Randomness:  OSRandom,
		Samplers:    []Sampler{SamplePoisson},
		Sizes:       []Size{{"Sports", 4096}, {"World", 8192}},
		Model:       &Model{Name: "tiny", Fingerprint: "sha256:" + strings.Repeat("ab", 32), Backend: "embedded", BatchInvariant: true, Deterministic: true},
		Version:     "0.0.0-test",
		Assumptions: []string{"Records were cut at 100 tokens before use."},
		Created:     testTime,
		Ledger:      &LedgerReference{"charge-1", strings.Repeat("cd", 32)},
	}
}

func sealClaim(t testing.TB, c Claim, ev Evaluator, signer *Signer) []byte {
	t.Helper()
	s, err := NewStatement(c, ev)
	if err != nil {
		t.Fatal(err)
	}
	data, err := Sign(s, signer)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// release is testFiles with a certificate beside them.
func release(envelope []byte) fstest.MapFS {
	m := fstest.MapFS{FileName: &fstest.MapFile{Data: envelope}}
	for name, content := range testFiles {
		m[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return m
}

func options(keys ...*Signer) VerifyOptions {
	t := NewTrust()
	for _, k := range keys {
		t.Merge(NewTrust(k.Public()))
	}
	return VerifyOptions{Trust: t, Evaluator: basic{}, Now: testTime.Add(time.Hour)}
}

func verifyFS(t testing.TB, m fstest.MapFS, o VerifyOptions) *Report {
	t.Helper()
	r, err := Verify(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// failing returns the first failed check as text, empty when all hold.
func failing(r *Report) string {
	if bad := r.Failures(); len(bad) > 0 {
		return bad[0].Name + ": " + bad[0].Detail
	}
	return ""
}

// forge changes a sound statement behind the constructor's back and signs it
// with a trusted key: what a dishonest or broken signer would publish.
func forge(t testing.TB, signer *Signer, change func(*body)) []byte {
	t.Helper()
	s, err := NewStatement(testClaim(t), basic{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := parseStatement(s.payload)
	if err != nil {
		t.Fatal(err)
	}
	change(b)
	payload, err := encode(b)
	if err != nil {
		t.Fatal(err)
	}
	return forgeBytes(t, signer, payload)
}

func forgeBytes(t testing.TB, signer *Signer, payload []byte) []byte {
	t.Helper()
	data, err := seal(payload, signer)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func cloneFS(m fstest.MapFS) fstest.MapFS { return maps.Clone(m) }
