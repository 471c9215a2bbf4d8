package main

import (
	"bytes"
	"context"
	_ "embed"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/cli/root"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// everyVerb runs command lines of all verbs with --json, in one folder.
type everyVerb struct {
	charge    string // what was reserved last
	succeeded map[string]bool
	printed   *results
}

// TestJSONIsAllThereIs: with --json, each verb puts exactly one JSON object on
// standard output, whether it succeeds, fails, or is asked for help, and its help names the
// keys.
func TestJSONIsAllThereIs(t *testing.T) {
	clitest.Home(t)
	writeInputs(t)
	v := &everyVerb{succeeded: map[string]bool{}, printed: listen(t)}
	for _, line := range commandLines {
		want, args := int(line[0]-'0'), clitest.Split(line)[2:]
		t.Run(line, func(t *testing.T) { v.run(t, args, want) })
	}
	t.Run("serve", v.serve)
	v.printed.check(t)
	for path := range clitest.Verbs(clitest.TestRoot(&cli.Program{})) {
		if !v.succeeded[path] {
			t.Errorf("%s does not succeed in testdata/verbs.commands", path)
		}
		t.Run(path, func(t *testing.T) { asked(t, strings.Fields(path)[1:]) })
	}
}

//go:embed testdata/verbs.commands
var verbs string

// commandLines are the lines of testdata/verbs.commands but for comments.
var commandLines = slices.DeleteFunc(strings.Split(strings.TrimSpace(verbs), "\n"), func(line string) bool { return strings.HasPrefix(line, "#") })

// writeInputs writes the files that the command lines name.
func writeInputs(t *testing.T) {
	t.Helper()
	if code, _, errs := clitest.Run(t, "keys", "new", "--keys", "ring"); code != 0 {
		t.Fatal(errs)
	}
	expect.NoError(t, os.MkdirAll("release/demos", 0o755))
	clitest.Write(t, "release/demos/a.jsonl", []byte("{}\n"))
	expect.NoError(t, clitest.Certify("release", "ring", "gaussian(3)"))
	lmtest.TinyModel(t, "tiny.gguf")
	rows, err := clitest.Loans(300)
	expect.NoError(t, err)
	more, err := clitest.Loans(1000)
	expect.NoError(t, err)
	lines := strings.SplitAfter(string(more), "\n")
	for name, text := range map[string]string{
		"task.toml": clitest.TicketTask, "records.jsonl": clitest.Tickets(200),
		"people.csv": "age,sex\n",
		// Examples that a model made up may be empty, which choose refuses.
		"set.jsonl": clitest.Tickets(2),
		"chat.toml": clitest.ChatTask, "chats.jsonl": clitest.Chats(300),
		"loans.csv": string(rows), "loans.toml": string(demo.LoansFile()),
		// Some rows of loans.csv, and others: for its owner to decide.
		"mixed.csv": lines[0] + strings.Join(lines[201:801], ""),
	} {
		clitest.Write(t, name, []byte(text))
	}
}

// run runs a command line and looks at what it prints.
func (v *everyVerb) run(t *testing.T, args []string, want int) {
	for i, a := range args {
		args[i] = v.named(t, a)
	}
	cmd, _, err := clitest.TestRoot(&cli.Program{}).Find(args)
	if err == nil && want == 0 {
		v.succeeded[cmd.CommandPath()] = true
	}
	code, out, errs := clitest.Run(t, append(args, "--json")...)
	if code != want {
		t.Errorf("exit code %d, want %d: %s", code, want, errs)
	}
	o := clitest.Object(t, out)
	v.printed.add(cmd.CommandPath(), code, out)
	for key := range o {
		if code == 0 && strings.Contains(cmd.Long, "Keys of --json:") && !regexp.MustCompile(`\b`+key+`\b`).MatchString(cmd.Long) {
			t.Errorf("the help does not name the key %s", key)
		}
	}
	if id, ok := o["id"].(string); ok && len(args) > 1 && args[1] == "reserve" {
		v.charge = id
	}
	if _, failed := o["error"]; failed != (code != 0 && o["ok"] == nil) {
		t.Errorf("exit code %d and %s", code, out)
	}
	if code != 0 && errs == "" {
		t.Errorf("nothing for people about exit code %d", code)
	}
}

// named puts an identifier in the place of its name.
func (v *everyVerb) named(t *testing.T, arg string) string {
	first := func(list string, verb ...string) string {
		_, out, _ := clitest.Run(t, append(verb, "--json")...)
		return clitest.Object(t, out)[list].([]any)[0].(map[string]any)["id"].(string)
	}
	switch arg {
	case "CHARGE":
		return v.charge
	case "ACTIVE":
		_, out, _ := clitest.Run(t, "keys", "list", "--json")
		return clitest.Object(t, out)["signer"].(string)
	case "APIKEY":
		return first("keys", "serve", "key", "list")
	}
	return arg
}

// ended runs a verb that serves until it is asked to end, which is soon.
func (v *everyVerb) ended(t *testing.T, key, verb string, args ...string) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var out, errs bytes.Buffer
	code := root.Run(ctx, clitest.NewProgram(&out, &errs), append([]string{verb, "--json"}, args...))
	if code != 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if o := clitest.Object(t, out.String()); o[key] == "" {
		t.Errorf("no %s: %s", key, out.String())
	}
	v.printed.add("sotto "+verb, code, out.String())
	v.succeeded["sotto "+verb] = true
}

