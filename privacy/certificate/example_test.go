package certificate_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// sum evaluates repetitions of pure events by basic composition. Programs use
// an accountant here.
type sum struct{}

func (sum) Name() string { return "sum" }

func (sum) Epsilon(e privacy.Event, _ privacy.Adjacency, _ float64) (privacy.Interval, error) {
	switch v := e.(type) {
	case privacy.Pure:
		return privacy.Interval{Lower: v.Epsilon, Upper: v.Epsilon}, nil
	case privacy.Repeat:
		i, err := sum{}.Epsilon(v.Event, "", 0)
		return privacy.Interval{Lower: i.Lower * float64(v.N), Upper: i.Upper * float64(v.N)}, err
	}
	return privacy.Interval{}, fmt.Errorf("no rule for %s", e.Node())
}

func Example() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "release")
	demos := filepath.Join(dir, "demos.jsonl")
	if err := os.Mkdir(dir, 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(demos, []byte(`{"text":"…","label":"World"}`+"\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	// The signer.
	signer, _, err := certificate.OpenSigner(filepath.Join(tmp, "keys"))
	if err != nil {
		log.Fatal(err)
	}
	_, err = certificate.Issue(dir, certificate.Claim{
		Events:     []privacy.Event{privacy.Repeat{N: 4, Event: privacy.Pure{Epsilon: 0.25}}},
		Delta:      0,
		Method:     "noisymax",
		Proof:      "permute-and-flip is pure (McKenna, Sheldon 2020)",
		Standing:   certificate.Proven,
		Randomness: certificate.OSRandom,
		Samplers:   []certificate.Sampler{certificate.SampleAll},
		Version:    "1.0.0",
	}, sum{}, signer)
	if err != nil {
		log.Fatal(err)
	}

	// The verifier, with the files and the public key.
	verify := func() {
		report, err := certificate.VerifyDir(dir, certificate.VerifyOptions{
			Trust:     certificate.NewTrust(signer.Public()),
			Evaluator: sum{},
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("ok:", report.OK, "ε ≤", report.Predicate.Epsilon.Upper)
		for _, c := range report.Failures() {
			fmt.Println(c.Name, "failed")
		}
	}
	verify()
	if err := os.WriteFile(demos, []byte("{}\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	verify()
	// Output:
	// ok: true ε ≤ 1
	// ok: false ε ≤ 1
	// files failed
}
