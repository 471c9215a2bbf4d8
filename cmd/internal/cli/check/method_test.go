package check

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
)

// TestLongAMethodIsOneFile adds a method to package decode by one file of under 120 lines, on no
// list, and finds it in plans, in help and in texts.
func TestLongAMethodIsOneFile(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(root, "internal/private/decode/testdata/toy/toy.go")
	text, err := os.ReadFile(source)
	if err != nil || strings.Count(string(text), "\n") >= 120 {
		t.Fatalf("%d lines: %v", strings.Count(string(text), "\n"), err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "internal/private/decode/toy_method.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // before there is another home, in which nothing is built yet
	binary, replace := filepath.Join(dir, "sotto"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(replace, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-overlay", replace, "-o", binary, "./cmd/sotto")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	clitest.TicketHome(t)
	sotto := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(binary, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	for what, c := range map[string]struct{ said, want string }{
		"plan": {sotto("plan", "--task", "task.toml", "--size", "400", "--epsilon", "4", "--model", "tiny.gguf", "--method", "toy", "--set", "toy-weight=2"), "toy"},
		"help": {sotto("plan", "--help"), "toy-weight"},
		"texts": {sotto("synth", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "4", "--model", "tiny.gguf", "--method", "toy",
			"--shots", "2", "--set", "tokens=6", "--out", "demos"), "toy"},
	} {
		t.Run(what, func(t *testing.T) {
			if !strings.Contains(c.said, c.want) {
				t.Errorf("%s does not know the toy:\n%s", what, c.said)
			}
		})
	}
}
