package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/cli/root"
	"github.com/sotto-dp/sotto/cmd/internal/serve/request"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// TestJSONIsAllThereIs: with --json, each verb puts exactly one JSON object on
// standard output, whether it succeeds, fails, or is asked for help, and its help names the
// keys.
func TestJSONIsAllThereIs(t *testing.T) {
	clitest.Home(t)
	if code, _, errs := clitest.Run(t, "keys", "generate", "--keys", "ring"); code != 0 {
		t.Fatal(errs)
	}
	if err := os.MkdirAll("release/demos", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("release/demos/a.jsonl", []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := clitest.Certify("release", "ring", "gaussian(3)"); err != nil {
		t.Fatal(err)
	}
	lmtest.TinyModel(t, "tiny.gguf")
	if err := errors.Join(
		os.WriteFile("task.toml", []byte(clitest.TicketTask), 0o600), os.WriteFile("records.jsonl", []byte(clitest.Tickets(200)), 0o600),
		os.WriteFile("people.csv", []byte("age,sex\n"), 0o600),
		// Examples that a model made up may be empty, which choose refuses.
		os.WriteFile("password.txt", []byte("four words in a row\n"), 0o600), os.WriteFile("set.jsonl", []byte(clitest.Tickets(2)), 0o600),
		os.WriteFile("chat.toml", []byte(clitest.ChatTask), 0o600), os.WriteFile("chats.jsonl", []byte(clitest.Chats(300)), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	rows, err := clitest.Loans(300)
	if err := errors.Join(err, os.WriteFile("loans.csv", rows, 0o600), os.WriteFile("loans.toml", demo.LoansFile(), 0o600)); err != nil {
		t.Fatal(err)
	}
	// Some rows of loans.csv, and others: for its owner to decide.
	more, err := clitest.Loans(1000)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(more), "\n")
	clitest.Write(t, "mixed.csv", []byte(lines[0]+strings.Join(lines[201:801], "")))
	charge := ""
	seen := map[string]bool{}
	described := listen(t)
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"account", "gaussian(3)", "--delta", "1e-6"}, 0},
		{[]string{"account", "gaussian(3)", "--delta", "1e-6", "--size", "10", "--epsilon", "1", "--plot", "a.svg"}, 0},
		{[]string{"demo", "--model", "tiny.gguf", "--out", "d", "--messages", "1000", "--sets", "2", "--items", "5"}, 0},
		{[]string{"account", "gaussian(3)"}, 2},
		{[]string{"init", "--data", "loans.csv", "--kind", "table", "--size", "300", "--out", "begun"}, 0},
		{[]string{"init", "--data", "loans.csv", "--kind", "table", "--size", "300", "--out", "begun"}, 2},
		{[]string{"init", "--data", "records.jsonl"}, 2},
		{[]string{"audit", "--mechanism", "gaussian", "--runs", "200", "--seed", "1"}, 0},
		{[]string{"audit", "--command", "cat {data}", "--with", "tiny.gguf", "--without", "a.svg", "--claim", "pure(0.1)", "--runs", "400"}, 4},
		{[]string{"audit", "one-run", "--method", "nobody"}, 2},
		{[]string{"calibrate", "gaussian(x)", "--delta", "1e-6", "--epsilon", "1"}, 0},
		{[]string{"calibrate", "compose(pure(2), gaussian(x))", "--delta", "1e-6", "--epsilon", "1"}, 1},
		{[]string{"ledger", "list"}, 2},
		{[]string{"ledger", "init", "d", "--epsilon", "1", "--delta", "1e-6"}, 0},
		{[]string{"ledger", "budget", "d", "team", "--epsilon", "1", "--delta", "1e-6"}, 0},
		{[]string{"ledger", "grant", "d", "--epsilon", "1", "--reason", "r"}, 0},
		{[]string{"ledger", "revoke", "d", "--epsilon", "0.5", "--reason", "r"}, 0},
		{[]string{"ledger", "reserve", "d", "pure(0.5)", "--run", "r", "--proof", "proven"}, 0},
		{[]string{"ledger", "commit", "CHARGE"}, 0},
		{[]string{"ledger", "reserve", "d", "pure(5)", "--run", "r", "--proof", "proven"}, 3},
		{[]string{"ledger", "reserve", "d", "pure(0.25)", "--run", "r", "--proof", "proven"}, 0},
		{[]string{"ledger", "forfeit", "CHARGE", "--reason", "r"}, 0},
		{[]string{"ledger", "commit", "CHARGE"}, 1},
		{[]string{"ledger", "list"}, 0},
		{[]string{"ledger", "show", "d"}, 0},
		{[]string{"ledger", "check"}, 0},
		{[]string{"ledger", "checkpoint"}, 0},
		{[]string{"keys", "list"}, 2},
		{[]string{"keys", "generate"}, 0},
		{[]string{"keys", "rotate"}, 0},
		{[]string{"keys", "list"}, 0},
		{[]string{"keys", "export"}, 0},
		{[]string{"keys", "revoke", "ACTIVE", "--reason", "r"}, 0},
		{[]string{"verify", "release", "--key", "ring"}, 0},
		{[]string{"verify", "."}, 4},
		{[]string{"verify", "absent"}, 2},
		{[]string{"model", "pull"}, 0},
		{[]string{"model", "pull", "nonsense"}, 2},
		{[]string{"model", "list"}, 0},
		{[]string{"model", "recommend"}, 0},
		{[]string{"model", "recommend", "--threads", "-1"}, 2},
		{[]string{"model", "show", "tiny.gguf"}, 0},
		{[]string{"model", "show", "absent.gguf"}, 2},
		{[]string{"model", "score", "--prompt", "One, two,", "--top", "3", "--model", "tiny.gguf"}, 0},
		{[]string{"model", "score"}, 2},
		{[]string{"model", "bench", "--repeat", "1", "--model", "tiny.gguf"}, 0},
		{[]string{"model", "bench", "--repeat", "0"}, 2},
		{[]string{"chat", "Hello", "--max-tokens", "4", "--temperature", "0", "--model", "tiny.gguf"}, 0},
		{[]string{"chat", "Hello", "--max-tokens", "0"}, 2},
		{[]string{"task", "list"}, 0},
		{[]string{"task", "show", "agnews"}, 0},
		{[]string{"task", "check", "agnews"}, 0},
		{[]string{"task", "check", "release/demos/a.jsonl"}, 2},
		{[]string{"task", "check", "absent.toml"}, 2},
		{[]string{"table", "schema"}, 0},
		{[]string{"table", "schema", "adult"}, 0},
		{[]string{"table", "schema", "task.toml"}, 2},
		{[]string{"table", "schema", "check", "adult"}, 0},
		{[]string{"table", "schema", "check", "task.toml"}, 2},
		{[]string{"table", "schema", "infer", "--data", "people.csv"}, 0},
		{[]string{"table", "schema", "infer"}, 2},
		{[]string{"plan", "--settings"}, 0},
		{[]string{"plan", "--task", "task.toml", "--size", "400", "--epsilon", "4", "--method", "noisymax", "--method", "public", "--model", "tiny.gguf"}, 0},
		{[]string{"plan", "--task", "task.toml", "--model", "tiny.gguf"}, 2},
		{[]string{"synth", "--no-choose", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "4", "--set", "batch=16", "--model", "tiny.gguf", "--keys", "ring", "--out", "demos"}, 0},
		{[]string{"synth", "--no-choose", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "4", "--set", "batch=16", "--model", "tiny.gguf", "--keys", "ring", "--out", "more"}, 3},
		{[]string{"synth", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--out", "demos"}, 2},
		{[]string{"learn", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "1", "--measurement-share", "0.2", "--seed", "1", "--out", "learned"}, 0},
		{[]string{"learn", "predict", "learned", "--data", "records.jsonl"}, 0},
		{[]string{"learn", "predict", "nothere", "--data", "records.jsonl"}, 2},
		{[]string{"rehearse", "--task", "task.toml", "--stand-in", "records.jsonl", "--no-choose", "--size", "400", "--epsilon", "4", "--set", "batch=16", "--items", "5", "--model", "tiny.gguf"}, 0},
		{[]string{"rehearse", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "4"}, 2},
		{[]string{"choose", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "1", "--from", "set.jsonl", "--model", "tiny.gguf", "--keys", "ring", "--out", "chosen"}, 3},
		{[]string{"ledger", "grant", "records", "--epsilon", "1", "--delta", "1e-4", "--reason", "r"}, 0},
		{[]string{"choose", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "1", "--set", "records=20", "--from", "set.jsonl", "--model", "tiny.gguf", "--keys", "ring", "--out", "chosen"}, 0},
		{[]string{"choose", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "1", "--out", "chosen"}, 2},
		{[]string{"answer", "--task", "chat.toml", "--data", "chats.jsonl", "--size", "300", "--epsilon", "2", "--set", "batch=16", "--model", "tiny.gguf", "--input", "Six?"}, 0},
		{[]string{"answer", "--task", "chat.toml", "--data", "chats.jsonl", "--size", "300", "--epsilon", "2", "--set", "batch=16", "--model", "tiny.gguf", "--input", "Six?"}, 3},
		{[]string{"answer", "--task", "chat.toml", "--input", "Six?"}, 2},
		{[]string{"plan", "--task", "chat.toml", "--size", "300", "--epsilon", "2", "--answers", "1", "--method", "public", "--model", "tiny.gguf"}, 0},
		{[]string{"eval", "--task", "task.toml", "--demos", "zero", "--demos", "demos", "--test", "records.jsonl", "--limit", "8", "--model", "tiny.gguf"}, 0},
		{[]string{"eval", "--task", "task.toml"}, 2},
		{[]string{"eval", "private", "--task", "chat.toml", "--data", "chats.jsonl", "--size", "300", "--epsilon", "0.1", "--metric", "token_probability", "--records", "20", "--model", "tiny.gguf", "--keys", "ring", "--out", "measured"}, 3},
		{[]string{"ledger", "grant", "chats", "--epsilon", "1", "--reason", "r"}, 0},
		{[]string{"eval", "private", "--task", "chat.toml", "--data", "chats.jsonl", "--size", "300", "--epsilon", "0.1", "--metric", "token_probability", "--records", "20", "--model", "tiny.gguf", "--keys", "ring", "--out", "measured"}, 0},
		{[]string{"eval", "private", "--task", "task.toml", "--size", "400", "--epsilon", "0.1", "--dry-run"}, 0},
		{[]string{"eval", "private", "--task", "task.toml"}, 2},
		{[]string{"table", "plan", "--schema", "loans.toml", "--size", "300", "--epsilon", "4"}, 0},
		{[]string{"table", "plan", "--schema", "loans.toml", "--epsilon", "4"}, 2},
		{[]string{"table", "profile", "--schema", "loans.toml", "--data", "loans.csv", "--size", "300", "--epsilon", "4", "--adjacency", "replace-one", "--keys", "ring", "--out", "profiles"}, 0},
		{[]string{"table", "profile", "--schema", "loans.toml", "--data", "loans.csv", "--size", "300", "--epsilon", "4", "--adjacency", "replace-one", "--keys", "ring", "--out", "profiles2"}, 3},
		{[]string{"ledger", "grant", "loans", "--epsilon", "8", "--reason", "r"}, 0},
		{[]string{"table", "perturb", "--schema", "loans.toml", "--data", "loans.csv", "--epsilon", "8", "--keys", "ring", "--out", "perturbed"}, 0},
		{[]string{"table", "perturb", "--schema", "loans.toml", "--data", "loans.csv", "--out", "perturbed"}, 2},
		{[]string{"ledger", "link", "loans", "--data", "mixed.csv", "--schema", "loans.toml"}, 2},
		{[]string{"ledger", "link", "loans", "--data", "mixed.csv", "--schema", "loans.toml", "--reason", "r"}, 0},
		{[]string{"ledger", "key", "show"}, 0},
		{[]string{"ledger", "key", "export", "fingerprint.key"}, 0},
		{[]string{"ledger", "key", "export", "fingerprint.key"}, 2},
		{[]string{"ledger", "key", "import", "fingerprint.key", "--private", "other"}, 0},
		{[]string{"table", "reconstruct", "--schema", "loans.toml", "--data", "perturbed", "--sample", "2", "--out", "estimate"}, 0},
		{[]string{"table", "reconstruct", "--schema", "loans.toml"}, 2},
		{[]string{"table", "sample", "--estimate", "estimate"}, 0},
		{[]string{"table", "sample", "--estimate", "absent"}, 2},
		{[]string{"table", "profile", "--schema", "loans.toml", "--data", "loans.csv", "--size", "300", "--noise", "none", "--non-private", "--histograms", "--out", "plain"}, 0},
		{[]string{"table", "predict", "--profile", "plain", "--data", "loans.csv"}, 0},
		{[]string{"table", "predict", "--profile", "absent", "--data", "loans.csv"}, 2},
		{[]string{"table", "items", "--schema", "loans.toml", "--data", "loans.csv", "--out", "items.jsonl"}, 0},
		{[]string{"table", "items", "--schema", "loans.toml"}, 2},
		{[]string{"version"}, 0},
		{[]string{"man", "ledger", "grant"}, 0},
		{[]string{"man", "ledger", "grand"}, 2},
		{[]string{"man", "--out", "man1"}, 0},
		{[]string{"man", "--out", "release/demos/a.jsonl/man1"}, 1},
		{[]string{"serve", "route", "list"}, 2},
		{[]string{"serve", "route", "set", "plain", "--upstream", "nowhere"}, 2},
		{[]string{"serve", "route", "set", "plain"}, 2},
		{[]string{"serve", "route", "set", "plain", "--upstream", "embedded"}, 0},
		{[]string{"serve", "route", "set", "plain", "--upstream", "embedded", "--release", "release", "--task", "task.toml"}, 2},
		{[]string{"serve", "route", "set", "plain", "--upstream", "embedded", "--model", "other"}, 0},
		{[]string{"ledger", "grant", "chats", "--epsilon", "8", "--delta", "1e-4", "--reason", "r"}, 0},
		{[]string{"serve", "route", "answer", "ask", "--task", "chat.toml", "--data", "chats.jsonl", "--size", "300", "--epsilon", "2", "--set", "batch=16", "--model", "tiny.gguf"}, 0},
		{[]string{"serve", "route", "answer", "ask", "--task", "chat.toml"}, 2},
		{[]string{"serve", "route", "use", "plain"}, 0},
		{[]string{"serve", "route", "use", "plain", "--version", "7"}, 2},
		{[]string{"serve", "route", "list"}, 0},
		{[]string{"serve", "route", "list", "plain"}, 0},
		{[]string{"serve", "route", "remove", "plain"}, 0},
		{[]string{"serve", "key", "add", "team"}, 2},
		{[]string{"serve", "key", "add", "team", "--route", "*", "--expires", "1h"}, 0},
		{[]string{"serve", "key", "rotate", "APIKEY"}, 0},
		{[]string{"serve", "key", "list"}, 0},
		{[]string{"serve", "key", "revoke", "APIKEY"}, 0},
		{[]string{"serve", "key", "revoke", "APIKEY"}, 2},
		{[]string{"job", "add"}, 2},
		{[]string{"job", "add", "ledger", "list"}, 2},
		{[]string{"job", "add", "synth", "--task", "task.toml", "--seed", "3"}, 2},
		{[]string{"job", "add", "synth", "--task", "task.toml", "--out", "there"}, 2},
		{[]string{"job", "add", "--at", "2100-01-01T00:00:00Z", "synth", "--no-choose", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "1"}, 0},
		{[]string{"job", "add", "--cron", "@weekly", "--name", "weekly", "eval", "--task", "task.toml", "--demos", "zero", "--test", "records.jsonl"}, 0},
		{[]string{"job", "carry-out"}, 2},
		{[]string{"job", "list"}, 0},
		{[]string{"job", "list", "--limit", "0"}, 2},
		{[]string{"job", "show", "JOB"}, 0},
		{[]string{"job", "show", "none"}, 2},
		{[]string{"job", "cancel", "JOB"}, 0},
		{[]string{"job", "cancel", "JOB"}, 2},
		{[]string{"job", "retry", "JOB"}, 0},
		{[]string{"job", "unschedule", "weekly"}, 0},
		{[]string{"job", "unschedule", "weekly"}, 2},
		{[]string{"worker", "--parallel", "0"}, 2},
		{[]string{"serve", "account", "add", "owner-one", "--role", "owner", "--owns", "records"}, 2},
		{[]string{"serve", "account", "add", "owner-one", "--role", "owner", "--owns", "records", "--password-file", "password.txt"}, 0},
		{[]string{"serve", "account", "add", "owner-one", "--password-file", "password.txt"}, 2},
		{[]string{"serve", "account", "add", "owner-two", "--password-file", "task.toml", "--owns", "absent"}, 2},
		{[]string{"serve", "account", "add", "owner-two", "--password-file", "password.txt"}, 0},
		{[]string{"serve", "account", "role", "owner-two", "king"}, 2},
		{[]string{"serve", "account", "role", "owner-two", "owner"}, 0},
		{[]string{"serve", "account", "own", "owner-two", "records", "--approvals", "3"}, 2},
		{[]string{"serve", "account", "own", "owner-two", "records", "--approvals", "2"}, 0},
		{[]string{"serve", "account", "password", "owner-two", "--password-file", "password.txt"}, 0},
		{[]string{"serve", "account", "disable", "owner-two"}, 0},
		{[]string{"serve", "account", "disable", "nobody"}, 2},
		{[]string{"serve", "account", "list"}, 0},
		{[]string{"serve", "--listen", "0.0.0.0:0"}, 2},
		{[]string{"mcp"}, 0},
		{[]string{"mcp", "--service", "ftp://x"}, 2},
		{[]string{"serve", "--store", "absent.db"}, 2},
		{[]string{"completion", "bash"}, 0},
		{[]string{"nonsense"}, 2},
		{[]string{"ledger"}, 2},
		{[]string{}, 0},
	} {
		args := append([]string{}, c.args...)
		for i, a := range args {
			switch a {
			case "CHARGE":
				args[i] = charge
			case "ACTIVE":
				_, out, _ := clitest.Run(t, "keys", "list", "--json")
				args[i] = clitest.Object(t, out)["active"].(string)
			case "JOB":
				_, out, _ := clitest.Run(t, "job", "list", "--json")
				args[i] = clitest.Object(t, out)["jobs"].([]any)[0].(map[string]any)["id"].(string)
			case "APIKEY":
				_, out, _ := clitest.Run(t, "serve", "key", "list", "--json")
				args[i] = clitest.Object(t, out)["keys"].([]any)[0].(map[string]any)["id"].(string)
			}
		}
		cmd, _, err := clitest.TestRoot(&cli.Program{}).Find(args)
		if err == nil && c.want == 0 {
			seen[cmd.CommandPath()] = true
		}
		code, out, errs := clitest.Run(t, append(args, "--json")...)
		if code != c.want {
			t.Errorf("%q: exit code %d, want %d: %s", args, code, c.want, errs)
		}
		o := clitest.Object(t, out)
		described.add(cmd.CommandPath(), code, out)
		for key := range o {
			if code == 0 && strings.Contains(cmd.Long, "Keys of --json:") && !regexp.MustCompile(`\b`+key+`\b`).MatchString(cmd.Long) {
				t.Errorf("%q: the help does not name the key %s", args, key)
			}
		}
		if id, ok := o["id"].(string); ok && len(args) > 1 && args[1] == "reserve" {
			charge = id
		}
		if _, failed := o["error"]; failed != (code != 0 && o["ok"] == nil) {
			t.Errorf("%q: exit code %d and %s", args, code, out)
		}
		if code != 0 && errs == "" {
			t.Errorf("%q: nothing for people about exit code %d", args, code)
		}
	}
	// Serving ends when it is asked to.
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var served, said bytes.Buffer
	code := root.Run(ctx, clitest.NewProgram(&served, &said), []string{"serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--json"})
	if o := clitest.Object(t, served.String()); code != 0 || o["address"] == "" {
		t.Errorf("serve: exit code %d, %s, %s", code, served.String(), said.String())
	}
	described.add("sotto serve", code, served.String())
	seen["sotto serve"] = true
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	served.Reset()
	if code := root.Run(ctx, clitest.NewProgram(&served, &said), []string{"worker", "--json"}); code != 0 || clitest.Object(t, served.String())["jobs_dir"] == "" {
		t.Errorf("worker: exit code %d, %s, %s", code, served.String(), said.String())
	}
	described.add("sotto worker", 0, served.String())
	seen["sotto worker"] = true
	// A worker's process reads its job.
	work := workOf(t, "eval", "--task", "task.toml", "--demos", "zero", "--test", "records.jsonl", "--limit", "2", "--model", "tiny.gguf")
	if code, out := clitest.CarryOut(t, work, "place"); code != 0 || clitest.Object(t, out)["task"] == nil {
		t.Errorf("job carry-out: exit code %d, %s", code, out)
	}
	seen["sotto job carry-out"] = true
	// An audit of one run starts the program itself.
	served.Reset()
	p := clitest.NewProgram(&served, &said)
	p.Self = filepath.Join(clitest.Built(t), "sotto")
	if code := root.Run(t.Context(), p, []string{"audit", "one-run", "--method", "local", "--canaries", "50", "--json"}); code != 0 || clitest.Object(t, served.String())["ok"] != true {
		t.Errorf("audit one-run: exit code %d, %s, %s", code, served.String(), said.String())
	}
	seen["sotto audit one-run"] = true
	described.add("sotto audit one-run", 0, served.String())
	described.check(t)
	for path := range clitest.Verbs(clitest.TestRoot(&cli.Program{})) {
		if !seen[path] {
			t.Errorf("%s is not run here", path)
		}
		args := strings.Fields(path)[1:]
		for _, more := range [][]string{{"--help"}, {"--no-such-flag"}, {"a", "b", "c", "d"}} {
			code, out, _ := clitest.Run(t, append(append(args, more...), "--json")...)
			if clitest.Object(t, out); (code == 0) != (more[0] == "--help") {
				t.Errorf("%s %s: exit code %d", path, more, code)
			}
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

func checkExamples(t *testing.T, path, examples string) {
	t.Helper()
	for line := range strings.Lines(examples) {
		words := clitest.Split(line)
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
		p := &cli.Program{Root: clitest.TestRoot, Terminal: ui.Terminal{Stdout: clitest.Refusing{}, Stderr: &errs}}
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
		if code := root.Run(ctx, p, args); code != ui.Failed || !strings.HasSuffix(errs.String(), "sotto: interrupted\n") || out.Len() > 0 {
			t.Errorf("%q: exit code %d, %q, %q", args, code, out.String(), errs.String())
		}
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
		{[]string{"keys", "generate", "--keys", "file"}, ui.Failed},
		{[]string{"keys", "list", "--keys", "absent"}, ui.Wrong},
		{[]string{"verify", ".", "--key", "file"}, ui.Wrong},
		{[]string{"ledger", "list", "--ledger", "file"}, ui.Failed},
		{[]string{"ledger", "list", "--ledger", "."}, ui.Failed},
	} {
		if code, _, errs := clitest.Run(t, c.args...); code != c.want || !strings.HasPrefix(errs, "sotto: ") {
			t.Errorf("%q: exit code %d, want %d: %s", c.args, code, c.want, errs)
		}
	}
}

// workOf is a command line as the store has it, without a plan.
func workOf(t *testing.T, args ...string) json.RawMessage {
	t.Helper()
	c, err := request.Parse((&cli.Program{Root: clitest.TestRoot}).FindVerb, args)
	if err != nil {
		t.Fatal(err)
	}
	data, err := c.Work().Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
