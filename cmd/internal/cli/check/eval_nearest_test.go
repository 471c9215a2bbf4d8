package check

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/prompt"
)

// nearHome is a home with a task without labels, and a release whose prompt gives questions the two nearest of four examples.
func nearHome(t *testing.T) {
	t.Helper()
	clitest.TicketHome(t)
	encoder, err := backend.Encoder("")
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	clitest.Write(t, "open.toml", []byte("kind = \"extract\"\ntext = \"text\"\nlabel = \"queue\"\nconditions = [\"billing\", \"repairs\", \"sales\"]\n[generate]\ninstruction = \"Write a message about the topic.\"\n[answer]\ninstruction = \"Name the topic.\"\n[limits]\nmax_tokens = 12\n"))
	if err := os.Mkdir("near", 0o700); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "near/demos.jsonl", []byte(strings.Join(strings.SplitAfter(clitest.Tickets(4), "\n")[:4], "")))
	nearPrompt(t, encoder.Name())
}

// nearPrompt writes the prompt of that release, by an encoder.
func nearPrompt(t *testing.T, encoder string) {
	t.Helper()
	data, err := json.Marshal(prompt.Prompt{Instruction: "Name it.", Form: prompt.TextForm, Nearest: prompt.Nearest{Examples: 2, Encoder: encoder}})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "near/prompt.json", data)
}

// TestNearestOfReleases: a release whose prompt gives questions the nearest examples is measured with them, on test items
// and on private records, and by its encoder alone; and a run has such prompts compete, which its plan says.
func TestNearestOfReleases(t *testing.T) {
	nearHome(t)
	test := []string{"eval", "--task", "open.toml", "--test", "records.jsonl", "--limit", "10", "--model", "tiny.gguf", "--json", "--demos", "near"}
	private := []string{"eval", "private", "--task", "open.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "30", "--records", "20", "--model", "tiny.gguf", "--seed", "1", "--json", "--demos", "near", "--out"}
	code, out, errs := clitest.Run(t, test...)
	if code != 0 {
		t.Fatal(errs)
	}
	if row := clitest.Object(t, out)["rows"].([]any)[0].(map[string]any); row["shots"] != 2.0 {
		t.Errorf("questions get %v examples", row["shots"])
	}
	if code, _, errs := clitest.Run(t, append(private, "one")...); code != 0 {
		t.Fatal(errs)
	}
	nearPrompt(t, "another")
	if code, _, errs := clitest.Run(t, test...); code == 0 || !strings.Contains(errs, "not comparable") {
		t.Errorf("another encoder: exit code %d, %s", code, errs)
	}
	if code, _, errs := clitest.Run(t, append(private, "two")...); code == 0 || !strings.Contains(errs, "by the encoder another") {
		t.Errorf("another encoder on private records: exit code %d, %s", code, errs)
	}
	synth := []string{"synth", "--task", "open.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "5", "--model", "tiny.gguf", "--seed", "1", "--time", "5s", "--set", "pool=6", "--set", "rounds=1", "--set", "records=10", "--set", "nearest=4", "--json", "--out", "made"}
	if code, _, errs := clitest.Run(t, synth...); code != 0 {
		t.Fatal(errs)
	}
	var plan struct {
		Choose struct {
			Nearest struct {
				Encoder  string
				Examples []int
			}
		}
	}
	data, err := os.ReadFile("made/plan.json")
	if err == nil {
		err = json.Unmarshal(data, &plan)
	}
	n := plan.Choose.Nearest
	at := expect.At(t, "the plan")
	expect.NoError(at, err)
	expect.Len(at, "n.Examples", n.Examples, 2)
	expect.True(at, "n.Encoder that is not empty", n.Encoder != "")
	for _, args := range [][]string{{"--task", "task.toml"}, {"--nearest", "-1"}} {
		if code, _, errs := clitest.Run(t, append(synth[:len(synth)-1:len(synth)-1], append([]string{"bad"}, args...)...)...); code == 0 || !strings.Contains(errs, "nearest") {
			t.Errorf("%v: exit code %d, %s", args, code, errs)
		}
	}
}
