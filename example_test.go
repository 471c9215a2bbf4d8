package sotto_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/prompt"
)

// Synthetic support tickets from private ones, and a check of their certificate.
func Example() {
	dir, err := os.MkdirTemp("", "sotto")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var records strings.Builder
	for i := range 500 {
		fmt.Fprintf(&records, "{\"text\": \"my bill %d is wrong\", \"queue\": \"billing\"}\n", i)
		fmt.Fprintf(&records, "{\"text\": \"the lamp %d is broken\", \"queue\": \"repairs\"}\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "tickets.jsonl"), []byte(records.String()), 0o600); err != nil {
		log.Fatal(err)
	}
	task := prompt.Task{
		Name: "tickets", Kind: prompt.Classify, Text: "text", Label: "queue", Labels: []string{"billing", "repairs"},
		Generate: prompt.Generation{Instruction: "Write a ticket for a queue."},
		Answer:   prompt.Answering{Instruction: "Name the queue of a ticket."},
	}
	run, err := sotto.Synthesize(context.Background(), sotto.SynthesizeOptions{
		Request: plan.Request{Task: task, Size: 1000, Epsilon: 1, Shots: 2, Tokens: 8},
		Source:  sotto.Source{Location: filepath.Join(dir, "tickets.jsonl"), Private: filepath.Join(dir, "private")},
		Out:     filepath.Join(dir, "demos"),
		Ledger:  filepath.Join(dir, "ledger.db"), NewLedger: true,
		Keys:    filepath.Join(dir, "keys"),
		Version: "example",
		Trusted: toyModel(), // without it, the default model
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(run.Examples), "examples,", run.Plan.Method(), run.Guarantee.Adjacency)
	fmt.Println("ε at most 1:", run.Guarantee.Epsilon.Upper <= 1)

	trust, err := certificate.LoadTrust(filepath.Join(dir, "keys"))
	if err != nil {
		log.Fatal(err)
	}
	report, err := sotto.Verify(run.Dir, trust)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the certificate holds:", report.OK)
	// Output:
	// 2 examples, clipped add-remove
	// ε at most 1: true
	// the certificate holds: true
}

// What each method would do, before any record is read.
func ExamplePlan() {
	task, err := prompt.Builtin("agnews")
	if err != nil {
		log.Fatal(err)
	}
	c, err := sotto.Plan(context.Background(), sotto.PlanOptions{
		Request: plan.Request{Task: task, Size: 120000, Epsilon: 1},
		Model:   toyModel().Public(),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range c.Rows {
		fmt.Printf("%-8s draws %-14s caches save %.0f ×\n", row.Method, row.Plan.Draws(), row.Cost.Uncached.Tokens/row.Cost.Cached.Tokens)
	}
	// Output:
	// choose   draws 9 × 34         caches save 15 ×
	// clipped  draws 16 a text      caches save 73 ×
	// mixing   draws 64 a text      caches save 73 ×
	// gaussian draws 10 × 2 a token caches save 1 ×
	// noisymax draws 10 × 2 a token caches save 1 ×
	// radius   draws 10 × 2 a token caches save 1 ×
	// public   draws nobody         caches save 75 ×
}
