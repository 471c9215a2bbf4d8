package texts

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
)

// rehearsing are the arguments of a short rehearsal.
func rehearsing(more ...string) []string {
	return append([]string{
		"rehearse", "--task", "task.toml", "--size", "400", "--epsilon", "4", "--model", "tiny.gguf", "--stand-in", "public.jsonl",
		"--set", "generation-share=0", "--set", "pool=4", "--set", "tokens=3", "--set", "rounds=2", "--set", "records=8", "--set", "items=10", "--set", "sets=2",
	}, more...)
}

func rehearsalHome(t *testing.T) {
	t.Helper()
	clitest.ChoosingHome(t)
	clitest.Write(t, "public.jsonl", []byte(clitest.Tickets(40)))
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Cleanup(func() {
		if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
			t.Errorf("temporary files are left: %v, %v", left, err)
		}
	})
}

// allBelow has the content of all files below a folder.
func allBelow(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRehearseChargesNothing: a rehearsal of a run that the budget would refuse goes
// through. Ledger, keys and private folder are as they were, byte for byte, and it goes
// without the private data.
func TestRehearseChargesNothing(t *testing.T) {
	rehearsalHome(t)
	if code, _, errs := clitest.Run(t, clitest.Choosing()...); code != 0 {
		t.Fatal(errs)
	}
	user := os.Getenv("HOME")
	before := allBelow(t, user)
	if len(before) < 3 {
		t.Fatalf("the run left no ledger, no keys or no private folder: %d files", len(before))
	}
	if err := os.Remove("records.jsonl"); err != nil {
		t.Fatal(err)
	}
	code, out, errs := clitest.Run(t, rehearsing("--json")...)
	if code != 0 {
		t.Fatal(errs)
	}
	for _, key := range []string{"charge", "ledger", "keys", "guarantee"} {
		if _, there := clitest.Object(t, out)[key]; there {
			t.Errorf("it speaks of %s: %s", key, out)
		}
	}
	after := allBelow(t, user)
	if len(after) != len(before) {
		t.Errorf("%d files became %d", len(before), len(after))
	}
	for path, data := range before {
		if !bytes.Equal(after[path], data) {
			t.Errorf("%s was changed", path)
		}
	}
}

// TestRehearseOpensNothing: a rehearsal goes through where ledger, keys and private folder
// cannot be opened, which the real run cannot do without.
func TestRehearseOpensNothing(t *testing.T) {
	rehearsalHome(t)
	clitest.Write(t, "file", []byte(strings.Repeat("neither a ledger nor a folder ", 20)))
	for _, name := range []string{"SOTTO_LEDGER", "SOTTO_KEYS", "SOTTO_PRIVATE"} {
		t.Setenv(name, "file")
		if code, _, _ := clitest.Run(t, clitest.Choosing("--out", name)...); code == 0 {
			t.Errorf("the real run goes through without %s: nothing is tested", name)
		}
		if code, _, errs := clitest.Run(t, rehearsing()...); code != 0 {
			t.Errorf("%s: %s", name, errs)
		}
		os.Unsetenv(name)
	}
}

// TestRehearseMakesNothing: where there is no ledger and no key ring, there is none
// afterwards. (That the encoder's file was found to be whole is kept in the cache.)
func TestRehearseMakesNothing(t *testing.T) {
	rehearsalHome(t)
	if code, _, errs := clitest.Run(t, rehearsing()...); code != 0 {
		t.Fatal(errs)
	}
	if made, err := os.ReadDir(os.Getenv("HOME")); err == nil && slices.ContainsFunc(made, func(e os.DirEntry) bool { return e.Name() != ".cache" }) {
		t.Errorf("it made %v", made)
	}
}

// TestRehearseTells: people are told what examples are worth, what the plan is, how long it
// takes, and what records were; programs get the same.
func TestRehearseTells(t *testing.T) {
	rehearsalHome(t)
	code, out, errs := clitest.Run(t, rehearsing()...)
	if code != 0 {
		t.Fatal(errs)
	}
	flat := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{
		"nothing was charged", "none", "model-generated", "chosen by the records", "stand-in records", "evidence, without a model", "in 2 rounds of about 8 records",
		"planned", "real run about", "On 10 of 80 public records", "repeated up to 400",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	expect.True(t, "no invented in flat", !strings.Contains(flat, "invented"), flat)
	expect.Contains(t, "errs", errs, "the plan: ")
	expect.True(t, "no text 1 is done in errs", !strings.Contains(errs, "text 1 is done"), errs)
	args := rehearsing("--json")
	args = slices.Delete(args, slices.Index(args, "--stand-in"), slices.Index(args, "--stand-in")+2)
	code, out, errs = clitest.Run(t, append(args, "--set", "invent=30")...)
	if code != 0 {
		t.Fatal(errs)
	}
	o := clitest.Object(t, out)
	expect.Equal[any](t, "o['rehearsal']", o["rehearsal"], true)
	expect.Equal[any](t, "o['invented']", o["invented"], true)
	expect.Equal[any](t, "o['copies']", o["copies"], 400.)
	expect.Equal[any](t, "o['epsilon']", o["epsilon"], 4.)
	expect.Len(t, "o['rows'].([]any)", o["rows"].([]any), 5)
	if !strings.Contains(out, "the model invented these records") {
		t.Errorf("nobody is told that they are invented: %s", out)
	}
}

// TestRehearseKept: what is kept has no certificate and is no release.
func TestRehearseKept(t *testing.T) {
	rehearsalHome(t)
	args := []string{"rehearse", "--task", "task.toml", "--stand-in", "public.jsonl", "--method", "clipped", "--size", "400", "--epsilon", "4", "--set", "batch=16", "--model", "tiny.gguf", "--out", "kept"}
	if code, _, errs := clitest.Run(t, args...); code != 0 {
		t.Fatal(errs)
	}
	if code, out, _ := clitest.Run(t, "verify", "kept"); code == 0 {
		t.Errorf("a rehearsal verifies: %s", out)
	}
	if _, err := os.Stat("kept/REHEARSAL.md"); err != nil {
		t.Error(err)
	}
	if code, _, errs := clitest.Run(t, clitest.Choosing("--examples", "kept")...); code != ui.Wrong || !strings.Contains(errs, "not private") {
		t.Errorf("its examples are taken for public ones: %s", errs)
	}
}

// TestRehearseFlags: what a rehearsal cannot use is refused, and the reason says what to do.
func TestRehearseFlags(t *testing.T) {
	rehearsalHome(t)
	for _, c := range []struct {
		args, want string
	}{
		{"--data records.jsonl", "--data is for the real run"},
		{"--stand-in absent.jsonl", "--stand-in absent.jsonl: it cannot be read"},
		{"--stand-in wrong.jsonl", "--stand-in wrong.jsonl, record 1: its queue is none that the task lists"},
		{"--stand-in marked.jsonl", "says that it is NOT PRIVATE"},
		{"--stand-in own.jsonl", "too few to stand in"},
		{"--set invent=50", "invent and --stand-in exclude each other"},
		{"--set items=0", "items"},
		{"--set sets=-1", "sets"},
		{"--set parallel=-1", "--set parallel is -1"},
		{"--method clipped", "--set rounds is for --method choose"},
		{"--method real", "--set rounds is for --method choose"},
		{"--epsilon 0", "an ε above 0"},
		{"--task absent", "absent"},
		{"--out .", "holds something already"},
	} {
		code, out, errs := clitest.Run(t, rehearsing(strings.Fields(c.args)...)...)
		at := expect.At(t, "%s", c.args)
		expect.Equal(at, "exit code with "+errs, code, ui.Wrong)
		expect.Contains(at, "errs", errs, c.want)
		expect.Equal(at, "out", out, "")
	}
}
