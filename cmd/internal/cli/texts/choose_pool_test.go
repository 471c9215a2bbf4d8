package texts

import (
	"os"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
)

// TestPlainPoolModel: texts are by a model of a server that is not trusted, and never sees a
// record; the key is sent that was named, and results say who wrote.
func TestPlainPoolModel(t *testing.T) {
	clitest.ChoosingHome(t)
	h := clitest.NewPoolHost(t)
	t.Setenv("POOL_KEY", "sk-pool")
	args := []string{
		"synth", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "4", "--model", "tiny.gguf",
		"--pool-model", h.URL + "/v1#large", "--set", "pool-key-env=POOL_KEY", "--set", "pool=4", "--set", "rounds=3", "--set", "records=8", "--set", "vary=2", "--out", "demos",
	}
	code, out, errs := clitest.Run(t, args...)
	if code != 0 {
		t.Fatal(errs)
	}
	for _, want := range []string{"is asked for texts to choose from: it sees the task, and no record", "large wrote texts to choose from: ", "no ε is for writing", "are by large, which sees no record"} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %q in %s", want, errs)
		}
	}
	if flat := strings.Join(strings.Fields(out), " "); !strings.Contains(flat, "from texts by large, which saw no record") {
		t.Error(out)
	}
	if strings.Contains(h.All(), clitest.Planted) {
		t.Error("the host was told of records")
	}
	for _, key := range h.Keys {
		if key != "Bearer sk-pool" {
			t.Errorf("the key is %q", key)
		}
	}
	before := len(h.Keys)
	code, out, errs = clitest.Run(t, append(args, "--json")...)
	chosen, _ := clitest.Object(t, out)["chosen"].(map[string]any)
	expect.Equal(t, "exit code with "+errs, code, 0)
	expect.Equal[any](t, "chosen['pool_model']", chosen["pool_model"], "large")
	expect.Len(t, "h.Keys", h.Keys, before)
	if code, out, errs := clitest.Run(t, "verify", "demos"); code != 0 {
		t.Errorf("%s%s", out, errs)
	}
}

// TestPoolModelFlags: what makes no sense is refused before anybody is asked, and a server
// that does not answer ends the run before anything is charged.
func TestPoolModelFlags(t *testing.T) {
	clitest.ChoosingHome(t)
	url, asked := clitest.CountingServer(t)
	plain := []string{"synth", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "4", "--model", "tiny.gguf", "--out", "demos"}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"--method clipped --pool-model " + url, "--pool-model is for --method choose", ui.Wrong},
		{"--method gaussian --set vary=2", "--set vary is for --method choose", ui.Wrong},
		{"--method clipped --set reword=2", "--set reword is for --method choose", ui.Wrong},
		{"--set pool-key-env=X", "--set pool-key-env is about the server of --pool-model", ui.Wrong},
		{"--pool-model tiny.gguf --set pool-key-env=X", "--set pool-key-env is about a server", ui.Wrong},
		{"--pool-model=", "--pool-model is empty", ui.Wrong},
		{"--set reword=-1", "should be numbers of texts", ui.Wrong},
		{"--set vary=-1", "should be numbers of texts", ui.Wrong},
		{"--set vary=1000", "up to 64 texts like the winner's", ui.Wrong},
		{"--set discover-labels --pool-model " + url, "before labels are discovered", ui.Wrong},
	} {
		code, out, errs := clitest.Run(t, append(plain, strings.Fields(c.args)...)...)
		at := expect.At(t, "%s", c.args)
		expect.Equal(at, "exit code with "+errs, code, c.code)
		expect.Contains(at, "errs", errs, c.want)
		expect.Equal(at, "out", out, "")
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("a server was asked %d times", n)
	}
	if code, _, errs := clitest.Run(t, append(plain, "--pool-model", url+"#large")...); code != ui.Failed || asked.Load() == 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if left, err := os.ReadDir("demos"); err == nil {
		t.Errorf("a run that was refused left %v", left)
	}
}
