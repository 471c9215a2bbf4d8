package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// marker is in every field of every record that is content.
const marker = "zebra4711"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tickets is a task with a closed list of labels.
func tickets() prompt.Task {
	return prompt.Task{
		Name: "tickets", Kind: prompt.Classify, Text: "text", Label: "label", Labels: []string{"red", "blue"},
		Generate: prompt.Generation{Instruction: "Write a ticket."},
		Answer:   prompt.AnswerLayout{Instruction: "Sort the tickets."},
		Limits:   prompt.Limits{MaxTokens: 5, Shots: 3, RecordTokens: 20},
	}.WithDefaults()
}

// phrases is a task with open labels.
func phrases() prompt.Task {
	t := tickets()
	t.Name, t.Kind, t.Labels, t.Conditions = "phrases", prompt.Extract, nil, []string{"one", "two"}
	return t
}

// planFor lays out a plan by hand: its ε is of no interest to most tests.
func planFor(task prompt.Task, m decode.Method) plan.Plan {
	p := plan.Plan{
		Task: task, Epsilon: 100, Delta: 1e-3, Adjacency: privacy.AddRemove, Unit: privacy.Record,
		Shots: 3, Tokens: 5, Rules: decode.Rules{MinTokens: 2}, Conditions: task.Conditions,
	}
	if m.Scheme().Kind == scheme.FixedSize {
		p.Adjacency = privacy.ReplaceOne
	}
	labels, texts := task.Labels, int64(2)
	if task.Open() {
		labels, texts = []string{""}, 3
	}
	for _, label := range labels {
		p.Parts = append(p.Parts, plan.Part{Label: label, Size: int64(40 / len(labels)), Texts: texts, Method: decode.Settings{Method: m}})
	}
	return p
}

func perText() scheme.Scheme {
	return scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.2}
}

func perToken() scheme.Scheme {
	return scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.2, Prompts: 2, PerPrompt: 2}
}

func clipped() decode.Method {
	return &decode.Clipped{Draw: perText(), Expected: 4, Range: 1, Temperature: 1, Candidates: 10}
}

func gaussian() decode.Method {
	return &decode.Gaussian{Draw: perToken(), Candidates: 10, Sigma: 1}
}

// place is where tests keep what runs need: data, ledger, keys.
type place struct {
	dir, data string
	ledger    *ledger.Ledger
	signer    *certificate.Signer
	trust     *certificate.Trust
	key       []byte
	// made is what is carried out; nil writes texts by clipped.
	made *plan.Plan
	// encoder adds records up, where the plan does.
	encoder *hashEncoder
}

// plan is what disturbed runs carry out.
func (p *place) plan() plan.Plan {
	if p.made != nil {
		return *p.made
	}
	return planFor(tickets(), clipped())
}

// newPlace writes 20 records a label, and makes a ledger and a signer.
func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{dir: t.TempDir()}
	p.data, p.ledger = filepath.Join(p.dir, "data.jsonl"), memoryLedger(t)
	p.writeData(t, 20)
	var err error
	p.signer, _, err = certificate.OpenSigner(filepath.Join(p.dir, "ring"))
	must(t, err)
	p.trust = certificate.NewTrust(p.signer.Public())
	key, err := noise.NewKey()
	must(t, err)
	p.key, err = key.Export()
	must(t, err)
	return p
}

func (p *place) writeData(t testing.TB, n int) {
	t.Helper()
	var lines strings.Builder
	for i := range n {
		for _, label := range []string{"red", "blue"} {
			fmt.Fprintf(&lines, "{\"text\": \"%s %s %d\", \"label\": %q, \"who\": \"%s-%d\"}\n", marker, label, i, label, marker, i%3)
		}
	}
	must(t, os.WriteFile(p.data, []byte(lines.String()), 0o600))
}

