package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/cli/root"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
)

// TestFailuresNameNoRecord: which records cannot be used, and how many, is on standard error for
// anyone who has to correct them. The object that programs get, keep and hand on says what kind of
// trouble there is and what to do.
func TestFailuresNameNoRecord(t *testing.T) {
	clitest.Asking(t)
	// Records 137 and 211 have no text, and rows 137 and 211 an income that is no number.
	lines := strings.Split(strings.TrimSpace(clitest.Chats(300)), "\n")
	rows, err := clitest.Loans(300)
	if err != nil {
		t.Fatal(err)
	}
	table := strings.Split(strings.TrimSpace(string(rows)), "\n")
	for _, i := range []int{137, 211} {
		lines[i-1] = `{"question": 7}`
		table[i] = strings.Replace(table[i], ",", ",zebra", 1)
	}
	clitest.Write(t, "broken.jsonl", []byte(strings.Join(lines, "\n")+"\n"))
	clitest.Write(t, "broken.csv", []byte(strings.Join(table, "\n")+"\n"))
	clitest.Write(t, "loans.csv", rows)
	clitest.Write(t, "loans.toml", demo.LoansFile())
	clitest.Write(t, "questions.txt", []byte("One?\n"))
	texts := []string{"--task", "chat.toml", "--data", "broken.jsonl", "--model", "tiny.gguf", "--size", "300", "--epsilon", "2"}
	words := []string{"--schema", "loans.toml", "--data", "broken.csv", "--epsilon", "2"}
	count := regexp.MustCompile(`(?i)\b[0-9]+ (more|malformed|refused|records?|rows?)\b|\b(records?|rows?) [0-9]`)
	for _, args := range [][]string{
		append([]string{"synth", "--method", "clipped", "--set", "batch=16", "--inputs", "questions.txt", "--out", "out"}, texts...),
		append([]string{"answer", "--set", "batch=16", "--input", "One?"}, texts...),
		append([]string{"answer", "--set", "batch=16", "--inputs", "questions.txt"}, texts...),
		append([]string{"eval", "private", "--out", "measured"}, texts...),
		append([]string{"table", "profile", "--size", "300", "--out", "profile"}, words...),
		append([]string{"table", "perturb", "--out", "rows"}, words...),
		{"table", "perturb", "--schema", "loans.toml", "--data", "-", "--epsilon", "2", "--out", "own.csv"},
	} {
		name := fmt.Sprint(args[:2])
		var out, errs bytes.Buffer
		p := clitest.NewProgram(&out, &errs)
		stdin, err := os.Open("broken.csv")
		if err != nil {
			t.Fatal(err)
		}
		p.Stdin = stdin
		code := root.Run(t.Context(), p, append(args, "--json"))
		_ = stdin.Close()
		objects := strings.TrimSpace(out.String())
		if i := strings.LastIndex(objects, "\n{"); i >= 0 {
			objects = objects[i+1:]
		}
		said, _ := clitest.Object(t, objects)["error"].(string)
		expect.Equal(t, "exit code with "+errs.String(), code, ui.Wrong)
		expect.True(t, "said that is not empty", said != "")
		expect.Contains(t, "errs", errs.String(), "137")
		for _, number := range []string{"137", "211"} {
			if strings.Contains(said, number) {
				t.Errorf("%s names a record: %s", name, said)
			}
		}
		if found := count.FindString(said); found != "" {
			t.Errorf("%s counts records (%s): %s", name, found, said)
		}
		if !strings.Contains(said, "orrect") {
			t.Errorf("%s does not say what to do: %s", name, said)
		}
	}
}
