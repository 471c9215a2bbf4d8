package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/cli/root"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/sys/reference"
	"github.com/sotto-dp/sotto/internal/ui"
)

// rewrite writes the real output of commands into the documents.
var rewrite = reference.Rewrite

// rerunPage runs the commands of a page that are shown after a $, and compares what they print.
func rerunPage(t *testing.T, name, path, want string, long bool) {
	examples, err := os.ReadFile("testdata/demos.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	run := inProcess
	if long {
		run = asProgram(filepath.Join(clitest.Built(t), "sotto"))
	}
	twins, err := filepath.Abs("../../internal/private/testdata/twins")
	if err != nil {
		t.Fatal(err)
	}
	clitest.Home(t)
	reviews(t, twins)
	helpline(t, examples)
	bank(t)
	if strings.HasSuffix(name, "answer.md") {
		clitest.Write(t, "messages.jsonl", lines(t, demo.Helpline().Tickets(20000)))
	}
	got := rerun(t, want, run)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	compare(t, want, got)
}

// helpline writes the files that docs/eval.md speaks of: demonstrations that "sotto
// synth" wrote for the helpline, and its messages.
func helpline(t *testing.T, examples []byte) {
	t.Helper()
	if err := os.Mkdir("demos", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"task.toml": demo.Helpline().TaskFile(), "demos/demos.jsonl": examples,
		"held-out.jsonl": lines(t, demo.Helpline().HeldOut(25)), "messages.jsonl": lines(t, demo.Helpline().Tickets(100)),
	} {
		clitest.Write(t, name, data)
	}
}

// reviews writes the files that docs/data.md speaks of: made-up records in many formats.
func reviews(t *testing.T, twins string) {
	t.Helper()
	if err := os.CopyFS("reviews", os.DirFS(twins)); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "reviews.toml", []byte(`title = "Reviews of things for a house"
label = "label"

[[column]]
name = "label"
kind = "categorical"
values = ["negative", "positive"]

[[column]]
name = "score"
kind = "numeric"
low = 0
high = 100

[[column]]
name = "day"
kind = "numeric"
format = "YYYY-MM-DD"
low = 2024-01-01
high = 2024-12-31
edges = [2024-02-01]
`))
	clitest.Write(t, "desk.toml", []byte(`title = "Answers of a desk"
kind = "generate"
input = "input"
output = "output"

[generate]
instruction = "Answer the question of a visitor."
`))
	clitest.Write(t, "desk.jsonl", []byte(`{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"When do you open?"},{"role":"assistant","content":"At nine."}]}
{"messages":[{"role":"user","content":"Where are you?"},{"role":"assistant","content":"By the old mill."}]}
`))
}

// bank writes the files that docs/table.md speaks of.
func bank(t *testing.T) {
	t.Helper()
	clitest.Write(t, "loans.toml", demo.LoansFile())
	for name, rows := range map[string][]demo.Loan{"loans.csv": demo.Loans(20000), "test.csv": demo.HeldOutLoans(40)} {
		var b bytes.Buffer
		if err := demo.WriteLoans(&b, rows); err != nil {
			t.Fatal(err)
		}
		clitest.Write(t, name, b.Bytes())
	}
}

// lines are tickets as a file has them.
func lines(t *testing.T, tickets []demo.Ticket) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := demo.WriteJSONL(&b, tickets); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rerun replaces what follows each command of a document by its real output.
func rerun(t *testing.T, document string, run runner) string {
	t.Helper()
	var b strings.Builder
	commands, inBlock, code := false, false, 0
	for line := range strings.Lines(document) {
		switch command, ok := strings.CutPrefix(line, "$ "); {
		case strings.HasPrefix(line, "```"):
			inBlock, commands = !inBlock, false
			b.WriteString(line)
		case inBlock && ok:
			if commands && !strings.HasSuffix(b.String(), "\n\n") {
				b.WriteString("\n")
			}
			commands = true
			b.WriteString(line)
			var output string
			output, code = execute(t, strings.TrimSpace(command), code, run)
			b.WriteString(output)
		case !commands:
			b.WriteString(line)
		}
	}
	return b.String()
}

