package serve

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/demo"
)

// readers are commands that read records, all of which hold the planted word, and some that fail
// over it.
func readers(t *testing.T) (all [][]string, private []string) {
	t.Helper()
	clitest.Asking(t)
	rows, err := clitest.Loans(600)
	if err != nil {
		t.Fatal(err)
	}
	// A column that no schema names, and a table with a value that is in no domain.
	var noted, others, foreign strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(string(rows)), "\n") {
		note := clitest.Planted
		if i == 0 {
			note = "note"
		}
		if i == 0 || i > 300 { // people who are in no other table
			fmt.Fprintf(&others, "%s,%s\n", line, note)
		}
		if i > 300 {
			continue
		}
		fmt.Fprintf(&noted, "%s,%s\n", line, note)
		if i == 7 {
			line = strings.Repeat(clitest.Planted+",", strings.Count(line, ",")) + clitest.Planted
		}
		fmt.Fprintln(&foreign, line)
	}
	var labelled strings.Builder
	for i := range 300 {
		fmt.Fprintf(&labelled, "{\"text\": \"%s says %d\", \"label\": %q, \"who\": \"%s%d\"}\n", clitest.Planted, i, []string{"up", "down"}[i%2], clitest.Planted, i%50)
	}
	files := map[string]string{
		"notes.csv": noted.String(), "others.csv": others.String(), "foreign.csv": foreign.String(), "labelled.jsonl": labelled.String(),
		"broken.jsonl":  labelled.String() + "{\"text\": \"" + clitest.Planted + "\n",
		"missing.jsonl": labelled.String() + "{\"words\": \"" + clitest.Planted + "\"}\n",
		"wrong.jsonl":   labelled.String() + "{\"text\": \"x\", \"label\": \"" + clitest.Planted + "\"}\n",
	}
	for name, text := range files {
		clitest.Write(t, name, []byte(text))
		private = append(private, name)
	}
	private = append(private, "chats.jsonl")
	clitest.Write(t, "loans.toml", demo.LoansFile())
	clitest.Write(t, "task.toml", []byte("kind = \"classify\"\ntext = \"text\"\nlabel = \"label\"\nlabels = [\"up\", \"down\"]\n[generate]\ninstruction = \"Write.\"\n[answer]\ninstruction = \"Up or down?\"\n[limits]\nmax_tokens = 6\nshots = 2\n"))
	clitest.Write(t, "questions.txt", []byte("One?\nTwo?\n"))
	clitest.Write(t, "set.jsonl", []byte("{\"text\": \"made up\", \"label\": \"up\"}\n"))
	of := func(data string) []string {
		return []string{"--task", "task.toml", "--data", data, "--size", "300", "--epsilon", "4", "--model", "tiny.gguf"}
	}
	chat := []string{"--task", "chat.toml", "--data", "chats.jsonl", "--size", "300", "--epsilon", "2", "--set", "batch=16", "--model", "tiny.gguf"}
	table := func(data string) []string {
		return []string{"--schema", "loans.toml", "--data", data, "--epsilon", "1"}
	}
	all = [][]string{
		append([]string{"ledger", "init", "labelled", "--delta", "1e-6"}, []string{"--task", "task.toml", "--data", "labelled.jsonl", "--epsilon", "1000"}...),
		append([]string{"synth", "--method", "clipped", "--set", "batch=8"}, of("labelled.jsonl")...),
		append([]string{"synth", "--method", "clipped", "--set", "batch=8", "--unit", "who", "--set", "name=units"}, of("labelled.jsonl")...),
		append([]string{"synth", "--set", "generation-share=0", "--set", "pool=2", "--set", "rounds=1", "--set", "records=8"}, of("labelled.jsonl")...),
		append([]string{"synth", "--from", "set.jsonl", "--set", "records=8"}, of("labelled.jsonl")...),
		append([]string{"answer", "--inputs", "questions.txt"}, of("labelled.jsonl")...),
		append([]string{"answer", "--method", "clipped", "--inputs", "questions.txt"}, chat...),
		append([]string{"eval", "private", "--demos", "set.jsonl", "--records", "20"}, of("labelled.jsonl")...),
		append([]string{"table", "profile", "--size", "300"}, table("notes.csv")...),
		append([]string{"table", "profile", "--size", "300"}, table("foreign.csv")...),
		append([]string{"table", "perturb"}, table("foreign.csv")...),
		append([]string{"table", "perturb"}, table("others.csv")...),
	}
	for _, data := range []string{"broken.jsonl", "missing.jsonl", "wrong.jsonl"} {
		all = append(all, append([]string{"synth", "--method", "clipped", "--set", "batch=8"}, of(data)...), append([]string{"answer", "--inputs", "questions.txt", "--set", "on-error=skip"}, of(data)...))
	}
	return all, private
}

