package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/plan"
	"sotto/privacy/certificate"
	"sotto/privacy/ledger"
	"sotto/private/record"
	"sotto/prompt"
)

// marker is in every field of every record that is content.
const marker = "zebra4711"

// tickets is a task with a closed list of labels.
func tickets() prompt.Task {
	return prompt.Task{
		Name: "tickets", Kind: prompt.Classify, Text: "text", Label: "label", Labels: []string{"red", "blue"},
		Generate: prompt.Generation{Instruction: "Write a ticket."},
		Answer:   prompt.Answering{Instruction: "Sort the tickets."},
		Limits:   prompt.Limits{MaxTokens: 5, Shots: 3, RecordTokens: 20},
	}.WithDefaults()
}

// phrases is a task with open labels.
func phrases() prompt.Task {
	t := tickets()
	t.Name, t.Kind, t.Labels, t.Conditions = "phrases", prompt.Extract, nil, []string{"one", "two"}
	return t
}

// place is where tests keep what runs need.
type place struct {
	dir    string
	data   string
	ledger string
	signer *certificate.Signer
	trust  *certificate.Trust
}

// newPlace writes data of n records a label, and makes a ledger and a signer.
func newPlace(t testing.TB, n int) *place {
	t.Helper()
	p := &place{dir: t.TempDir()}
	p.data, p.ledger = filepath.Join(p.dir, "data.jsonl"), filepath.Join(p.dir, "ledger.db")
	var lines strings.Builder
	for i := range n {
		for _, label := range []string{"red", "blue"} {
			fmt.Fprintf(&lines, "{\"text\": %q, \"label\": %q, \"who\": \"%s-%d\"}\n", fmt.Sprintf("%s %s %d", marker, label, i), label, marker, i%3)
		}
	}
	must(t, os.WriteFile(p.data, []byte(lines.String()), 0o600))
	l, err := ledger.Open(t.Context(), p.ledger, ledger.Options{Create: true})
	must(t, err)
	must(t, l.Close())
	ring, err := certificate.CreateRing(filepath.Join(p.dir, "ring"))
	must(t, err)
	p.signer, err = ring.Signer()
	must(t, err)
	p.trust = ring.Trust()
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens the data as a plan wants it.
func (p *place) open(t testing.TB, of plan.Plan) *record.Data {
	t.Helper()
	o := record.Options{Text: "text", Condition: "label", Labels: of.Task.Labels, OneLine: true, Private: filepath.Join(p.dir, "private")}
	if column, ok := strings.CutPrefix(string(of.Unit), "user:"); ok {
		o.Unit = column
	}
	d, err := record.Open(t.Context(), p.data, o)
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func (p *place) book(t testing.TB) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(context.Background(), p.ledger, ledger.Options{})
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// clippedPlan is the default method on the tickets.
func clippedPlan(t testing.TB) plan.Plan {
	t.Helper()
	p, err := plan.New(plan.Request{Task: tickets(), Epsilon: 4, Delta: 1e-3, Size: 40, Batch: 4})
	must(t, err)
	return p
}

func (p *place) options(t testing.TB, of plan.Plan, m *hashModel) Options {
	t.Helper()
	return Options{
		Dir: filepath.Join(p.dir, "out"), Plan: of, Data: p.open(t, of), Model: m.trusted(), Ledger: p.book(t), Dataset: "tickets",
		Signer: p.signer, Version: "test",
	}
}
