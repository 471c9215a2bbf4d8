package root

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
)

// synthOnTickets is a run that reads records.
var synthOnTickets = []string{"synth", "--method", "clipped", "--task", "task.toml", "--data", "records.jsonl", "--size", "200", "--epsilon", "1", "--shots", "2", "--out", "out"}

// TestWorkingDirectoryDecidesNothing: a sotto.toml in the working directory that says
// where records go, which file is a key, what signs or what is charged is refused by
// name, in each way that TOML has to say it, and no server is asked.
func TestWorkingDirectoryDecidesNothing(t *testing.T) {
	clitest.TicketHome(t)
	url, asked := clitest.CountingServer(t)
	for key, text := range map[string]string{
		"model.url":        fmt.Sprintf("[model]\nurl = %q\ntrusted = true\n", url),
		"model.trusted":    "[model]\ntrusted = true\n",
		"service":          "service = \"service.db\"\n",
		"upstream":         fmt.Sprintf("[upstream.far]\nurl = %q\n", url),
		"model.key_file":   "[model]\nname = \"a\"\nkey_file = \"/etc/passwd\"\n",
		"model.encoder":    "[model]\nencoder = \"other\"\n",
		"model.key_env":    "model = { name = \"a\", key_env = \"HOME\" }\n",
		"model.cache_salt": "model.cache_salt = \"x\"\n",
		"model.tolerance":  "\"model\".'tolerance' = 0.5\n",
		"model.dialect":    "[model]\nDialect = \"vllm\"\n",
		"model.proxy":      "[model]\nproxy = \"http://127.0.0.1:1\"\n",
		"model.exclusive":  "model.exclusive = true\n",
		"ledger":           "ledger = \"other.db\"\n",
		"keys":             "keys = \"ring\"\n",
		"private":          "private = \"here\"\n",
	} {
		t.Run(key, func(t *testing.T) {
			if err := os.WriteFile("sotto.toml", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			code, _, errs := clitest.Run(t, synthOnTickets...)
			expect.Equal(t, "exit code with "+errs, code, ui.Wrong)
			expect.Contains(t, "errs", errs, "sotto.toml: it sets")
			expect.Contains(t, "errs", errs, fmt.Sprintf("%q", key))
			expect.Contains(t, "errs", errs, config.Own())
		})
	}
	if asked.Load() != 0 {
		t.Errorf("the server was asked %d times", asked.Load())
	}
	for _, path := range []string{"out", "other.db", "ring", "here"} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was made", path)
		}
	}
}

