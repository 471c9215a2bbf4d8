package certificate

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/privacy"
)

// TestForgeriesByATrustedKey: a valid signature does not make a claim true.
func TestForgeriesByATrustedKey(t *testing.T) {
	signer := testSigner(t)
	for _, c := range []struct {
		name   string
		change func(*body)
		want   string // beginning of the first failure; empty when it is sound
	}{
		{"nothing", func(*body) {}, ""},
		{"ε smaller", func(b *body) { b.Predicate.Epsilon.Upper = 1.99 }, "epsilon: the claim ε ≤ 1.99 (basic) is not confirmed"},
		{"ε smaller beyond rounding", func(b *body) { b.Predicate.Epsilon.Upper = 2 - 4e-6 }, "epsilon: "},
		{"ε smaller within rounding", func(b *body) { b.Predicate.Epsilon.Upper = 2 - 1e-6 }, ""},
		{"ε zero", func(b *body) { b.Predicate.Epsilon.Upper = 0 }, "epsilon: "},
		{"ε larger", func(b *body) { b.Predicate.Epsilon.Upper = 3 }, ""},
		{"ε negative", func(b *body) { b.Predicate.Epsilon.Upper = -1 }, "epsilon: the claimed ε is not usable"},
		{"lower above the events", func(b *body) { b.Predicate.Epsilon.Lower, b.Predicate.Epsilon.Upper = 2.5, 3 }, "epsilon: the claim ε ≥ 2.5"},
		{"lower above upper", func(b *body) { b.Predicate.Epsilon.Lower = 5 }, "epsilon: the claimed ε is not usable"},
		{"no accountant", func(b *body) { b.Predicate.Epsilon.Accountant = "" }, "epsilon: the claimed ε is not usable"},
		{"known draws, ε smaller", func(b *body) { b.Predicate.Drawn.Epsilon.Upper = 1.9 }, "epsilon of known draws: the claim ε ≤ 1.9"},
		{"known draws, ε of one draw", func(b *body) {
			b.Predicate.Drawn = &DrawnGuarantee{"repeat(8, pure(0.03125))", Epsilon{0.25, 0.25, "basic"}}
		}, "known draws: against someone who knows whose records were drawn it states repeat(8"},
		{"known draws, not canonical", func(b *body) { b.Predicate.Drawn.Event += " " }, "known draws: "},
		{"known draws not stated", func(b *body) { b.Predicate.Drawn = nil }, ""},
		{"other events", func(b *body) { b.Predicate.Events[0] = strings.Replace(b.Predicate.Events[0], "8", "9", 2) }, "known draws: "},
		{"another version", func(b *body) { b.PredicateType = "urn:sotto:privacy-guarantee:v1" }, "statement: its predicate type is"},
		{"a time", func(b *body) { b.Predicate.Created = b.Predicate.Created.Add(39 * time.Second) }, "statement: created is 2025-03-01T00:00:39Z, it should be a day"},
		{"an event more", func(b *body) {
			b.Predicate.Drawn, b.Predicate.Events = nil, append(b.Predicate.Events, "pure(1)")
		}, "epsilon: "},
		{"events not canonical", func(b *body) { b.Predicate.Events[0] += " " }, "events: event 1: "},
		{"events swapped in a parallel", func(b *body) { b.Predicate.Events[0] = "parallel(pure(1), gaussian(1))" }, "events: event 1: "},
		{"events unparsable", func(b *body) { b.Predicate.Events[0] = "gaussian(-1)" }, "events: event 1: "},
		{"null events", func(b *body) { b.Predicate.Events = nil }, "events: the statement lists no events"},
		{"null samplers", func(b *body) { b.Predicate.Samplers = nil }, "samplers and sizes: no sampler"},
		{"null assumptions", func(b *body) { b.Predicate.Assumptions = nil }, "assumptions: assumption 1"},
		{"no events", func(b *body) { b.Predicate.Events = []string{} }, "events: the statement lists no events"},
		{"nonprivate", func(b *body) { b.Predicate.Events = []string{"nonprivate()"} }, "events: event 1: nonprivate()"},
		{"adjacency weaker", func(b *body) {
			b.Predicate.Adjacency = privacy.ReplaceOne
			b.Predicate.Assumptions[2] = assumeAdjacency(privacy.ReplaceOne, privacy.Record)
		}, "epsilon: "},
		{"adjacency alone", func(b *body) { b.Predicate.Adjacency = privacy.ReplaceOne }, "assumptions: assumption 3"},
		{"adjacency unknown", func(b *body) { b.Predicate.Adjacency = "swap" }, "adjacency and unit: unknown adjacency"},
		{"adjacency empty", func(b *body) { b.Predicate.Adjacency = "" }, "adjacency and unit: unknown adjacency"},
		{"unit unknown", func(b *body) { b.Predicate.Unit = "family" }, "adjacency and unit: unknown unit"},
		{"unit without column", func(b *body) { b.Predicate.Unit = "user:" }, "adjacency and unit: "},
		{"δ negative", func(b *body) { b.Predicate.Delta = -1e-9 }, "delta: "},
		{"δ one", func(b *body) { b.Predicate.Delta = 1 }, "delta: "},
		{"sampler that did not run", func(b *body) { b.Predicate.Samplers = []Sampler{SampleFixedSize} }, "samplers and sizes: the events take credit for poisson"},
		{"sampler unknown", func(b *body) { b.Predicate.Samplers = []Sampler{"bernoulli"} }, "samplers and sizes: unknown sampler"},
		{"samplers unsorted", func(b *body) { b.Predicate.Samplers = []Sampler{SamplePoisson, SampleAll} }, "samplers and sizes: samplers are not sorted"},
		{"no sampler", func(b *body) { b.Predicate.Samplers = []Sampler{} }, "samplers and sizes: no sampler"},
		{"no size", func(b *body) { b.Predicate.Sizes = nil }, "samplers and sizes: "},
		{"size zero", func(b *body) { b.Predicate.Sizes[0].Records = 0 }, "samplers and sizes: "},
		{"sizes beyond 2^53", func(b *body) { b.Predicate.Sizes[0].Records = math.MaxInt64 }, "samplers and sizes: "},
		{"size twice", func(b *body) { b.Predicate.Sizes[1].Part = "Sports" }, "samplers and sizes: "},
		{"seeded", func(b *body) { b.Predicate.Randomness = Seeded }, "origin: randomness"},
		{"no proof", func(b *body) { b.Predicate.Proof = " " }, "origin: the proof is empty"},
		{"control characters", func(b *body) { b.Predicate.Method = "clipped\x1b[2J" }, "origin: the method holds characters"},
		{"long text", func(b *body) { b.Predicate.Program.Version = strings.Repeat("9", maxText+1) }, "origin: "},
		{"no assumptions", func(b *body) { b.Predicate.Assumptions = []string{} }, "assumptions: assumption 1"},
		{"an assumption less", func(b *body) { b.Predicate.Assumptions = b.Predicate.Assumptions[1:] }, "assumptions: assumption 1"},
		{"an assumption reworded", func(b *body) { b.Predicate.Assumptions[0] += " Surely." }, "assumptions: assumption 1"},
		{"isolation made up", func(b *body) {
			b.Predicate.Model.BatchInvariant, b.Predicate.Model.Isolation = false, "a hunch"
		}, "origin: how the model's prompts"},
		{"isolation of two kinds, one made up", func(b *body) {
			b.Predicate.Model.BatchInvariant, b.Predicate.Model.Isolation = false, "alone, by the server's counters; a hunch"
		}, "origin: how the model's prompts"},
		{"isolation of one kind twice", func(b *body) {
			b.Predicate.Model.BatchInvariant, b.Predicate.Model.Isolation = false, "alone, by the server's counters; alone, by the operator's word"
		}, "origin: how the model's prompts"},
		{"isolation of what is invariant", func(b *body) { b.Predicate.Model.Isolation = "alone, by the operator's word" }, "origin: how the model's prompts"},
		{"batch invariance denied", func(b *body) { b.Predicate.Model.BatchInvariant = false }, "assumptions: assumption 8"},
		{"local time", func(b *body) {
			b.Predicate.Created = b.Predicate.Created.In(time.FixedZone("", 3600))
		}, "origin: created"},
		{"fraction of a second", func(b *body) { b.Predicate.Created = b.Predicate.Created.Add(1) }, "statement: created"},
		{"ledger without charge", func(b *body) { b.Predicate.Ledger.Charge = "" }, "origin: the ledger"},
		{"model without fingerprint", func(b *body) { b.Predicate.Model.Fingerprint = "" }, "origin: the model"},
		{"predicate type", func(b *body) { b.PredicateType = "urn:sotto:another:v1" }, "statement: its predicate type"},
		{"statement type", func(b *body) { b.Type = "https://in-toto.io/Statement/v0.1" }, "statement: its type"},
		{"no subjects", func(b *body) { b.Subject = []Subject{} }, "statement: "},
		{"subjects unsorted", func(b *body) { b.Subject[0], b.Subject[1] = b.Subject[1], b.Subject[0] }, "statement: files are not sorted"},
		{"subject twice", func(b *body) { b.Subject[1] = b.Subject[0] }, "statement: files are not sorted"},
		{"digest in capitals", func(b *body) {
			b.Subject[0].Digest.SHA256 = strings.ToUpper(b.Subject[0].Digest.SHA256)
		}, "statement: file \"demos.jsonl\" has no SHA-256"},
		{"digest short", func(b *body) { b.Subject[0].Digest.SHA256 = "ab" }, "statement: "},
	} {
		got := failing(verifyFS(t, release(forge(t, signer, c.change)), options(signer)))
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestHostileNames: no certificate makes a verifier read outside its directory.
func TestHostileNames(t *testing.T) {
	signer := testSigner(t)
	for _, name := range []string{
		"../secret", "/etc/passwd", "a/../../secret", "./demos.jsonl", "a//b", "a/", "", ".", "..",
		`..\secret`, `C:\secret`, "C:secret", "a\x00b", "a\nb", FileName, strings.ToUpper(FileName), strings.Repeat("a", maxText+1),
	} {
		data := forge(t, signer, func(b *body) { b.Subject = []Subject{{name, b.Subject[0].Digest}} })
		if got := failing(verifyFS(t, release(data), options(signer))); !strings.HasPrefix(got, "statement: ") {
			t.Errorf("%q: %q", name, got)
		}
		if _, err := HashFiles(t.TempDir(), name); err == nil {
			t.Errorf("%q: hashed", name)
		}
	}
}

// TestStatementBytes: what JSON readers tolerate, and may read differently, is
// rejected even when a trusted key signed it.
func TestStatementBytes(t *testing.T) {
	signer := testSigner(t)
	s, err := NewStatement(testClaim(t), basic{})
	if err != nil {
		t.Fatal(err)
	}
	good := string(s.payload)
	edit := func(old, repl string) string {
		if strings.Count(good, old) == 0 {
			t.Fatalf("%q is not in the statement", old)
		}
		return strings.Replace(good, old, repl, 1)
	}
	for name, payload := range map[string]string{
		"duplicate key":        edit(`"delta":`, `"delta":0.5,"delta":`),
		"key in another case":  edit(`"delta":`, `"Delta":`),
		"unknown field":        edit(`"delta":`, `"comment":"x","delta":`),
		"unknown top field":    edit(`"subject":`, `"x":1,"subject":`),
		"missing field":        edit(`"adjacency":"add-remove",`, ``),
		"missing assumptions":  good[:strings.Index(good, `"assumptions"`)] + good[strings.Index(good, `"created"`):],
		"fields swapped":       edit(`"adjacency":"add-remove","unit":"record"`, `"unit":"record","adjacency":"add-remove"`),
		"text for a number":    edit(`"upper":2`, `"upper":"2"`),
		"NaN":                  edit(`"upper":2`, `"upper":NaN`),
		"NaN as text":          edit(`"upper":2`, `"upper":"NaN"`),
		"infinity":             edit(`"upper":2`, `"upper":Infinity`),
		"number out of range":  edit(`"upper":2`, `"upper":1e999`),
		"another spelling":     edit(`"upper":2`, `"upper":2.0`),
		"number for a text":    edit(`"unit":"record"`, `"unit":1`),
		"null":                 edit(`"upper":2`, `"upper":null`),
		"white space":          edit(`"delta":`, `"delta": `),
		"escaped letter":       edit(`"record"`, `"\u0072ecord"`),
		"trailing data":        good + "{}",
		"trailing white space": good + "\n",
		"leading mark":         "\xef\xbb\xbf" + good,
		"invalid UTF-8":        edit(`"clipped"`, "\"clip\xffed\""),
		"cut short":            good[:len(good)-1],
		"empty":                "",
		"an array":             "[" + good + "]",
		"deeply nested":        strings.Repeat("[", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			if got := failing(verifyFS(t, release(forgeBytes(t, signer, []byte(payload))), options(signer))); !strings.HasPrefix(got, "statement: ") {
				t.Errorf("%q", got)
			}
		})
	}
	if got := failing(verifyFS(t, release(forgeBytes(t, signer, []byte(good))), options(signer))); got != "" {
		t.Error(got)
	}
}

// TestEnvelopeForms: other spellings of the same envelope are rejected, so that
// a certificate has one SHA-256.
func TestEnvelopeForms(t *testing.T) {
	signer := testSigner(t)
	good := string(sealClaim(t, testClaim(t), basic{}, signer))
	var env envelope
	if err := json.Unmarshal([]byte(good), &env); err != nil {
		t.Fatal(err)
	}
	payload, err := decodeBase64(env.Payload)
	if err != nil {
		t.Fatal(err)
	}
	variant := func(change func(*envelope)) string {
		e := env
		e.Signatures = append([]signature(nil), env.Signatures...)
		change(&e)
		line, err := encode(e)
		if err != nil {
			t.Fatal(err)
		}
		return string(line) + "\n"
	}
	indented, err := json.MarshalIndent(env, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"indented":           string(indented) + "\n",
		"no new line":        strings.TrimSuffix(good, "\n"),
		"two new lines":      good + "\n",
		"carriage return":    strings.TrimSuffix(good, "\n") + "\r\n",
		"trailing envelope":  good + good,
		"unknown field":      strings.Replace(good, `"payload":`, `"note":"","payload":`, 1),
		"second payload":     strings.Replace(good, `"payload":`, `"payload":"e30=","payload":`, 1),
		"URL alphabet":       variant(func(e *envelope) { e.Payload = base64.URLEncoding.EncodeToString(append(payload, "??>>"...)) }),
		"payload with break": variant(func(e *envelope) { e.Payload = e.Payload[:76] + "\n" + e.Payload[76:] }),
		"unpadded":           variant(func(e *envelope) { e.Signatures[0].Sig = strings.TrimRight(e.Signatures[0].Sig, "=") }),
		"other payload type": variant(func(e *envelope) { e.PayloadType = "application/json" }),
		"no signatures":      variant(func(e *envelope) { e.Signatures = []signature{} }),
		"null signatures":    variant(func(e *envelope) { e.Signatures = nil }),
		"no key id":          variant(func(e *envelope) { e.Signatures[0].KeyID = "" }),
		"short signature":    variant(func(e *envelope) { e.Signatures[0].Sig = "AAAA" }),
		"signature twice":    variant(func(e *envelope) { e.Signatures = append(e.Signatures, e.Signatures[0]) }),
		"huge":               strings.Repeat(" ", maxEnvelope) + good,
		"empty":              "",
	} {
		t.Run(name, func(t *testing.T) {
			if got := failing(verifyFS(t, release([]byte(data)), options(signer))); !strings.HasPrefix(got, "envelope: ") {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestMalleableSignature(t *testing.T) {
	// S + L is another scalar for the same equation; RFC 8032 demands S < L.
	signer := testSigner(t)
	var env envelope
	if err := json.Unmarshal(sealClaim(t, testClaim(t), basic{}, signer), &env); err != nil {
		t.Fatal(err)
	}
	sig, err := decodeBase64(env.Signatures[0].Sig)
	if err != nil {
		t.Fatal(err)
	}
	order := []byte{
		0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
	}
	carry := 0
	for i, o := range order {
		carry += int(sig[32+i]) + int(o)
		sig[32+i] = byte(carry)
		carry >>= 8
	}
	env.Signatures[0].Sig = base64.StdEncoding.EncodeToString(sig)
	line, err := encode(env)
	if err != nil {
		t.Fatal(err)
	}
	if got := failing(verifyFS(t, release(append(line, '\n')), options(signer))); !strings.HasPrefix(got, "signature: ") {
		t.Errorf("got %q", got)
	}
}

func TestCompare(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name       string
		claim, own privacy.Interval
		want       string
	}{
		{"equal", privacy.Interval{Lower: 0.9, Upper: 1}, privacy.Interval{Lower: 0.9, Upper: 1}, "holds"},
		{"rounded down", privacy.Interval{Lower: 0.9, Upper: 1 - 1e-7}, privacy.Interval{Lower: 0.9, Upper: 1}, "holds"},
		{"verifier tighter", privacy.Interval{Lower: 0.8, Upper: 1.2}, privacy.Interval{Lower: 0.9, Upper: 1}, "holds"},
		{"claim tighter", privacy.Interval{Lower: 0.94, Upper: 0.96}, privacy.Interval{Lower: 0.9, Upper: 1}, "not confirmed"},
		{"claim below", privacy.Interval{Lower: 0.5, Upper: 0.6}, privacy.Interval{Lower: 0.9, Upper: 1}, "is false"},
		{"claim above", privacy.Interval{Lower: 1.5, Upper: 1.6}, privacy.Interval{Lower: 0.9, Upper: 1}, "contradicts"},
		{"both zero", privacy.Interval{}, privacy.Interval{}, "holds"},
		{"tiny against zero", privacy.Interval{}, privacy.Interval{Upper: 1e-9}, "not confirmed"},
		{"NaN", privacy.Interval{Lower: 0, Upper: nan}, privacy.Interval{Lower: 0.9, Upper: 1}, "not usable"},
		{"infinite", privacy.Interval{Lower: 0, Upper: inf}, privacy.Interval{Lower: 0.9, Upper: 1}, "not usable"},
		{"large", privacy.Interval{Lower: 0, Upper: 400}, privacy.Interval{Lower: 350, Upper: 401}, "not confirmed"},
	} {
		detail, err := compare(Epsilon{c.claim.Lower, c.claim.Upper, "a"}, Epsilon{c.own.Lower, c.own.Upper, "b"})
		if err != nil {
			detail = err.Error()
		}
		if !strings.Contains(detail, c.want) || (err == nil) != (c.want == "holds") {
			t.Errorf("%s: %s (%v)", c.name, detail, err)
		}
	}
}

// TestVerifierWithoutGuarantee: an evaluator that fails, or finds no finite ε,
// confirms nothing.
func TestVerifierWithoutGuarantee(t *testing.T) {
	signer := testSigner(t)
	good := release(sealClaim(t, testClaim(t), basic{}, signer))
	for _, ev := range []Evaluator{
		constantAccountant{0, math.Inf(1)},
		constantAccountant{0, math.NaN()},
		constantAccountant{math.NaN(), 1},
		constantAccountant{3, 1},
		constantAccountant{-1, 1},
		failingEvaluator{},
	} {
		o := options(signer)
		o.Evaluator = ev
		r := verifyFS(t, good, o)
		if got := failing(r); !strings.HasPrefix(got, "epsilon: ") || r.Recomputed != nil {
			t.Errorf("%v: %q, recomputed %v", ev, got, r.Recomputed)
		}
	}
}

type failingEvaluator struct{}

func (failingEvaluator) Name() string { return "failing" }

func (failingEvaluator) Epsilon(e privacy.Event, _ privacy.Adjacency, _ float64) (privacy.Interval, error) {
	return privacy.Interval{Lower: 0, Upper: 0}, fmt.Errorf("no rule for %s", e.Node())
}
