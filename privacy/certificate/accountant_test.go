package certificate_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// TestAccountants: a verifier with a tighter accountant confirms a claim, one
// with a looser accountant does not.
func TestAccountants(t *testing.T) {
	signer, _, err := certificate.OpenSigner(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	loose, tight := accountant.RDP{}, accountant.Auto{}
	event := privacy.Event(privacy.Repeat{N: 30, Event: privacy.BoundedRange{C: 0.4}})
	// Rényi divergences have no theorem for a δ of its own.
	approx := privacy.Compose{Events: []privacy.Event{privacy.Approx{Epsilon: 1, Delta: 1e-7}, event}}
	for _, c := range []struct {
		name            string
		event           privacy.Event
		signs, verifies certificate.Evaluator
		want            string
	}{
		{"loose by loose", event, loose, loose, ""},
		{"tight by tight", event, tight, tight, ""},
		{"loose by tight", event, loose, tight, ""},
		{"tight by loose", event, tight, loose, "is not confirmed"},
		{"with a δ of its own", approx, accountant.PLD{}, accountant.Auto{}, ""},
		{"with a δ of its own, by one without a theorem", approx, accountant.Auto{}, loose, "cannot handle approx"},
	} {
		s, err := certificate.NewStatement(certificate.Claim{
			Subjects:   []certificate.Subject{{Name: "a", Digest: certificate.Digest{SHA256: emptySHA256}}},
			Events:     []privacy.Event{c.event},
			Delta:      1e-6,
			Method:     "clipped",
			Proof:      "Dong, Durfee, Rogers 2020",
			Standing:   certificate.Proven,
			Randomness: certificate.OSRandom,
			Samplers:   []certificate.Sampler{certificate.SampleAll},
			Version:    "1.0.0",
		}, c.signs)
		if err != nil {
			t.Fatal(err)
		}
		envelope, err := certificate.Sign(s, signer)
		if err != nil {
			t.Fatal(err)
		}
		files := fstest.MapFS{"a": {}, certificate.FileName: {Data: envelope}}
		r, err := certificate.Verify(files, certificate.VerifyOptions{Trust: certificate.NewTrust(signer.Public()), Evaluator: c.verifies})
		if err != nil {
			t.Fatal(err)
		}
		var failures strings.Builder
		for _, f := range r.Failures() {
			failures.WriteString(f.Detail)
		}
		if r.OK != (c.want == "") || !strings.Contains(failures.String(), c.want) {
			t.Errorf("%s: %s", c.name, failures.String())
		}
	}
}

const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
