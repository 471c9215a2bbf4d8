package answer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
	"github.com/sotto-dp/sotto/prompt"
)

// marker is in every field of every record.
const marker = "zebra4711"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// chats is a task whose answers are written.
func chats() prompt.Task {
	return prompt.Task{
		Name: "chats", Kind: prompt.Generate, Text: "summary", Label: "chat",
		Generate: prompt.Generation{Instruction: "Sum up the chat."},
		Limits:   prompt.Limits{AnswerTokens: 6, RecordTokens: 30, InputTokens: 40},
	}.WithDefaults()
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

// planFor lays out a plan by hand: its ε is of no interest to most tests.
func planFor(m decode.Method) plan.Answers {
	return plan.Answers{
		Task: chats(), Epsilon: 100, Delta: 1e-3, Answers: 1, Adjacency: privacy.AddRemove, Unit: privacy.Record,
		Size: 40, Tokens: 6, Rules: decode.Rules{MinTokens: 1}, Write: decode.Settings{Method: m},
	}
}

// place is where tests keep what sessions need.
type place struct {
	data   string
	ledger *ledger.Ledger
	opened *record.Data
}

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{data: filepath.Join(t.TempDir(), "data.jsonl"), ledger: ledgertest.New(t, countRuns)}
	var lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&lines, "{\"chat\": \"%s asks %d\", \"summary\": \"%s says %d\"}\n", marker, i, marker, i)
	}
	must(t, os.WriteFile(p.data, []byte(lines.String()), 0o600))
	return p
}

// fresh is a place with the same data and a ledger of its own.
func (p *place) fresh(t testing.TB) *place {
	q := *p
	q.ledger = ledgertest.New(t, countRuns)
	return &q
}

func (p *place) open(t testing.TB) *record.Data {
	t.Helper()
	if p.opened != nil {
		return p.opened
	}
	d, err := record.Open(context.Background(), p.data, record.Options{
		Text: "summary", Condition: "chat", OneLine: true, Private: filepath.Join(filepath.Dir(p.data), "private"),
	})
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	p.opened = d
	return d
}

// options of a session whose data set is entered with a budget of as many runs.
func (p *place) options(t testing.TB, of plan.Answers, m *toy) Options {
	t.Helper()
	return Options{Env: env.Environment{Model: m.trusted(), Ledger: p.ledger, Dataset: "chats"}, Plan: of, Data: p.open(t)}
}

// budget enters the data set.
func (p *place) budget(t testing.TB, b ledger.Budget) {
	t.Helper()
	_, err := p.ledger.Init(t.Context(), ledger.InitRequest{Dataset: fingerprint(t, p.open(t)), Name: "chats", Budget: b})
	must(t, err)
}

func fingerprint(t testing.TB, d *record.Data) ledger.Fingerprint {
	t.Helper()
	sum := d.Fingerprint()
	f, err := ledger.NewFingerprint(sum[:])
	must(t, err)
	return f
}

func (p *place) session(t testing.TB, o Options) *Session {
	t.Helper()
	s, err := Open(t.Context(), o)
	must(t, err)
	return s
}

// charges of the data set, after the ledger was checked from end to end.
func (p *place) charges(t testing.TB) []ledger.Charge {
	t.Helper()
	_, err := p.ledger.Check(context.Background(), ledger.CheckOptions{})
	must(t, err)
	d, err := p.ledger.Show(context.Background(), "chats")
	var unknown *ledger.UnknownDatasetError
	if errors.As(err, &unknown) {
		return nil
	}
	must(t, err)
	for _, c := range d.Charges {
		if strings.Contains(fmt.Sprintf("%+v", c), marker) {
			t.Error("a charge holds content of a record")
		}
	}
	return d.Charges
}

// uses is how many questions were paid for.
func (p *place) uses(t testing.TB) int {
	t.Helper()
	n := 0
	for _, c := range p.charges(t) {
		if c.Series {
			n += int(c.Drawn)
		} else {
			n++
		}
	}
	return n
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
