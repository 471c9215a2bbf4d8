package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/sotto-dp/sotto/engines/enginetest"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/schema"
)

func TestMain(m *testing.M) { ptest.MainWithDefault(m, "prism") }

func onPrism(ctx context.Context, p *sdk.Pipeline) error {
	_, err := prism.Execute(ctx, p)
	return err
}

// bench is a place with a table, a ledger and a key ring.
type bench struct {
	dir string
	run func(context.Context, *sdk.Pipeline) error
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir(), run: onPrism}
	for _, name := range []string{"SOTTO_LEDGER", "SOTTO_KEYS", "SOTTO_PRIVATE"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_DATA_HOME", b.path("data"))
	var rows bytes.Buffer
	if err := demo.WriteLoans(&rows, demo.Loans(5000)); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"loans.csv": rows.Bytes(), "loans.toml": demo.LoansFile()} {
		if err := os.WriteFile(b.path(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := certificate.OpenSigner(b.path("keys")); err != nil {
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

// do runs the program; args come after those that every call needs.
func (b *bench) do(t *testing.T, verb string, args ...string) (int, string) {
	t.Helper()
	all := append([]string{
		verb, "--schema", b.path("loans.toml"), "--data", b.path("loans.csv"), "--out", b.path("out"), "--ledger", b.path("ledger.db"),
		"--keys", b.path("keys"), "--private", b.path("private"),
	}, args...)
	var out bytes.Buffer
	p := &program{flags: flag.NewFlagSet("test", flag.ContinueOnError), run: b.run, terminal: ui.Terminal{Stdout: &out, Stderr: &out}}
	return p.execute(t.Context(), all), out.String()
}

// verify has the certificate of a folder checked.
func (b *bench) verify(t *testing.T, dir string) *certificate.Report {
	t.Helper()
	trust, err := certificate.LoadTrust(b.path("keys"))
	if err != nil {
		t.Fatal(err)
	}
	report, err := certificate.VerifyDir(dir, certificate.VerifyOptions{Trust: trust, Evaluator: accountant.Auto{}})
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

// TestOneLedger: the ledger, the keys and the private folder are those of sotto.
func TestOneLedger(t *testing.T) {
	p := enginetest.Sotto("") // whose files it reads
	p.Verb = []string{"profile"}
	p.Run = func(t *testing.T, args ...string) (int, string) {
		var out bytes.Buffer
		p := &program{flags: flag.NewFlagSet("test", flag.ContinueOnError), run: onPrism, terminal: ui.Terminal{Stdout: &out, Stderr: &out}}
		return p.execute(t.Context(), args), out.String()
	}
	enginetest.OneLedger(t, enginetest.BuildSotto(t), p)
}

func TestProfile(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
	}{
		{"by the label", []string{"--epsilon", "2"}},
		{"four groups of whole files", []string{"--epsilon", "2", "--groups", "4", "--whole"}},
		{"a sample of customers", []string{"--epsilon", "2", "--delta", "1e-6", "--rate", "0.5", "--unit", "customer", "--rows-per-unit", "2", "--noise", "gaussian"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			if code, said := b.do(t, "profile", append(c.args, "--size", "5000")...); code != 0 {
				t.Fatalf("exit code %d: %s", code, said)
			}
			report := b.verify(t, b.path("out"))
			if !report.OK {
				t.Errorf("the certificate does not hold: %v", report.Failures())
			}
			if e := report.Predicate.Epsilon.Upper; e > 2.0001 {
				t.Errorf("ε = %v", e)
			}
			code, said := b.do(t, "profile", "--schema", "", "--plan", b.path("out/plan.json"), "--generate", "100", "--out", "")
			if code != 0 || !strings.Contains(said, "no certificate") {
				t.Errorf("the plan cannot be used again: %d, %s", code, said)
			}
			if all := b.charges(t); len(all) != 1 || all[0].State != ledger.Committed {
				t.Errorf("charges: %v", all)
			}
		})
	}
}

func TestPerturb(t *testing.T) {
	b := newBench(t)
	if code, said := b.do(t, "perturb", "--epsilon", "8"); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
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
	sidecar, err := reconstruct.ReadSidecar(f, s)
	expect.NoError(t, err)
	expect.Equal(t, "rows", sidecar.Rows, 5000)
	expect.True(t, "private rows", sidecar.Private)
	data, err := os.ReadFile(filepath.Join(b.path("out"), run.RowsFile))
	if err != nil || bytes.Count(data, []byte("\n")) != 5001 {
		t.Errorf("%d lines: %v", bytes.Count(data, []byte("\n")), err)
	}
}

// TestFailedJob: what a job that failed was charged pays for the same call again.
func TestFailedJob(t *testing.T) {
	b := newBench(t)
	b.run = func(context.Context, *sdk.Pipeline) error { return errors.New("no workers") }
	if code, said := b.do(t, "profile", "--epsilon", "1", "--size", "5000"); code != 1 || !strings.Contains(said, "no workers") {
		t.Fatalf("a job without workers has a profile: %d, %s", code, said)
	}
	if all := b.charges(t); len(all) != 1 || all[0].State != ledger.Reserved {
		t.Errorf("the charges are %v", all)
	}
	if code, said := b.do(t, "profile", "--epsilon", "1", "--size", "5000", "--out", b.path("other")); code != 3 || !strings.Contains(said, "grant") {
		t.Errorf("the budget is used up: %d, %s", code, said)
	}
	b.run = onPrism
	if code, said := b.do(t, "profile", "--epsilon", "1", "--size", "5000"); code != 0 {
		t.Fatalf("it does not continue: %d, %s", code, said)
	}
	if all := b.charges(t); len(all) != 1 || all[0].State != ledger.Committed {
		t.Errorf("the charges are %v", all)
	}
	if report := b.verify(t, b.path("out")); !report.OK {
		t.Errorf("the certificate does not hold: %v", report.Failures())
	}
}

// TestGenerated: made-up rows are not written, cost nothing, and are signed by nobody.
func TestGenerated(t *testing.T) {
	b := newBench(t)
	for _, verb := range []string{"profile", "perturb"} {
		args := []string{"--epsilon", "1", "--generate", "20000"}
		if verb == "profile" {
			args = append(args, "--size", "20000")
		}
		if code, said := b.do(t, verb, args...); code != 0 || !strings.Contains(said, "20000 made-up rows") {
			t.Errorf("%s: %d, %s", verb, code, said)
		}
	}
	if _, err := os.Stat(b.path("out")); err == nil {
		t.Error("made-up rows have a folder")
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
	p := &program{}
	if err := p.parsed(f); err != nil {
		t.Error(err)
	}
	if err := f.Parse([]string{"--template_location", "gs://x"}); err != nil {
		t.Fatal(err)
	}
	if err := p.parsed(f); err == nil || !strings.Contains(err.Error(), "template_location") {
		t.Errorf("a job that is not run is waited for: %v", err)
	}
}
