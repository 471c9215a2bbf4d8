package main

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/sys/expect"
)

func TestChats(t *testing.T) {
	list := chats(200, 1)
	seen := map[string]bool{}
	for i, item := range list {
		at := expect.At(t, "item %d: %+v", i, item)
		expect.True(at, "not strings.ContainsAny(item.Input+item.Output, '{}')", !strings.ContainsAny(item.Input+item.Output, "{}"), item.Input+item.Output)
		expect.Min(at, "number of lines", strings.Count(item.Input, "\n"), 2)
		expect.Min(at, "number of strings.Fields(item.Output)", len(strings.Fields(item.Output)), 5)
		seen[item.Input] = true
	}
	if len(seen) < 190 {
		t.Errorf("%d different chats of 200", len(seen))
	}
	if again := chats(200, 1); again[199].Input != list[199].Input {
		t.Error("a seed gives different chats")
	}
	for _, item := range chats(12, 2) {
		if seen[item.Input] {
			t.Errorf("a question is among the records: %q", item.Input)
		}
	}
	for name := range fillers {
		used := false
		for _, s := range scenes {
			used = used || strings.Contains(s.chat+s.summary, "{"+name+"}")
		}
		if !used {
			t.Errorf("no scene has a %s", name)
		}
	}
	if len(fillerNames) != len(fillers) {
		t.Errorf("%d lists, and %d names of them", len(fillers), len(fillerNames))
	}
}

// TestMeasure runs all of it with a toy.
func TestMeasure(t *testing.T) {
	model, err := lm.Trust(toy{}, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	s := settings{items: 3, timed: 2, seeds: 2, parallel: 2, records: 2000, shots: 2, epsilon: 4, answers: 1, tokens: 4}
	text, err := measure(t.Context(), s, model)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## Made-up chats: 2000 records, answers of up to 4 tokens", "ε = 4 for 1 answer together", "goal 20×",
		"| `mixing`, a draw a token, as published | n̄ = 2,", "| `clipped`, a draw a token, as published | B = ",
		"3 questions, which end where they end, 2 times each",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestFolder opens a data set of a folder: questions with several references are asked
// once, and those that are not there or whose answers are labels are errors.
func TestFolder(t *testing.T) {
	b := &bench{settings: settings{items: 100, data: t.TempDir()}, dir: t.TempDir()}
	for _, name := range []string{"e2e", "agnews"} {
		pack(t, filepath.Join(b.data, name, "train.jsonl.gz"), chats(200, 3))
		pack(t, filepath.Join(b.data, name, "test.jsonl.gz"), append(chats(7, 4), chats(9, 4)...))
	}
	d, err := b.dataset(t.Context(), "e2e")
	if err != nil {
		t.Fatal(err)
	}
	defer d.data.Close()
	if len(d.items) != 9 || d.size != 200 {
		t.Errorf("%d questions of 9, %d records of 200", len(d.items), d.size)
	}
	for _, wrong := range []string{"samsum", "agnews", "nonsense"} {
		if _, err := b.dataset(t.Context(), wrong); err == nil {
			t.Errorf("%s was opened, which is not there or not written", wrong)
		}
	}
}

func pack(t *testing.T, path string, items []eval.Item) {
	t.Helper()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := writeRecords(plain, items); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReport(t *testing.T) {
	side := func(seconds float64, tokens int64) []cost {
		one := cost{seconds: seconds, picking: seconds / 100, tokens: tokens, steps: 10}
		two := one
		two.seconds *= 2
		return []cost{one, two}
	}
	r := &report{settings: settings{items: 3, timed: 2, seeds: 1, epsilon: 4, answers: 100}, machine: harness.Machine{Load: "0.10"}}
	tab := &table{dataset: &dataset{name: made, size: 3000}, plans: make([]plan.Answers, len(sides))}
	tab.costs = [][]cost{side(1, 100), side(20, 2000), side(40, 4400), side(4, 400), side(60, 8000)}
	tab.costs[mixingPublished][1].seconds = 60 // the second question's ratio is another
	tab.scores = [][][]float64{{{50, 30, 50}}, {{30, 10, 30}}, nil, {{20, 20, 20}}, nil}
	r.tables = []*table{tab}
	text, err := r.text()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"**33.3×** (30.0–40.0) | **44.0×** (44.0–44.0)", "goal 20×: met", "15.0× less time than as published (goal 20×: missed), and 8.3× less than `mixing` as published", "| 43.3 (",
		fmt.Sprintf("%s: 33.3× less time than as published (goal 20×: met); ROUGE-L higher by 20.0", sides[0].name),
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in\n%s", w, text)
		}
	}
	if strings.Contains(text, "not idle") {
		t.Error("an idle machine is called busy")
	}
	r.machine.Load = "1.90"
	if text, err = r.text(); err != nil || !strings.Contains(text, "not idle") {
		t.Errorf("a busy machine is not told: %v", err)
	}
}