// execute runs one command of a document, and returns all it prints and its exit
// code.
func execute(t *testing.T, command string, last int, run runner) (string, int) {
	t.Helper()
	if command == "echo $?" {
		return strconv.Itoa(last) + "\n", 0
	}
	words := clitest.Split(command)
	if words[0] != "sotto" {
		t.Fatalf("%q is no command of sotto", command)
	}
	both, code := run(t, words[1:])
	if _, file, ok := strings.Cut(command, " > "); ok {
		if err := os.WriteFile(file, both, 0o600); err != nil {
			t.Fatal(err)
		}
		return "", code
	}
	return strings.ReplaceAll(string(both), os.Getenv("HOME"), "/home/you"), code
}

// runner runs the program with arguments, and returns all it prints and its exit code.
type runner func(t *testing.T, args []string) ([]byte, int)

func inProcess(t *testing.T, args []string) ([]byte, int) {
	var both bytes.Buffer
	p := &cli.Program{Root: clitest.TestRoot, Terminal: ui.Terminal{Stdout: &both, Stderr: &both}}
	code := root.Run(t.Context(), p, args)
	return both.Bytes(), code
}

// asProgram runs a program that was built, for commands that ask a model much.
func asProgram(path string) runner {
	return func(t *testing.T, args []string) ([]byte, int) {
		both, err := exec.Command(path, args...).CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if exit != nil {
			return both, exit.ExitCode()
		}
		return both, 0
	}
}

// varying is what differs from run to run: identifiers, times, speeds, and what depends
// on the accountants' tolerance.
var varying = regexp.MustCompile(`[0-9a-f]{24,}|hmac-sha256:[0-9a-f]{12}…|[A-Z2-7]{26}|20[0-9]{2}-[0-9T:.Z-]+|\(width [^)]*\)|asked [0-9]+ times|time +[0-9.]+ \S+, [0-9.]+ items/s|[0-9.]+ (?:s|min|h)\b`)

// decimals are numbers that an accountant computed: long fractions too.
var decimals = regexp.MustCompile(`[0-9]+\.[0-9]+(e-?[0-9]+)?|[0-9]{6,}/[0-9]{6,}`)

var whole = regexp.MustCompile(`^[0-9]+$`)

// compare lets decimals differ by 0.2 %, as intervals of another tolerance do.
func compare(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(varying.ReplaceAllString(want, "*"), "\n"), strings.Split(varying.ReplaceAllString(got, "*"), "\n")
	for i := range min(len(w), len(g)) {
		if !alike(w[i], g[i]) {
			t.Errorf("line %d:\n  shown  %s\n  really %s", i+1, w[i], g[i])
			return
		}
	}
	if len(w) != len(g) {
		t.Errorf("%d lines are shown, %d are printed", len(w), len(g))
	}
}

func alike(want, got string) bool {
	if want == got {
		return true
	}
	// A fraction may be so near a whole number that it is shown as one.
	a, b := strings.Fields(want), strings.Fields(got)
	for i := range min(len(a), len(b)) {
		switch {
		case whole.MatchString(a[i]) && decimals.FindString(b[i]) == b[i]:
			a[i] += ".0"
		case whole.MatchString(b[i]) && decimals.FindString(a[i]) == a[i]:
			b[i] += ".0"
		}
	}
	want, got = strings.Join(a, " "), strings.Join(b, " ")
	// Columns are as wide as their numbers.
	mask := func(s string) string {
		return strings.Join(strings.Fields(decimals.ReplaceAllString(s, "#")), " ")
	}
	w, g := decimals.FindAllString(want, -1), decimals.FindAllString(got, -1)
	if mask(want) != mask(got) || len(w) != len(g) {
		return false
	}
	for i := range w {
		var a, b cli.Number
		if a.Set(w[i]) != nil || b.Set(g[i]) != nil || math.Abs(a.Value-b.Value) > 2e-3*a.Value {
			return false
		}
	}
	return true
}
