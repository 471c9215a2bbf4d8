package texts

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/cli/root"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/lmtest"
	"github.com/sotto-dp/sotto/prompt"
)

// TestSynthInterrupted: an interrupt leaves a run that the same command completes, with
// one charge, and says so.
func TestSynthInterrupted(t *testing.T) {
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	if err := os.WriteFile("task.toml", []byte(clitest.TicketTask), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("records.jsonl", []byte(clitest.Tickets(200)), 0o600); err != nil {
		t.Fatal(err)
	}
	command := []string{
		"synth", "--method", "clipped", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "4", "--set", "batch=16",
		"--model", "tiny.gguf", "--out", "demos", "--set", "parallel=1",
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := &clitest.Canceller{At: "text 1 is done", Cancel: cancel}
	p := clitest.NewProgram(&bytes.Buffer{}, errs)
	if code := root.Run(ctx, p, command); code != ui.Failed {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if text := errs.String(); !strings.Contains(text, "1 of 3 texts are done; the same command resumes") || !strings.Contains(text, "interrupted") {
		t.Errorf("%s", text)
	}
	code, out, text := clitest.Run(t, append(command, "--json")...)
	if code != 0 {
		t.Fatal(text)
	}
	if o := clitest.Object(t, out); o["resumed"] != true || len(o["texts"].([]any)) != 3 {
		t.Errorf("%s", out)
	}
	_, out, _ = clitest.Run(t, "ledger", "show", "records", "--json")
	if n := strings.Count(out, `"state": "committed"`); n != 1 || strings.Contains(out, `"reserved":`) && strings.Contains(out, `"state": "reserved"`) {
		t.Errorf("%d charges: %s", n, out)
	}
	if code, _, text := clitest.Run(t, "verify", "demos"); code != 0 {
		t.Error(text)
	}
}

// TestSynthProgress: programs get a JSON object a line, people a line a text or a bar
// that fits a terminal.
func TestSynthProgress(t *testing.T) {
	now := time.Unix(0, 0)
	play := func(s *ui.RunProgress) {
		s.Now = func() time.Time { return now }
		s.Reading(5_000_000, 10_000_000)
		s.Report(sotto.Progress{Kind: sotto.Notice, Message: "there was no ledger"})
		for text := 1; text <= 3; text++ {
			for token := 1; token <= 100; token++ {
				now = now.Add(50 * time.Millisecond)
				s.Report(sotto.Progress{Kind: sotto.Wrote, Text: text, Tokens: token, MaxTokens: 100, Done: text - 1, Texts: 3, Usage: lm.Usage{Computed: 17}})
			}
			s.Report(sotto.Progress{Kind: sotto.Released, Text: text, Done: text, Texts: 3})
		}
		s.Clear()
	}
	var people, bar, programs bytes.Buffer
	play(&ui.RunProgress{Progress: &ui.Progress{W: &people}})
	if people.String() != "there was no ledger\ntext 1 is done, 1 of 3\ntext 2 is done, 2 of 3\ntext 3 is done, 3 of 3\n" {
		t.Errorf("%q", people.String())
	}
	play(&ui.RunProgress{Progress: &ui.Progress{W: &bar, Bar: true}})
	for _, want := range []string{"reading the data  5.0 MB of 10.0 MB", "text 2 of 3  52 of 100 tokens  20.1/s  ≤ 7s left", "there was no ledger\n"} {
		if !strings.Contains(bar.String(), want) {
			t.Errorf("no %q in %q", want, bar.String())
		}
	}
	for line := range strings.FieldsFuncSeq(strings.ReplaceAll(bar.String(), "\x1b[K", ""), func(r rune) bool { return r == '\r' || r == '\n' }) {
		if n := len([]rune(line)); n >= ui.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	play(&ui.RunProgress{Progress: &ui.Progress{W: &programs, JSON: true}})
	kinds := map[string]int{}
	for line := range strings.Lines(programs.String()) {
		kinds[clitest.Object(t, line)["event"].(string)]++
	}
	expect.Equal(t, "kinds['notice']", kinds["notice"], 1)
	expect.Equal(t, "kinds['text']", kinds["text"], 3)
	expect.Within(t, "kinds['token']", kinds["token"], 70, 80)
}

// TestTextsDoNotControlTerminals: what a model writes is shown, not obeyed.
func TestTextsDoNotControlTerminals(t *testing.T) {
	var b bytes.Buffer
	r := &synthResult{Texts: []prompt.Example{{Input: "a\x1b[2Jb\u009b31mc\x07", Output: "x\x1b]0;y"}}, ReleaseResult: cli.ReleaseResult{Private: true}}
	r.Print(&ui.Page{W: &b})
	if strings.ContainsAny(b.String(), "\x1b\u009b\x07") {
		t.Errorf("%q", b.String())
	}
}

// TestPlainSharedEndingFlag: what most records end with is found for a part of ε, told, and ends
// every text.
func TestPlainSharedEndingFlag(t *testing.T) {
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	clitest.Write(t, "task.toml", []byte(clitest.TicketTask))
	var lines strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&lines, `{"text": "ticket %d. Stay sunny", "queue": %q}`+"\n", i, []string{"billing", "repairs"}[i%2])
	}
	clitest.Write(t, "records.jsonl", []byte(lines.String()))
	args := []string{"synth", "--task", "task.toml", "--data", "records.jsonl", "--size", "2000", "--epsilon", "4", "--delta", "1e-6", "--model", "tiny.gguf", "--set", "tokens=3", "--shots", "2", "--json"}
	for _, name := range []string{"written", "chosen"} {
		more := map[string][]string{
			"written": {"--method", "clipped", "--set", "batch=4", "--set", "shared-ending"},
			"chosen":  {"--set", "generation-share=0", "--set", "pool=2", "--set", "rounds=1", "--set", "records=4", "--set", "shared-ending=0.5", "--seed", "1"},
		}[name]
		code, out, errs := clitest.Run(t, append(append(args, more...), "--out", name)...)
		if code != 0 {
			t.Fatal(errs)
		}
		o := clitest.Object(t, out)
		at := expect.At(t, "%s", name)
		expect.Equal[any](at, "o['ending']", o["ending"], "Stay sunny")
		expect.Equal[any](at, "o['ending_epsilon']", o["ending_epsilon"], map[string]float64{"written": 0.2, "chosen": 0.5}[name])
		expect.Contains(at, "errs", errs, `most records end with`)
		for _, text := range o["texts"].([]any) { // some of the tiny model's are empty, and stay so
			if said := text.(map[string]any)["input"].(string); said != "" && !strings.HasSuffix(said, "Stay sunny") {
				t.Errorf("%s: a text is %q", name, said)
			}
		}
	}
	clitest.Done(t, "verify", "written")
	if code, _, errs := clitest.Run(t, append(args, "--set", "shared-ending=x", "--out", "no")...); code != ui.Wrong || !strings.Contains(errs, "shared-ending") {
		t.Errorf("%d: %s", code, errs)
	}
}
