package main

import (
	"encoding/csv"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/demo"
)

// TestPredictionsAreMarked: what is predicted from records as they are, or from a profile that
// has no privacy guarantee, says so itself, line by line, and can be read all the same.
func TestPredictionsAreMarked(t *testing.T) {
	clitest.Asking(t)
	clitest.Done(t, "eval", "--task", "chat.toml", "--model", "tiny.gguf", "--demos", "zero", "--demos", "real", "--shots", "1", "--data", "chats.jsonl", "--test", "chats.jsonl", "--limit", "2", "--predictions", "p.jsonl")
	data, err := os.ReadFile("p.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[any]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		o := clitest.Object(t, line)
		seen[o["demos"]]++
		if (o["not_private"] == true) != (o["demos"] == "real") {
			t.Errorf("a line of %v says not_private: %v", o["demos"], o["not_private"])
		}
	}
	if seen["real"] == 0 || seen["zero"] == 0 {
		t.Errorf("lines of %v", seen)
	}
	marked := func(path string, want bool) {
		t.Helper()
		if got, err := worth.Marked(path); got != want || err != nil {
			t.Errorf("%s: marked %v, want %v; %v", path, got, want, err)
		}
	}
	marked("p.jsonl", true)
	clitest.Done(t, "eval", "--task", "chat.toml", "--model", "tiny.gguf", "--demos", "zero", "--test", "chats.jsonl", "--limit", "2", "--predictions", "q.jsonl")
	marked("q.jsonl", false)

	rows, err := clitest.Loans(300)
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "loans.csv", rows)
	clitest.Write(t, "loans.toml", demo.LoansFile())
	clitest.Done(t, "ledger", "init", "loans", "--data", "loans.csv", "--schema", "loans.toml", "--epsilon", "100", "--delta", "1e-6")
	profile := []string{"table", "profile", "--schema", "loans.toml", "--data", "loans.csv", "--size", "300", "--epsilon", "5", "--histograms"}
	for name, more := range map[string][]string{"private": nil, "seeded": {"--seed", "1"}} {
		clitest.Done(t, slices.Concat(profile, []string{"--out", name}, more)...)
		clitest.Done(t, "predict", name, "--data", "loans.csv", "--out", name+".csv")
		marked(name+".csv", name == "seeded")
		f, err := os.Open(name + ".csv")
		if err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(f).ReadAll()
		_ = f.Close()
		if err != nil || len(lines) != 301 {
			t.Errorf("%s: %d lines, %v", name, len(lines), err)
		}
	}
}
