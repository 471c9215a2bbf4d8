package texts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// TestLongExampleMethod: the method of docs/methods/own.md, which is one file, keeps what it declares by the
// suite that all methods go through, and the program that is built with it plans, runs, charges and
// certifies it. The program without it does not know it.
func TestLongExampleMethod(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and a package's tests")
	}
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "sotto")
	for _, args := range [][]string{
		{"test", "-tags", "example", "-run", "TestEveryMethodIsASubject|TestSubjectsAreAllMethods|TestSensitivity/ballot|TestBallot|TestSettingsComeBack|TestForeign", "./internal/private/decode"},
		{"build", "-buildvcs=false", "-tags", "example", "-o", program, "./cmd/sotto"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	clitest.Write(t, "task.toml", []byte(clitest.TicketTask))
	clitest.Write(t, "records.jsonl", []byte(clitest.Tickets(200)))
	synth := []string{"synth", "--method", "clipped", "--method", "ballot", "--task", "task.toml", "--data", "records.jsonl", "--size", "200", "--epsilon", "8", "--set", "tokens=4", "--model", "tiny.gguf", "--out", "demos"}
	if code, _, errs := clitest.Run(t, synth...); code != 2 || !strings.Contains(errs, "unknown method") && !strings.Contains(errs, "ballot") {
		t.Errorf("without the file: %d %s", code, errs)
	}
	for _, args := range [][]string{synth, {"verify", "demos"}, {"ledger", "check"}} {
		cmd := exec.Command(program, append(args, "--json")...)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("sotto %s: %v\n%s", strings.Join(args, " "), err, errs.String())
		}
		switch o := clitest.Object(t, string(out)); args[0] {
		case "synth":
			if o["epsilon"].(float64) > 8 || !strings.Contains(o["event"].(string), "pure(") {
				t.Errorf("%s", out)
			}
		case "verify":
			of := o["predicate"].(map[string]any)
			expect.Equal[any](t, "o['ok']", o["ok"], true)
			expect.Equal[any](t, "of['method']", of["method"], "ballot")
			expect.Contains(t, "of['proof'].(string)", of["proof"].(string), "votes")
		}
	}
	if info, err := os.Stat("demos/demos.jsonl"); err != nil || info.Size() == 0 {
		t.Error(err)
	}
}
