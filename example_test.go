package sotto_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/prompt"
)

// tickets is a task: to name the queue of a support ticket.
var tickets = prompt.Task{
	Name: "tickets", Kind: prompt.Classify, Text: "text", Label: "queue", Labels: []string{"billing", "repairs"},
	Generate: prompt.Generation{Instruction: "Write a ticket for a queue."},
	Answer:   prompt.AnswerLayout{Instruction: "Name the queue of a ticket."},
}

// writeTickets writes private records, and returns their folder.
func writeTickets() (dir string) {
	dir, err := os.MkdirTemp("", "sotto")
	if err != nil {
		log.Fatal(err)
	}
	var records strings.Builder
	for i := range 500 {
		fmt.Fprintf(&records, "{\"text\": \"my bill %d is wrong\", \"queue\": \"billing\"}\n", i)
		fmt.Fprintf(&records, "{\"text\": \"the lamp %d is broken\", \"queue\": \"repairs\"}\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "tickets.jsonl"), []byte(records.String()), 0o600); err != nil {
		log.Fatal(err)
	}
	return dir
}

// check ends an example that fails.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Synthetic support tickets from private ones, and a check of their certificate.
func Example() {
	dir := writeTickets()
	defer os.RemoveAll(dir)
	client, err := sotto.Open(dir, &sotto.Options{Trusted: toyModel()}) // nil: the default model
	check(err)
	defer client.Close()
	run, err := client.Synthesize(context.Background(), sotto.SynthesizeOptions{
		Request: sotto.Request{Task: tickets, Size: 1000, Epsilon: 1, Shots: 2, Tokens: 8},
		Source:  sotto.Source{Location: filepath.Join(dir, "tickets.jsonl")},
		Out:     filepath.Join(dir, "demos"),
	})
	check(err)
	report, err := client.Verify(run.Dir)
	check(err)
	fmt.Println(len(run.Examples), "examples, ε at most 1:", run.Guarantee.Epsilon.Upper <= 1)
	fmt.Println("the certificate holds:", report.OK)
	// Output:
	// 2 examples, ε at most 1: true
	// the certificate holds: true
}

// A prompt that private records choose, among ones that the model made up.
func ExampleClient_Choose() {
	dir := writeTickets()
	defer os.RemoveAll(dir)
	client, err := sotto.Open(dir, &sotto.Options{Trusted: toyModel()})
	if err != nil {
		log.Fatal(err)
	}
	run, err := client.Choose(context.Background(), sotto.SynthesizeOptions{
		Request: sotto.Request{Task: tickets, Size: 1000, Epsilon: 1, Tokens: 8},
		Source:  sotto.Source{Location: filepath.Join(dir, "tickets.jsonl")},
		Out:     filepath.Join(dir, "prompt"),
		Time:    2 * time.Second, // five minutes by default
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("a prompt:", run.Prompt != nil, "ε at most 1:", run.Guarantee.Epsilon.Upper <= 1)
	// Output:
	// a prompt: true ε at most 1: true
}

// What each method would do, before any record is read.
func ExampleClient_Plan() {
	task, err := prompt.Builtin("agnews")
	if err != nil {
		log.Fatal(err)
	}
	client, err := sotto.Open("", &sotto.Options{Trusted: toyModel()})
	if err != nil {
		log.Fatal(err)
	}
	c, err := client.Plan(context.Background(), sotto.PlanOptions{Request: sotto.Request{Task: task, Size: 120000, Epsilon: 1}})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range c.Rows {
		fmt.Printf("%-8s draws %-14s caches save %.0f ×\n", row.Method, row.Plan.Draws(), row.Cost.Uncached.Tokens/row.Cost.Cached.Tokens)
	}
	// Output:
	// choose   draws 4 × 27 + 75    caches save 2 ×
	// clipped  draws 16 a text      caches save 73 ×
	// mixing   draws 64 a text      caches save 73 ×
	// gaussian draws 10 × 2 a token caches save 1 ×
	// noisymax draws 10 × 2 a token caches save 1 ×
	// radius   draws 10 × 2 a token caches save 1 ×
	// public   draws nobody         caches save 75 ×
}
