package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/sys/expect"
)

// TestExport: a file has the records as the task spells them, the items of the suite's rows
// in their order, and the answers that choosing takes.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	lines := func(name string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "{\"text\": \"question %d of %s\", \"label\": %q}\n", i, name, []string{"NUM", "Person"}[i%2])
		}
		path := filepath.Join(dir, name+".jsonl")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	train, test := lines("train", 402), lines("test", 30)
	toml := filepath.Join(dir, "small.toml")
	if err := os.WriteFile(toml, []byte(`
title = "small"
items = 7
epsilon = [1, 2]
delta = 1e-6
[[dataset]]
name = "trec"
train = "{data}/train.jsonl"
test = "{data}/test.jsonl"
size = 402
[[method]]
method = "choose"
rounds = 3
records = 20
next = 8
last = -1
`), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	if err := export(toml, dir, out, 1); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(out, "trec.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var got file
	if err := json.NewDecoder(unpacked).Decode(&got); err != nil {
		t.Fatal(err)
	}
	task, err := prompt.Find("trec")
	if err != nil {
		t.Fatal(err)
	}
	all, err := eval.ReadItems(test, task)
	if err != nil {
		t.Fatal(err)
	}
	want, err := eval.Subset(all, 7)
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b eval.Item) bool { return a.Input == b.Input && a.Output == b.Output }
	if !slices.EqualFunc(got.Items, want, same) {
		t.Errorf("items are %v instead of %v", got.Items, want)
	}
	records, err := eval.ReadItems(train, task)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got.Records, records, same) || got.Records[0].Output != "Number" {
		t.Errorf("%d records, the first %v", len(got.Records), got.Records[0])
	}
	// 25 sets of the first round and 8 of each later one, on 20 records.
	if math.Abs(got.Answers-(25+2*8)*20) > 1e-9 {
		t.Errorf("%v answers", got.Answers)
	}
	at := expect.At(t, "the task became")
	expect.Equal(at, "got.Name", got.Name, "trec")
	expect.Equal(at, "got.Instruction", got.Instruction, task.Answer.Instruction)
	expect.Equal(at, "got.Input", got.Input, "Question")
	expect.Equal(at, "got.Output", got.Output, "Answer Type")
	expect.Len(at, "got.Labels", got.Labels, 6)
	if err := export(toml, dir, out, 3); err == nil {
		t.Error("an ε that the suite does not have was taken")
	}
}

// TestScript runs the tests of compare.py that need no DSPy.
func TestScript(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	command := exec.Command(python, "-B", "compare_test.py")
	command.Dir = ".."
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