// TestWorkingDirectoryChoosesTheModel: what a file there may say counts, and its model
// is one of the embedded engine also where the user's own configuration has a server.
func TestWorkingDirectoryChoosesTheModel(t *testing.T) {
	clitest.TicketHome(t)
	clitest.OwnConfiguration(t, "[model]\nurl = \"http://127.0.0.1:1\"\ntrusted = true\nthreads = 3\n")
	if err := os.WriteFile("sotto.toml", []byte("[model]\nname = \"./tiny.gguf\"\ncontext = 64\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := (&cli.Program{}).ModelSpec(flags.Model{})
	expect.NoError(t, err)
	expect.True(t, "not spec.Remote()", !spec.Remote(), spec)
	expect.True(t, "not spec.Trusted", !spec.Trusted)
	expect.Equal(t, "spec.Model", spec.Model, "tiny.gguf")
	expect.Equal(t, "spec.Context", spec.Context, 64)
	expect.Equal(t, "spec.Threads", spec.Threads, 3)
}

// TestRecordsAreAnnounced: a run that sends records to a server says so before the
// server is asked anything, with the file that trusts it and without what the address
// holds besides a place.
func TestRecordsAreAnnounced(t *testing.T) {
	clitest.TicketHome(t)
	url, asked := clitest.CountingServer(t)
	path := clitest.OwnConfiguration(t, fmt.Sprintf("[model]\nurl = %q\ntrusted = true\n", url+"?code=secret"))
	want := fmt.Sprintf("private records go to %s (trusted by %s)", url, path)
	for _, command := range [][]string{
		synthOnTickets,
		{"answer", "--task", "task.toml", "--data", "records.jsonl", "--size", "200", "--epsilon", "1", "--input", "a"},
		{"demo", "--messages", "1000"},
		{"eval", "--task", "task.toml", "--demos", "real", "--data", "records.jsonl", "--test", "records.jsonl"},
	} {
		for _, json := range []bool{false, true} {
			asked.Store(0)
			errs := &requestCounter{asked: asked, at: "private records go to", before: -1}
			p := clitest.NewProgram(&bytes.Buffer{}, errs)
			args := command
			if json {
				args = append(append([]string{}, command...), "--json")
			}
			if code := Run(t.Context(), p, args); code == ui.Done || asked.Load() == 0 {
				t.Errorf("%v: exit code %d after %d requests: %s", args, code, asked.Load(), errs)
			}
			expect.Contains(t, "errs", errs.String(), want)
			expect.Equal(t, "errs.before", errs.before, 0)
			expect.True(t, "no secret in errs", !strings.Contains(errs.String(), "secret"), errs.String())
		}
	}
}

// requestCounter notes how many requests there had been when something was written.
type requestCounter struct {
	bytes.Buffer
	asked  *atomic.Int64
	at     string
	before int64
}

func (w *requestCounter) Write(b []byte) (int, error) {
	if w.before < 0 && bytes.Contains(b, []byte(w.at)) {
		w.before = w.asked.Load()
	}
	return w.Buffer.Write(b)
}

// TestOwnConfigurationIsTheUsersAlone: what others may write to is not the user's own
// word: neither the file, nor its folder, nor what a link leads to.
func TestOwnConfigurationIsTheUsersAlone(t *testing.T) {
	clitest.Home(t)
	path := clitest.OwnConfiguration(t, "ledger = \"/nowhere/ledger.db\"\n")
	read := func() error {
		_, err := (&cli.Program{}).Configured()
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	linked := filepath.Join(elsewhere, "linked.toml")
	if err := os.WriteFile(linked, []byte("keys = \"a\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	change := func(name string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(about string) {
		t.Helper()
		err := read()
		if ui.ExitCode(err) != ui.Wrong || !strings.Contains(fmt.Sprint(err), "chmod go-w "+about) {
			t.Errorf("%s: %v", about, err)
		}
	}
	change(path, 0o620)
	refused(path)
	change(path, 0o602)
	refused(path)
	change(path, 0o644)
	change(filepath.Dir(path), 0o777)
	refused(filepath.Dir(path))
	change(filepath.Dir(path), 0o755)
	if err := read(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(linked, path); err != nil {
		t.Fatal(err)
	}
	if err := read(); err != nil {
		t.Error(err)
	}
	change(elsewhere, 0o777)
	refused(elsewhere)
	change(elsewhere, 0o700)
	change(linked, 0o666)
	refused(path)
}

// TestPrivateFolder: the place of the key by which data sets are known is a flag, a
// variable, or a line of the user's own configuration, for every verb that reads records.
func TestPrivateFolder(t *testing.T) {
	clitest.TicketHome(t)
	init := func(args ...string) {
		t.Helper()
		args = append([]string{"ledger", "init", t.Name(), "--data", "records.jsonl", "--task", "task.toml", "--epsilon", "1", "--delta", "1e-6"}, args...)
		if code, _, errs := clitest.Run(t, args...); code != ui.Done {
			t.Fatalf("exit code %d: %s", code, errs)
		}
	}
	holds := func(dir string) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(dir, "fingerprint.key")); err != nil {
			t.Error(err)
		}
	}
	path := clitest.OwnConfiguration(t, "private = \"mine\"\n")
	init("--ledger", "a.db")
	holds(filepath.Join(filepath.Dir(path), "mine"))
	t.Setenv("SOTTO_PRIVATE", "from-variable")
	init("--ledger", "b.db")
	holds("from-variable")
	init("--ledger", "c.db", "--private", "from-flag")
	holds("from-flag")
}
