package run

import (
	"errors"
	"html"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// TestClaimed: what is claimed and not proven runs without a charge and without a
// certificate, its files say so, and a ledger does not charge for the claim either.
func TestClaimed(t *testing.T) {
	p := newPlace(t)
	fixed := scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 4, Of: 40}
	made := planFor(phrases(), &decode.PublishedMixing{Draw: fixed, Order: 8, Beta: 0.179, Candidates: 10})
	if made.Private() || !strings.Contains(made.Claim(), "ε = 100 at δ = 0.001 is claimed, not proven") {
		t.Fatalf("private is %v, and the claim %q", made.Private(), made.Claim())
	}
	o := p.options(t, made, newHashModel())
	result := p.finish(t, o) // with a ledger and a signer at hand
	notPrivate(t, result)
	files := tree(t, o.Dir)
	for _, name := range []string{"README.md", "report.html"} {
		if !strings.Contains(html.UnescapeString(files[name]), "claimed, not proven") {
			t.Errorf("%s does not say that something is claimed and not proven", name)
		}
	}
	if got := charges(t, o); len(got) != 0 {
		t.Errorf("a claim is charged: %+v", got)
	}

	fingerprint, err := fingerprintOf(o)
	must(t, err)
	// As the paper has it: 4βα at every order is zcdp(4β).
	claim := privacy.Repeat{N: 15, Event: privacy.FixedSize{N: 40, M: 4, Event: privacy.ZCDP{Rho: 4 * 0.179}}}
	for proof, event := range map[ledger.Proof]privacy.Event{ledger.Claimed: claim, ledger.Proven: made.Event()} {
		t.Run(string(proof), func(t *testing.T) {
			_, err = p.ledger.Reserve(t.Context(), ledger.ReserveRequest{
				Dataset: string(fingerprint), Event: event, Adjacency: privacy.ReplaceOne, Proof: proof, Run: "claim", Key: "claim",
			})
			var unproven *ledger.UnprovenError
			if !errors.As(err, &unproven) {
				t.Errorf("a ledger charges for %s as %s: %v", event, proof, err)
			}
		})
	}
}

// TestMixing: with a proof, mixing is charged for and certified.
func TestMixing(t *testing.T) {
	p := newPlace(t)
	made := planFor(phrases(), &decode.Mixing{Draw: perText(), Expected: 8, Range: 0.2, Temperature: 1, Candidates: 10})
	if made.Claim() != "" {
		t.Errorf("what is proven is claimed: %q", made.Claim())
	}
	o := p.options(t, made, newHashModel())
	p.finish(t, o)
	if got := charges(t, o); len(got) != 1 || got[0].Event != made.Event().String() {
		t.Errorf("charged %+v for %s", got, made.Event())
	}
	report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: unitEvaluator{}})
	must(t, err)
	expect.True(t, "report.OK", report.OK)
	expect.Equal(t, "report.Predicate.Method", report.Predicate.Method, "mixing")
	expect.Contains(t, "report.Predicate.Events[0]", report.Predicate.Events[0], "boundedrange(0.2)")
	expect.Equal(t, "report.Predicate.Proof", report.Predicate.Proof, made.Parts[0].Method.Proof())
}