// open opens the data as a plan wants it.
func (p *place) open(t testing.TB, of plan.Plan) *record.Data {
	t.Helper()
	o := record.Options{Text: "text", Condition: "label", Labels: of.Task.Labels, OneLine: true, Private: filepath.Join(filepath.Dir(p.data), "private")}
	o.Together = len(o.Labels) > 0 && !of.WritesFromRecords() && (of.Choose != nil || of.Learns())
	if column, ok := strings.CutPrefix(string(of.Unit), "user:"); ok {
		o.Unit = column
	}
	d, err := record.Open(context.Background(), p.data, o)
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// memoryLedger is a ledger that lasts as long as the test. Its meter counts steps: what
// they cost has its own tests.
func memoryLedger(t testing.TB) *ledger.Ledger {
	t.Helper()
	return ledgertest.New(t, countRuns)
}

// fresh is a place with the same data and key, and nothing else.
func (p *place) fresh(t testing.TB) *place {
	q := *p
	q.dir, q.ledger = t.TempDir(), memoryLedger(t)
	return &q
}

// options for a run in the folder out.
func (p *place) options(t testing.TB, of plan.Plan, m *hashModel) Options {
	t.Helper()
	return Options{
		Env: env.Environment{Model: m.trusted(), Encoder: p.encoder.trusted(), Ledger: p.ledger, Dataset: "tickets", Signer: p.signer, Version: "test"}, Dir: filepath.Join(p.dir, "out"), Plan: of, Data: p.open(t, of),
		Vary: likeThem, Repeats: true,
	}
}

// runner is a run of which everything but the charge is known beforehand: its name, its
// key, and what an event costs.
func (p *place) runner(o Options, d disk) testRun {
	r := newRunner(o, d)
	e := newEngine(r, r.exec)
	p.settle(e)
	return testRun{r, e}
}

// testRun is a job with the engine that carries it out.
type testRun struct {
	*runner
	engine *engine
}

func (r testRun) do(ctx context.Context) (*Result, error) { return r.engine.do(ctx) }

// fingerprintOf is how the ledger knows the data of a run.
func fingerprintOf(o Options) (ledger.Fingerprint, error) {
	sum := o.Data.Fingerprint()
	return ledger.NewFingerprint(sum[:])
}

// settle leaves nothing of a run to chance.
func (p *place) settle(e *engine) {
	e.name, e.exec.evaluator = func() string { return "RUN" }, unitEvaluator{}
	e.now = func() time.Time { return time.Date(2026, 11, 17, 9, 30, 0, 0, time.UTC) }
	e.drawKey = func() (noise.Key, error) { return noise.ImportKey(slices.Clone(p.key)) }
}

// unitEvaluator says ε = 1 of everything.
type unitEvaluator struct{}

func (unitEvaluator) Name() string { return "unit" }

func (unitEvaluator) Epsilon(privacy.Event, privacy.Adjacency, float64) (privacy.Interval, error) {
	return privacy.Interval{Lower: 1, Upper: 1}, nil
}

// runsMeter counts how many mechanisms run.
type runsMeter struct{ n int64 }

func countRuns(*ledger.Budget) (ledger.Meter, error) { return &runsMeter{}, nil }

func (m *runsMeter) Allows(terms []privacy.Term, limit, _ float64) (float64, bool, error) {
	needed := float64(m.n + runs(terms))
	return needed, needed <= limit, nil
}

func (m *runsMeter) Price(terms []privacy.Term, _, _ float64) (ledger.Cost, error) {
	return ledger.Cost{Epsilon: float64(runs(terms))}, nil
}

func (m *runsMeter) Add(terms []privacy.Term) error {
	m.n += runs(terms)
	return nil
}

func (m *runsMeter) Remove(terms []privacy.Term) error {
	m.n -= runs(terms)
	return nil
}

func (m *runsMeter) Epsilon(float64, float64) (float64, error) { return float64(m.n), nil }

func runs(terms []privacy.Term) (n int64) {
	for _, t := range terms {
		n += t.N
	}
	return n
}

// charges of the data set, after the ledger was checked from end to end.
func charges(t testing.TB, o Options) []ledger.Charge {
	t.Helper()
	return chargesOf(t, o.Env.Ledger, o.Data.Fingerprint())
}

func chargesOf(t testing.TB, of account.Ledger, sum [32]byte) []ledger.Charge {
	t.Helper()
	l := of.(*ledger.Ledger)
	_, err := l.Check(context.Background(), ledger.CheckOptions{})
	must(t, err)
	fingerprint, err := ledger.NewFingerprint(sum[:])
	must(t, err)
	d, err := l.Show(context.Background(), string(fingerprint))
	var unknown *ledger.UnknownDatasetError
	if errors.As(err, &unknown) {
		return nil
	}
	must(t, err)
	return d.Charges
}

// released are the files of a folder that must come out the same whatever happened: all
// but the certificate, which is dated, and the journal without what the ledger named.
func outcome(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := tree(t, dir)
	delete(files, certificate.FileName)
	files[journalFile] = ledgerNames.ReplaceAllString(files[journalFile], "$1:-")
	return files
}

var ledgerNames = regexp.MustCompile(`("charge"|"checkpoint"|"link"):"[^"]*"`)

// looksRight checks a folder that is complete: the outcome is the wanted one, one charge
// is in the ledger, and nothing secret is anywhere.
func (p *place) looksRight(t testing.TB, o Options, want map[string]string) {
	t.Helper()
	p.completed(t, o.Dir, charges(t, o), want)
}

// completed is looksRight of any run.
func (p *place) completed(t testing.TB, dir string, charges []ledger.Charge, want map[string]string) {
	t.Helper()
	if len(charges) != 1 || charges[0].State != ledger.Committed {
		t.Errorf("the ledger has charges %+v, want one that is committed", charges)
	}
	got := outcome(t, dir)
	for name, content := range want {
		if got[name] != content {
			t.Errorf("%s is\n%s\nwant\n%s", name, got[name], content)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the folder has %d files, want %d", len(got), len(want))
	}
	p.keepsSecrets(t, dir)
	if there, _ := (&folder{dir: dir}).exists(privateDir); there {
		t.Error("the private part is still there")
	}
}

// keepsSecrets looks for records and the key in all files that others may read.
func (p *place) keepsSecrets(t testing.TB, dir string) {
	t.Helper()
	// The secret of an exported key is somewhere in it; no 16 bytes of it may show.
	for name, content := range tree(t, dir) {
		if strings.Contains(content, marker) {
			t.Errorf("%s holds content of a record", name)
		}
		if strings.HasPrefix(name, privateDir+string(filepath.Separator)) {
			base := strings.TrimSuffix(filepath.Base(name), unfinished)
			if base != keyFile && base != lockFile && base != RowsFile {
				t.Errorf("the private part holds %s", name)
			}
			info, err := os.Stat(filepath.Join(dir, name))
			if err == nil && info.Mode().Perm() != 0o600 {
				t.Errorf("%s has the mode %v", name, info.Mode())
			}
			continue
		}
		for _, form := range keyForms(p.key) {
			if strings.Contains(content, form) {
				t.Errorf("%s holds part of the key", name)
			}
		}
	}
}

// keyForms are ways to write parts of a key.
func keyForms(key []byte) []string {
	var out []string
	for at := 0; at+16 <= len(key); at += 4 {
		part := key[at : at+16]
		out = append(out, string(part), fmt.Sprintf("%x", part))
	}
	return out
}