// unseen fails if the planted word is in a text, or in a file of a folder except those that are
// private.
func unseen(t *testing.T, where, text string) {
	t.Helper()
	if strings.Contains(text, clitest.Planted) {
		t.Errorf("%s holds a word of the records", where)
	}
}

func unseenIn(t *testing.T, dir string, private []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || slices.Contains(private, filepath.Base(path)) {
			return err
		}
		data, err := os.ReadFile(path)
		unseen(t, path[len(dir):], string(data))
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestCanary: after every verb that reads records, with --verbose, and with records that it fails
// over, no word of theirs is in what it prints or in any file; nor, while a release and private answers are
// served, in the service's log, requests, metrics, store or pages. Nor does anything that they release, by its
// content or by when a file was changed, tell more of times than the day.
func TestCanary(t *testing.T) {
	commands, private := readers(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	well := 0
	for i, args := range commands {
		var more []string
		switch {
		case args[0] == "answer":
			more = []string{"--out", fmt.Sprintf("answers-%d.jsonl", i)}
		case args[0] != "ledger":
			more = []string{"--out", fmt.Sprintf("out-%d", i)}
		}
		for _, how := range [][]string{{"--verbose"}, {"--verbose", "--json"}} {
			code, out, errs := clitest.Run(t, slices.Concat(args, more, how)...)
			unseen(t, fmt.Sprintf("what %v prints", args), out+errs)
			if args[0] != "ledger" { // which is its owner's
				timeless(t, fmt.Sprintf("the result of %v", args), out)
			}
			if code == 0 {
				well++
			}
		}
	}
	if well < 12 {
		t.Errorf("%d commands ended well: the test shows little", well)
	}
	clitest.Done(t, "serve", "route", "set", "plain", "--upstream", "embedded", "--model", "tiny.gguf", "--release", "out-1", "--task", "task.toml")
	clitest.Done(t, "serve", "route", "answer", "ask", "--task", "task.toml", "--data", "labelled.jsonl", "--size", "300", "--epsilon", "1", "--latency-quantum", "10ms", "--model", "tiny.gguf")
	key := clitest.Object(t, clitest.Printed(t, "serve", "key", "add", "team", "--route", "*", "--json"))["secret"].(string)
	service := clitest.Serving(t, "--model", "tiny.gguf", "--requests", "requests.log")
	for _, model := range []string{"plain", "ask"} {
		status, header, got := clitest.Exchange(t, http.MethodPost, service.Clients+"/v1/chat/completions", key, fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"One?"}]}`, model))
		if status != 200 {
			t.Errorf("%s: %d %s", model, status, got)
		}
		unseen(t, "an answer of "+model, fmt.Sprint(header, got))
	}
	v, _ := signedIn(t, service.Admin, "operator-one", "operator")
	status, page := v.get("/certificates/plain")
	if status != 200 || !strings.Contains(page, "checked on") {
		t.Errorf("the page of a release: %d", status)
	}
	// When somebody looked at it is no time of the run.
	timeless(t, "the page of a release", regexp.MustCompile(`checked on .*`).ReplaceAllString(page, ""))
	for _, path := range []string{"/", "/routes", "/data-sets", "/data-sets/labelled", "/certificates", "/certificates/plain", "/audit", "/data-protection", "/metrics"} {
		status, page := v.get(path)
		if status != 200 {
			t.Errorf("%s: %d", path, status)
		}
		unseen(t, path, page)
	}
	service.Stop()
	unseen(t, "the service's log", service.Stdout.String()+service.Stderr.String())
	unseenIn(t, here, private)
	releases, answers := timelessIn(t, here)
	more, others := timelessIn(t, os.Getenv("HOME"))
	if releases+more < 6 || answers+others < 6 {
		t.Errorf("%d releases and %d files of answers were looked at: the test shows little", releases+more, answers+others)
	}
	unseenIn(t, os.Getenv("HOME"), nil)
	unseenIn(t, os.Getenv("TMPDIR"), nil)
}
