package run

import (
	"errors"
	"html"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// TestWhoElse: the report says when, on which data, what is left of its budget, and who else uses
// it, by purpose and never by a name that leads to another release.
func TestWhoElse(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(tickets(), clipped()), newHashModel())
	fingerprint, err := fingerprintOf(o)
	must(t, err)
	_, err = p.ledger.Init(t.Context(), ledger.InitRequest{Dataset: fingerprint, Name: "complaints", Budget: ledger.Budget{Epsilon: 9, Delta: 1e-3}})
	must(t, err)
	other, err := p.ledger.Reserve(t.Context(), ledger.ReserveRequest{
		Dataset: "complaints", Event: privacy.Pure{Epsilon: 1}, Adjacency: privacy.AddRemove, Unit: privacy.Record, Proof: ledger.Proven,
		Run: "letters clipped " + newName(), Key: "other", Labels: map[string]string{"team": "post"},
	})
	must(t, err)
	p.finish(t, o)
	page := html.UnescapeString(tree(t, o.Dir)[release.ReportFile])
	// The meter of this ledger counts mechanisms: two of this run, and one of the other.
	for _, want := range []string{
		"17 November 2026", "<dd>complaints</dd>", "ε = 6 of 9", "letters clipped", "(team=post)", "others: ε = 1", "this run: ε = 2", p.signer.Public().ID(),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q in\n%s", want, page)
		}
	}
	_, id, _ := strings.Cut(other.Run, "clipped ")
	for name, content := range tree(t, o.Dir) {
		for _, link := range []string{id, string(other.ID), string(fingerprint)} {
			if strings.Contains(content, link) {
				t.Errorf("%s has %q, which leads to another release or to the data", name, link)
			}
		}
	}
}

// TestSignerExchanged: a key that was exchanged between the files and the certificate is the one
// that the report names, and the certificate holds.
func TestSignerExchanged(t *testing.T) {
	p := newPlace(t)
	m := newHashModel()
	o := p.options(t, p.plan(), m)
	stop := errors.New("enough")
	first := p.attempt(o, m, func(_ int, what string) error {
		if strings.HasPrefix(what, "rename to "+certificate.FileName) {
			return stop
		}
		return nil
	})
	if _, err := first.run(t.Context()); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	m.fail = nil
	old := o.Env.Signer.Public().ID()
	var err error
	o.Env.Signer, _, err = certificate.OpenSigner(filepath.Join(p.dir, "next"))
	must(t, err)
	p.finish(t, o)
	page := tree(t, o.Dir)[release.ReportFile]
	if strings.Contains(page, old) || !strings.Contains(page, o.Env.Signer.Public().ID()) {
		t.Error("the report names another key than the one that signed")
	}
	report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: certificate.NewTrust(o.Env.Signer.Public()), Evaluator: unitEvaluator{}})
	must(t, err)
	if !report.OK {
		t.Errorf("%+v", report.Failures())
	}
	if n := len(charges(t, o)); n != 1 {
		t.Errorf("%d charges", n)
	}
}
