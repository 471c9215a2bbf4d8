package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"sotto/eval"
	"sotto/eval/suite"
)

// ticketSuite compares what can be had quickly.
const ticketSuite = `title = "Tickets"
seeds = 2
items = 10
epsilon = [4]

[[dataset]]
name = "tickets"
task = "task.toml"
train = "records.jsonl"
test = "records.jsonl"
size = 400

[[method]]
method = "zero"

[[method]]
method = "public"

[[method]]
method = "clipped"
batch = 16

[[method]]
method = "real"
`

// suiteHome is a home with a suite on the tiny model.
func suiteHome(t *testing.T) {
	t.Helper()
	home(t)
	tinyModel(t, "tiny.gguf")
	if err := errors.Join(
		os.WriteFile("task.toml", []byte(ticketTask), 0o600), os.WriteFile("records.jsonl", []byte(tickets(200)), 0o600),
		os.WriteFile("suite.toml", []byte(ticketSuite), 0o600),
	); err != nil {
		t.Fatal(err)
	}
}

// TestSuiteInterrupted: an interrupt leaves a suite that the same command completes, and
// the rows are those of a suite that was not interrupted.
func TestSuiteInterrupted(t *testing.T) {
	suiteHome(t)
	command := func(out, cache string) []string {
		return []string{"eval", "suite", "suite.toml", "--model", "tiny.gguf", "--out", out, "--cache", cache}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := &stopping{at: "2 of 7", cancel: cancel}
	p := &program{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: errs}
	if code := p.main(ctx, command("a", "cache")); code != exitFailed {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if text := errs.String(); !strings.Contains(text, "of 7 sets are done; the same command goes on") || !strings.Contains(text, "sotto: interrupted") {
		t.Errorf("%s", text)
	}
	code, out, text := run(t, append(command("a", "cache"), "--json")...)
	if code != 0 {
		t.Fatal(text)
	}
	o := object(t, out)
	reused, answered := o["reused_answers"].(float64), o["answered"].(float64)
	if reused < 2 || reused+answered != 7 {
		t.Errorf("%v reused, %v answered", reused, answered)
	}
	if code, _, text := run(t, command("b", "other")...); code != 0 || !strings.Contains(text, "7 of 7") || strings.Contains(text, "from the cache") {
		t.Errorf("exit code %d: %s", code, text)
	}
	a, errA := eval.ReadRows("a/rows.jsonl")
	b, errB := eval.ReadRows("b/rows.jsonl")
	if errA != nil || errB != nil || len(a) != len(b) || len(a) == 0 {
		t.Fatalf("%d and %d rows, %v, %v", len(a), len(b), errA, errB)
	}
	for i := range a {
		if a[i].Key != b[i].Key || a[i].Value != b[i].Value {
			t.Errorf("row %d is %s %v after an interrupt, and %s %v without", i, a[i].Key, a[i].Value, b[i].Key, b[i].Value)
		}
	}
}

// TestSuiteProgress: programs get a JSON object a line, people a line a set or a bar that
// fits a terminal and tells how long it takes.
func TestSuiteProgress(t *testing.T) {
	cells := []suite.Cell{
		{Dataset: suite.Dataset{Name: "agnews"}, Method: "zero", Name: "zero"},
		{Dataset: suite.Dataset{Name: "agnews"}, Method: "real", Name: "a method with a name that does not end where others do", Shots: 4, Seed: 1},
		{Dataset: suite.Dataset{Name: "agnews"}, Method: "real", Name: "a method with a name that does not end where others do", Shots: 4, Seed: 2},
	}
	now := time.Unix(0, 0)
	play := func(s *suiteProgress) {
		s.now = func() time.Time { now = now.Add(time.Second); return now }
		s.tell(suite.Event{Kind: suite.Begun, Cells: 3})
		for i, c := range cells {
			s.tell(suite.Event{Kind: suite.Answered, Cell: c, Done: i, Cells: 3, Cached: i == 0, Tokens: 100})
			s.tell(suite.Event{Kind: suite.Finished, Cell: c, Done: i + 1, Cells: 3, Rows: []eval.Row{{Metric: "accuracy", Value: 0.5, WriteSeconds: 30 * float64(i), AnswerSeconds: 10}}})
		}
		s.tell(suite.Event{Kind: suite.Failed, Cell: cells[0], Done: 3, Cells: 3, Err: errors.New("no luck")})
		s.clear()
	}
	var people, bar, programs bytes.Buffer
	play(newSuiteProgress(&program{stderr: &people}, cells, 1))
	lines := strings.Split(strings.TrimSpace(people.String()), "\n")
	if len(lines) != 4 || lines[0] != "1 of 3  agnews, zero: accuracy 50.0 %, from the cache" || !strings.HasSuffix(lines[1], "seed 1: accuracy 50.0 %") || lines[3] != "agnews, zero failed: no luck" {
		t.Errorf("%q", lines)
	}
	play(newSuiteProgress(&program{stderr: &bar, screen: true}, cells, 1))
	for _, want := range []string{"0 of 3 sets", "1 of 3 sets  20s left  agnews, zero", "2 of 3 sets  40s left  agnews, a method", "agnews, zero failed: no luck\n"} {
		if !strings.Contains(bar.String(), want) {
			t.Errorf("no %q in %q", want, bar.String())
		}
	}
	for line := range strings.FieldsFuncSeq(strings.ReplaceAll(bar.String(), "\x1b[K", ""), func(r rune) bool { return r == '\r' || r == '\n' }) {
		if n := len([]rune(line)); n >= pageWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	play(newSuiteProgress(&program{stderr: &programs, json: true}, cells, 1))
	kinds := map[string]int{}
	for line := range strings.Lines(programs.String()) {
		kinds[object(t, line)["event"].(string)]++
	}
	if kinds["begun"] != 1 || kinds["answered"] != 3 || kinds["finished"] != 3 || kinds["failed"] != 1 {
		t.Errorf("%v", kinds)
	}
}
