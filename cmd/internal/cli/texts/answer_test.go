package texts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gofrs/flock"
	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/cli/root"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
)

// TestAnswerInterrupted: an interrupt tells which answers stand, and that nothing else was
// charged but what is said.
func TestAnswerInterrupted(t *testing.T) {
	command := clitest.Asking(t, "--inputs", "questions.txt", "--set", "parallel=1", "--json")
	if err := os.WriteFile("questions.txt", []byte("One?\nTwo?\nThree?\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errs := &clitest.Canceller{At: `"input":"One?"`, Cancel: cancel}, &bytes.Buffer{}
	p := clitest.NewProgram(out, errs)
	if code := root.Run(ctx, p, command); code != ui.Failed {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if text := errs.String(); !strings.Contains(text, "1 of 3 answers are done and charged") || !strings.Contains(text, "interrupted") {
		t.Errorf("%s", text)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	expect.Len(t, "lines", lines, 2)
	expect.True(t, "clitest.Object(t, lines[0])['answer'] other than nil", clitest.Object(t, lines[0])["answer"] != nil)
	expect.Equal[any](t, "clitest.Object(t, lines[1])['error']", clitest.Object(t, lines[1])["error"], "interrupted")
	_, shown, _ := clitest.Run(t, "ledger", "show", "chats", "--json")
	// The three were paid for as one series, of which one answer was drawn.
	if strings.Count(shown, `"drawn": 1`) != 1 || strings.Count(shown, `"state": "reserved"`) != 1 {
		t.Errorf("not one series with one answer drawn: %s", shown)
	}
}

// TestAnswerInterruptedInside: the charge of an answer that was cut off is named.
func TestAnswerInterruptedInside(t *testing.T) {
	command := clitest.Asking(t, "--input", "One?", "--max-tokens", "200")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &clitest.Canceller{At: "", Cancel: cancel} // the first piece that is shown
	errs := &bytes.Buffer{}
	p := clitest.NewProgram(out, errs)
	if code := root.Run(ctx, p, command); code != ui.Failed {
		t.Fatalf("exit code %d: %s %s", code, errs, out)
	}
	_, shown, _ := clitest.Run(t, "ledger", "show", "chats", "--json")
	var d struct {
		Charges []struct{ ID, State string } `json:"rows"`
	}
	err := json.Unmarshal([]byte(shown), &d)
	expect.NoError(t, err)
	expect.Len(t, "d.Charges", d.Charges, 1)
	expect.True(t, "d.Charges[0].State other than committed", d.Charges[0].State != "committed", d.Charges[0].State)
	if text := errs.String(); !strings.Contains(text, "the charge "+d.Charges[0].ID+" stays") || !strings.Contains(text, "interrupted") {
		t.Errorf("%s", text)
	}
}

// TestAnswerStreams: pieces of an answer come out while it is written, and together are
// what is released.
func TestAnswerStreams(t *testing.T) {
	command := clitest.Asking(t, "--input", "One?", "--max-tokens", "60", "--seed", "3")
	var pieces []string
	out := writerFunc(func(b []byte) (int, error) {
		pieces = append(pieces, string(b))
		return len(b), nil
	})
	p := clitest.NewProgram(out, &bytes.Buffer{})
	if code := root.Run(t.Context(), p, command); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	_, text, _ := clitest.Run(t, append(command, "--json")...)
	answer := ui.Visible(clitest.Object(t, text)["answer"].(string))
	if all := strings.Join(pieces, ""); !strings.Contains(all, "\n\n"+answer+"\n\n") {
		t.Errorf("%q is not in %q", answer, all)
	}
	if len(answer) > 10 && len(pieces) < 6 {
		t.Errorf("%d pieces of %q", len(pieces), answer)
	}
}

// TestConcurrentAnswers: answers that are made at once come out in the order of the questions,
// and what is told meanwhile is whole lines.
func TestConcurrentAnswers(t *testing.T) {
	clitest.Asking(t)
	if err := errors.Join(
		os.WriteFile("task.toml", []byte(clitest.TicketTask), 0o600), os.WriteFile("records.jsonl", []byte(clitest.Tickets(200)), 0o600),
		os.WriteFile("questions.txt", []byte("One?\nTwo?\nThree?\nFour?\nFive?\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	code, out, errs := clitest.Run(t, "answer", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "4", "--set", "batch=16",
		"--model", "tiny.gguf", "--inputs", "questions.txt", "--set", "parallel=3", "--json")
	if code != 0 {
		t.Fatal(errs)
	}
	var asked []string
	for line := range strings.Lines(out) {
		asked = append(asked, clitest.Object(t, line)["input"].(string))
	}
	if fmt.Sprint(asked) != "[One? Two? Three? Four? Five?]" {
		t.Errorf("%v", asked)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(errs) {
		kinds[clitest.Object(t, line)["event"].(string)]++
	}
	if kinds["reserved"] != 5 || kinds["committed"] != 5 {
		t.Errorf("%v: %s", kinds, errs)
	}
}

// TestAnswerThatCannotBeKept: what was paid for is seen, whatever becomes of the output.
func TestAnswerThatCannotBeKept(t *testing.T) {
	seeded := clitest.Asking(t, "--input", "One?", "--seed", "3", "--json")
	public := []string{"answer", "--task", "chat.toml", "--method", "public", "--model", "tiny.gguf", "--input", "One?", "--seed", "3"}
	for _, command := range [][]string{seeded, public} {
		_, text, _ := clitest.Run(t, append(command, "--json")...)
		var errs bytes.Buffer
		p := clitest.NewProgram(clitest.FullDisk{}, &errs)
		code := root.Run(t.Context(), p, command)
		answer := ui.Visible(clitest.Object(t, text)["answer"].(string))
		at := expect.At(t, "%q", command)
		expect.Equal(at, "exit code with "+errs.String(), code, ui.Failed)
		expect.Contains(at, "errs", errs.String(), answer+"\n")
		expect.Contains(at, "errs", errs.String(), "is shown above: ")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestTeller: however a text is cut into pieces, it comes out whole, and broken lines are
// no longer than they may be unless a word is.
func TestTeller(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zé]{1,12}`), 1, 40).Draw(t, "words")
		text := strings.Join(words, " ")
		width := rapid.SampledFrom([]int{0, 20, 78}).Draw(t, "width")
		var b bytes.Buffer
		teller := ui.Stream{W: &b, Width: width}
		for at := 0; at < len(text); {
			at += rapid.IntRange(1, 9).Draw(t, "piece")
			teller.Show(text[:min(at, len(text))])
		}
		if err := teller.End(text); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if !strings.HasSuffix(got, "\n") || strings.Join(strings.Fields(got), " ") != text {
			t.Fatalf("%q became %q", text, got)
		}
		if width == 0 && got != text+"\n" {
			t.Fatalf("%q became %q", text, got)
		}
		for line := range strings.Lines(got) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); width > 0 && n > width {
				t.Fatalf("%d columns: %q", n, line)
			}
		}
	})
}

// TestTellerWithoutPrefix: a text that is not what was shown is shown whole.
func TestTellerWithoutPrefix(t *testing.T) {
	var b bytes.Buffer
	teller := ui.Stream{W: &b}
	teller.Show("one two ")
	teller.Show("three four")
	if err := teller.End("three \x1b[2J four"); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != "one two \nthree \uFFFD[2J four\n" {
		t.Errorf("%q", got)
	}
}

// TestAnswerFile: answers are never written over, and a file without any does not stay.
func TestAnswerFile(t *testing.T) {
	t.Chdir(t.TempDir())
	b, err := openAnswerFile("a.jsonl", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("a.jsonl"); err == nil {
		t.Error("an empty file stays")
	}
	b, err = openAnswerFile("a.jsonl", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.keep(answerLine{Answer: "yes <b>"}), b.close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("a.jsonl")
	expect.NoError(t, err)
	expect.Contains(t, "data", string(data), `"answer":"yes <b>"`)
	expect.Equal(t, "number of lines", strings.Count(string(data), "\n"), 1)
	if info, err := os.Stat("a.jsonl"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: others may read what is not private: %v", err, info.Mode())
	}
	if _, err := openAnswerFile("a.jsonl", true); !ui.Is[ui.UsageError](err) {
		t.Error(err)
	}
	if _, err := openAnswerFile("no/such/folder/a.jsonl", true); !ui.Is[ui.UsageError](err) {
		t.Error(err)
	}
}

// TestHelpNamesWhatIsTaken: what can be completed is in the help, by the same name.
func TestHelpNamesWhatIsTaken(t *testing.T) {
	cmd := newAnswerCommand(&cli.Program{})
	for _, name := range []string{"ballot", "noise", "select", "proof", "sampler", "per", "mean", "centre"} {
		taken, _ := settings.Of(cmd).Complete(cmd, nil, name+"=")
		if len(taken) == 0 {
			t.Errorf("%s has nothing to complete", name)
		}
		for _, value := range taken {
			if usage := settings.Flag(cmd, name).Usage; !strings.Contains(usage, strings.TrimPrefix(value, name+"=")) {
				t.Errorf("the help of %s does not say %q: %s", name, value, usage)
			}
		}
	}
}

// TestAnswersGoOn: the same command again finds its answers and charges nothing, other questions are
// refused, and while another process has the list its file is left alone.
func TestAnswersGoOn(t *testing.T) {
	command := clitest.Asking(t, "--inputs", "questions.txt", "--out", "answers.jsonl")
	clitest.Write(t, "questions.txt", []byte("One?\nTwo?\nThree?\n"))
	clitest.Done(t, command...)
	first, err := os.ReadFile("answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	charged := func() string {
		_, out, _ := clitest.Run(t, "ledger", "show", "chats", "--json")
		return fmt.Sprint(clitest.Object(t, out)["rows"])
	}
	before := charged()
	same := func(what string) {
		t.Helper()
		now, err := os.ReadFile("answers.jsonl")
		expect.NoError(t, err)
		expect.Equal(t, "now", string(now), string(first))
		expect.Equal(t, "charged()", charged(), before)
	}
	code, out, errs := clitest.Run(t, append(command, "--json")...)
	expect.Equal(t, "exit code with "+errs, code, 0)
	expect.Equal(t, "out", out, string(first))
	expect.Contains(t, "errs", errs, "nothing was charged")
	same("again")
	clitest.Write(t, "questions.txt", []byte("One?\nTwo?\nFour?\n"))
	if code, _, errs := clitest.Run(t, command...); code != 2 || !strings.Contains(errs, "begun otherwise") {
		t.Errorf("other questions: %d, %s", code, errs)
	}
	same("other questions")
	// A list under way elsewhere, that has no answer yet.
	clitest.Write(t, "questions.txt", []byte("One?\n"))
	lock := flock.New("busy.jsonl.asked")
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatal(err)
	}
	defer lock.Close()
	clitest.Write(t, "busy.jsonl", nil)
	if code, _, errs := clitest.Run(t, append(slices.Clone(command[:len(command)-1]), "busy.jsonl")...); code != 1 || !strings.Contains(errs, "another process") {
		t.Errorf("busy: %d, %s", code, errs)
	}
	if _, err := os.Stat("busy.jsonl"); err != nil {
		t.Errorf("the file of another process: %v", err)
	}
	if err := os.Remove("answers.jsonl.asked"); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := clitest.Run(t, command...); code != 2 || !strings.Contains(errs, "there already") {
		t.Errorf("answers of nobody knows which list: %d, %s", code, errs)
	}
}
