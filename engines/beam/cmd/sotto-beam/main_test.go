package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"sotto/demo"
	"sotto/joint"
	"sotto/privacy/accountant"
	"sotto/privacy/certificate"
	"sotto/privacy/ledger"
	"sotto/private/table/global"
	"sotto/run"
	"sotto/schema"
)

func TestMain(m *testing.M) { ptest.MainWithDefault(m, "prism") }

// bench is a place with a table, a ledger and a key ring.
type bench struct {
	dir  string
	said []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir()}
	var rows bytes.Buffer
	if err := demo.WriteLoans(&rows, demo.Loans(5000)); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"loans.csv": rows.Bytes(), "loans.toml": demo.LoansFile()} {
		if err := os.WriteFile(b.path(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := certificate.CreateRing(b.path("keys")); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), b.path("ledger.db"), ledger.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) request(t *testing.T, args ...string) *request {
	t.Helper()
	f := flag.NewFlagSet("test", flag.ContinueOnError)
	r := newRequest(f)
	all := append([]string{
		"--schema", b.path("loans.toml"), "--data", b.path("loans.csv"), "--out", b.path("out"), "--ledger", b.path("ledger.db"),
		"--keys", b.path("keys"), "--private", b.path("private"), "--size", "5000",
	}, args...)
	if err := f.Parse(all); err != nil {
		t.Fatal(err)
	}
	r.say = func(format string, args ...any) { b.said = append(b.said, fmt.Sprintf(format, args...)) }
	r.job.Run = func(ctx context.Context, p *sdk.Pipeline) error {
		_, err := prism.Execute(ctx, p)
		return err
	}
	return r
}

// verify has the certificate of a folder checked.
func (b *bench) verify(t *testing.T, dir string) *certificate.Report {
	t.Helper()
	ring, err := certificate.OpenRing(b.path("keys"))
	if err != nil {
		t.Fatal(err)
	}
	report, err := certificate.VerifyDir(dir, certificate.VerifyOptions{Trust: ring.Trust(), Evaluator: accountant.Auto{}})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func (b *bench) charges(t *testing.T) []ledger.Charge {
	t.Helper()
	l, err := ledger.Open(t.Context(), b.path("ledger.db"), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	all, err := l.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []ledger.Charge
	for _, d := range all {
		of, err := l.Show(t.Context(), string(d.Fingerprint))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, of.Charges...)
	}
	return out
}

func TestProfile(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
	}{
		{"rows", []string{"--epsilon", "1", "--groups", "4"}},
		{"a sample of customers", []string{"--epsilon", "2", "--delta", "1e-6", "--rate", "0.5", "--unit", "customer", "--rows-per-unit", "2", "--noise", "gaussian"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			if err := b.request(t, c.args...).profile(t.Context()); err != nil {
				t.Fatal(err)
			}
			report := b.verify(t, b.path("out"))
			if !report.OK {
				t.Errorf("the certificate does not hold: %v", report.Failures())
			}
			if e := report.Predicate.Epsilon.Upper; e > 2.0001 {
				t.Errorf("ε = %v", e)
			}
			data, err := os.ReadFile(b.path("out/profile.json"))
			if err != nil {
				t.Fatal(err)
			}
			var p global.Profile
			if err := json.Unmarshal(data, &p); err != nil || len(p.Groups) == 0 {
				t.Errorf("%d groups: %v", len(p.Groups), err)
			}
			if _, err := os.Stat(b.path("out/demos.jsonl")); err != nil {
				t.Error(err)
			}
			again := b.request(t, "--schema", "", "--plan", b.path("out/plan.json"), "--generate", "100", "--out", b.path("again"))
			if err := again.profile(t.Context()); err != nil {
				t.Errorf("the plan cannot be used again: %v", err)
			}
			if all := b.charges(t); len(all) != 1 || all[0].State != ledger.Committed {
				t.Errorf("charges: %v", all)
			}
			if err := os.WriteFile(b.path("out/profile.json"), append(data, ' '), 0o600); err != nil {
				t.Fatal(err)
			}
			if b.verify(t, b.path("out")).OK {
				t.Error("the certificate holds for another profile")
			}
		})
	}
}

func TestPerturb(t *testing.T) {
	b := newBench(t)
	if err := b.request(t, "--epsilon", "8").perturb(t.Context()); err != nil {
		t.Fatal(err)
	}
	if report := b.verify(t, b.path("out")); !report.OK {
		t.Errorf("the certificate does not hold: %v", report.Failures())
	}
	s, err := schema.Find(b.path("loans.toml"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(b.path("out"), run.SidecarFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sidecar, err := joint.ReadSidecar(f, s)
	if err != nil || sidecar.Rows != 5000 || !sidecar.Private {
		t.Errorf("%+v: %v", sidecar, err)
	}
	data, err := os.ReadFile(filepath.Join(b.path("out"), run.RowsFile))
	if err != nil || bytes.Count(data, []byte("\n")) != 5001 {
		t.Errorf("%d lines: %v", bytes.Count(data, []byte("\n")), err)
	}
	if _, err := os.Stat(b.path("out.parts")); err == nil {
		t.Error("the shards are still there")
	}
}

// TestRefusals: what cannot be done is said before anything is charged; what was charged
// and failed stays charged.
func TestRefusals(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		name, want string
		do         func() error
	}{
		{"no ε", "ε", b.request(t).do(t, "profile")},
		{"no schema", "--schema", b.request(t, "--schema", "").do(t, "profile")},
		{"no data", "--data", b.request(t, "--data", "").do(t, "perturb")},
		{"no ledger", "--ledger", b.request(t, "--epsilon", "1", "--ledger", "").do(t, "profile")},
		{"no such ledger", "sotto ledger", b.request(t, "--epsilon", "1", "--ledger", b.path("none.db")).do(t, "profile")},
		{"no keys", "sotto keys generate", b.request(t, "--epsilon", "1", "--keys", b.path("none")).do(t, "profile")},
		{"no private folder", "--private", b.request(t, "--epsilon", "1", "--private", "").do(t, "profile")},
		{"several files", "--dataset", b.request(t, "--epsilon", "1", "--data", b.path("*.csv")).do(t, "profile")},
		{"an unknown data set", "sotto ledger init", b.request(t, "--epsilon", "1", "--dataset", "nobody").do(t, "profile")},
		{"no noise", "protects nobody", b.request(t, "--epsilon", "Inf").do(t, "profile")},
		{"unknown groups", "partition", b.request(t, "--epsilon", "1", "--groups", "3").do(t, "profile")},
		{"a sample of nobody knows what", "--size", b.request(t, "--epsilon", "1", "--rate", "0.1", "--size", "0").do(t, "profile")},
		{"a folder that exists", "--out", b.request(t, "--epsilon", "1", "--out", b.dir).do(t, "profile")},
		{"rows elsewhere", "mounted", b.request(t, "--epsilon", "1", "--out", "gs://x/y").do(t, "perturb")},
		{"a plan and a schema", "--plan", b.request(t, "--plan", b.path("loans.toml")).do(t, "profile")},
		{"a file that is no plan", "no plan", b.request(t, "--schema", "", "--plan", b.path("loans.toml")).do(t, "perturb")},
		{"units of perturbed rows", "--unit", b.request(t, "--epsilon", "1", "--unit", "customer").do(t, "perturb")},
	} {
		if err := c.do(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, and should speak of %q", c.name, err, c.want)
		}
	}
	if all := b.charges(t); len(all) != 0 {
		t.Errorf("%d charges for nothing", len(all))
	}
	failing := b.request(t, "--epsilon", "1")
	failing.job.Run = func(context.Context, *sdk.Pipeline) error { return fmt.Errorf("no workers") }
	if err := failing.profile(t.Context()); err == nil {
		t.Fatal("a job without workers has a profile")
	}
	if all := b.charges(t); len(all) != 1 || all[0].State != ledger.Reserved {
		t.Errorf("a job that failed may have let something out, and the charges are %v", all)
	}
	if err := b.request(t, "--epsilon", "1").profile(t.Context()); err == nil || !strings.Contains(err.Error(), "grant") {
		t.Errorf("the budget is used up, and the error is %v", err)
	}
}

func (r *request) do(t *testing.T, verb string) func() error {
	if verb == "profile" {
		return func() error { return r.profile(t.Context()) }
	}
	return func() error { return r.perturb(t.Context()) }
}

// TestGenerated: made-up rows cost nothing, and are signed by nobody.
func TestGenerated(t *testing.T) {
	b := newBench(t)
	if err := b.request(t, "--epsilon", "1", "--generate", "20000").profile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(b.path("out"), certificate.FileName)); err == nil {
		t.Error("made-up rows have a certificate")
	}
	if all := b.charges(t); len(all) != 0 {
		t.Errorf("%d charges for made-up rows", len(all))
	}
}

// TestWaits: noise is added when the job has ended, so the program must wait for that.
func TestWaits(t *testing.T) {
	f := flag.NewFlagSet("test", flag.ContinueOnError)
	f.Bool("async", false, "")
	f.String("template_location", "", "")
	if err := waits(f); err != nil {
		t.Error(err)
	}
	if err := f.Parse([]string{"--template_location", "gs://x"}); err != nil {
		t.Fatal(err)
	}
	if err := waits(f); err == nil || !strings.Contains(err.Error(), "template_location") {
		t.Errorf("a job that is not run is waited for: %v", err)
	}
}
