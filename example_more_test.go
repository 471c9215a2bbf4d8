package sotto_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// Synthetic tickets, of which the first use has set the budget: the same again is refused, before any
// record is drawn.
func ExampleClient_Synthesize() {
	dir := writeTickets()
	defer os.RemoveAll(dir)
	client, err := sotto.Open(dir, &sotto.Options{Trusted: toyModel()})
	check(err)
	defer client.Close()
	options := sotto.SynthesizeOptions{
		Request: sotto.Request{Task: tickets, Size: 1000, Epsilon: 1, Shots: 2, Tokens: 8},
		Source:  sotto.Source{Location: filepath.Join(dir, "tickets.jsonl")},
		Out:     filepath.Join(dir, "demos"),
	}
	run, err := client.Synthesize(context.Background(), options)
	check(err)
	for _, e := range run.Examples {
		fmt.Println("an example for", e.Output)
	}
	options.Out = filepath.Join(dir, "more")
	_, err = client.Synthesize(context.Background(), options)
	var refused *ledger.RefusedError
	fmt.Println("refused by the budget:", errors.As(err, &refused))
	// Unordered output:
	// an example for billing
	// an example for repairs
	// refused by the budget: true
}

// Two questions, paid for together: each gets the queue that private records vote for.
func ExampleClient_Answers() {
	dir := writeTickets()
	defer os.RemoveAll(dir)
	client, err := sotto.Open(dir, &sotto.Options{Trusted: toyModel()})
	check(err)
	defer client.Close()
	session, err := client.Answers(context.Background(), sotto.AnswerOptions{
		Request: sotto.Request{Task: tickets, Size: 1000, Epsilon: 2, Answers: 2},
		Source:  sotto.Source{Location: filepath.Join(dir, "tickets.jsonl")},
	})
	check(err)
	defer session.Close()
	check(session.All(context.Background(), []string{"The bill came twice.", "No light."}, func(i int, a *sotto.Answer) error {
		fmt.Println(i, "a queue:", a.Text == "billing" || a.Text == "repairs", "ε at most 2:", a.Spent <= 2)
		return nil
	}))
	_, err = session.Answer(context.Background(), "And this?", nil)
	fmt.Println("a third is refused:", errors.Is(err, ledger.ErrBudget))
	// Output:
	// 0 a queue: true ε at most 2: true
	// 1 a queue: true ε at most 2: true
	// a third is refused: true
}

// Every row of a private table, exchanged for one that may be seen.
func ExampleClient_Perturb() {
	dir, err := os.MkdirTemp("", "sotto")
	check(err)
	defer os.RemoveAll(dir)
	var rows bytes.Buffer
	check(demo.WriteLoans(&rows, demo.Loans(500)))
	check(os.WriteFile(filepath.Join(dir, "loans.csv"), rows.Bytes(), 0o600))
	client, err := sotto.Open(dir, nil)
	check(err)
	run, err := client.Perturb(context.Background(), sotto.PerturbOptions{
		Request:      sotto.PerturbRequest{Schema: loans(), Epsilon: 4},
		TableOptions: sotto.TableOptions{Source: sotto.TableSource{Location: filepath.Join(dir, "loans.csv")}, Out: filepath.Join(dir, "perturbed")},
	})
	check(err)
	fmt.Println(run.Sidecar.Rows, "rows at ε at most 4:", run.Guarantee.Epsilon.Upper <= 4, run.Sidecar.Adjacency)
	// Output:
	// 500 rows at ε at most 4: true replace-one
}

// A release that somebody else made, checked with their public key alone; and the same after a change.
func ExampleVerify() {
	dir := writeTickets()
	defer os.RemoveAll(dir)
	signer, err := sotto.Open(dir, &sotto.Options{Trusted: toyModel()})
	check(err)
	run, err := signer.Synthesize(context.Background(), sotto.SynthesizeOptions{
		Request: sotto.Request{Task: tickets, Size: 1000, Epsilon: 1, Shots: 2, Tokens: 8},
		Source:  sotto.Source{Location: filepath.Join(dir, "tickets.jsonl")},
		Out:     filepath.Join(dir, "demos"),
	})
	check(err)

	trust, err := certificate.LoadTrust(signer.Keys()) // a folder of keys, a trust file, or a PEM file
	check(err)
	report, err := sotto.Verify(run.Dir, trust)
	check(err)
	fmt.Println("holds:", report.OK, "ε at most 1:", report.Predicate.Epsilon.Upper <= 1)
	check(os.WriteFile(filepath.Join(run.Dir, "demos.jsonl"), []byte("{}\n"), 0o600))
	report, err = sotto.Verify(run.Dir, trust)
	check(err)
	fmt.Println("after a change it holds:", report.OK)
	for _, failure := range report.Failures() {
		fmt.Println("failed:", failure.Name)
	}
	// Output:
	// holds: true ε at most 1: true
	// after a change it holds: false
	// failed: files
}