func (v *everyVerb) serve(t *testing.T) {
	v.ended(t, "address", "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
}

// asked: a verb that is asked for help succeeds, and one with a flag or arguments that it does not have fails.
func asked(t *testing.T, verb []string) {
	for _, more := range [][]string{{"--help"}, {"--no-such-flag"}, {"a", "b", "c", "d"}} {
		code, out, _ := clitest.Run(t, slices.Concat(verb, more, []string{"--json"})...)
		if clitest.Object(t, out); (code == 0) != (more[0] == "--help") {
			t.Errorf("%s: exit code %d", more, code)
		}
	}
}

// TestHelpIsComplete: every verb says what it does, lists its JSON, and shows
// examples whose flags and arguments exist. Help fits 80 columns but for
// examples.
func TestHelpIsComplete(t *testing.T) {
	root := clitest.TestRoot(&cli.Program{})
	all := clitest.Verbs(root)
	if len(all) < 25 {
		t.Errorf("%d verbs", len(all))
	}
	for path, cmd := range all {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short description %q", path, cmd.Short)
		}
		if name := cmd.Name(); name != "completion" && !strings.Contains(cmd.Long, "Keys of --json:") {
			t.Errorf("%s does not list its JSON keys", path)
		}
		if cmd.Example == "" {
			t.Errorf("%s has no example", path)
		}
		for line := range strings.Lines(cmd.Long) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > ui.Width && !strings.HasPrefix(line, " ") {
				t.Errorf("%s: %d columns: %s", path, n, line)
			}
		}
		checkExamples(t, path, cmd.Example)
	}
	checkExamples(t, "sotto", root.Example)
	for _, c := range root.Commands() {
		if c.HasSubCommands() {
			checkExamples(t, c.CommandPath(), c.Example)
		}
	}
}

// TestFewFlags: a verb or a flag more is a decision. Settings of few people are no flags: --set takes them.
func TestFewFlags(t *testing.T) {
	root := clitest.TestRoot(&cli.Program{})
	all, flags := clitest.Verbs(root), 0
	count := func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			flags++
		}
	}
	root.LocalFlags().VisitAll(count)
	for _, cmd := range all {
		cmd.LocalNonPersistentFlags().VisitAll(count)
	}
	expect.Max(t, "verbs", len(all), 64)
	expect.Max(t, "flags of all of them", flags, 357)
}

func checkExamples(t *testing.T, path, examples string) {
	t.Helper()
	for line := range strings.Lines(examples) {
		command, _, _ := strings.Cut(line, " | ") // what another program does with the output
		words := clitest.Split(command)
		if words[0] == "source" { // of a completion script
			continue
		}
		if words[0] != "sotto" {
			t.Errorf("%s: the example %q does not run sotto", path, line)
			continue
		}
		cmd, rest, err := clitest.TestRoot(&cli.Program{}).Find(words[1:])
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil {
			err = cmd.Args(cmd, cmd.Flags().Args())
		}
		if err != nil {
			t.Errorf("%s: the example %q: %v", path, line, err)
		}
	}
}

func TestResultThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"completion", "bash"}} {
		var errs bytes.Buffer
		p := &cli.Program{Root: clitest.TestRoot, Terminal: ui.Terminal{Stdout: clitest.FullDisk{}, Stderr: &errs}}
		if code := root.Run(t.Context(), p, args); code != ui.Failed || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%q: exit code %d, %s", args, code, errs.String())
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	clitest.Home(t)
	for _, args := range [][]string{
		{"account", "repeat(100000, poisson(0.001, gaussian(1)))", "--delta", "1e-6"},
		{"account", "gaussian(1)", "--delta", "1e-6", "--plot", "a.svg"},
		{"ledger", "init", "d", "--epsilon", "1", "--delta", "1e-6"},
	} {
		var out, errs bytes.Buffer
		p := &cli.Program{Root: clitest.TestRoot, Terminal: ui.Terminal{Stdout: &out, Stderr: &errs}}
		code := root.Run(ctx, p, args)
		at := expect.At(t, "%q", args)
		expect.Equal(at, "exit code with "+errs.String(), code, ui.Failed)
		expect.True(at, "errs ends with sotto: interrupted ", strings.HasSuffix(errs.String(), "sotto: interrupted\n"), errs.String())
		expect.Max(at, "out.Len()", out.Len(), 0)
	}
}

// TestExitCodes: each kind of failure has its code; what is not known is a
// failure, never success.
func TestExitCodes(t *testing.T) {
	clitest.Home(t)
	if code, _, _ := clitest.Run(t, "ledger", "init", "d", "--epsilon", "1", "--delta", "1e-6", "--ledger", "no/such/dir/l.db"); code == 0 {
		t.Error("a ledger in a directory that does not exist")
	}
	if err := os.WriteFile("file", []byte(strings.Repeat("not a ledger ", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"keys", "new", "--keys", "file"}, ui.Failed},
		{[]string{"keys", "list", "--keys", "absent"}, ui.Wrong},
		{[]string{"verify", ".", "--key", "file"}, ui.Wrong},
		{[]string{"ledger", "show", "--ledger", "file"}, ui.Failed},
		{[]string{"ledger", "show", "--ledger", "."}, ui.Failed},
	} {
		if code, _, errs := clitest.Run(t, c.args...); code != c.want || !strings.HasPrefix(errs, "sotto: ") {
			t.Errorf("%q: exit code %d, want %d: %s", c.args, code, c.want, errs)
		}
	}
}
