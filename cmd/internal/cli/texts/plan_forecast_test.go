package texts

import (
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestPlainPlanForecasts: a plan in which records choose has a forecast, which says of itself that
// it is a guess for a model that no suite ran; one with evidence says that there is none, and a plan without
// choosing has none.
func TestPlainPlanForecasts(t *testing.T) {
	clitest.ChoosingHome(t)
	clitest.Write(t, "chat.toml", []byte(clitest.ChatTask))
	clitest.Write(t, "inputs.jsonl", []byte("\"A: Six? B: Fine.\"\n"))
	labels := []string{"plan", "--task", "task.toml", "--size", "400", "--epsilon", "4", "--method", "choose", "--model", "tiny.gguf"}
	if code, out, errs := clitest.Run(t, labels...); code != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), "There is no forecast of what a prompt with evidence is worth") {
		t.Errorf("with evidence: %s%s", out, errs)
	}
	labels = append(labels, "--set", "evidence=0")
	code, out, errs := clitest.Run(t, append(labels, "--json")...)
	if code != 0 {
		t.Fatal(errs)
	}
	f, _ := clitest.Object(t, out)["forecast"].(map[string]any)
	none, _ := f["over_none"].(map[string]any)
	expect.Equal[any](t, "f['guess']", f["guess"], true)
	expect.Equal[any](t, "f['data_sets']", f["data_sets"], 5.)
	expect.True(t, "none['low'] other than nil", none["low"] != nil)
	expect.True(t, "none['low'].(float64) < none['high'].(float64)", none["low"].(float64) < none["high"].(float64), none["low"].(float64), none["high"].(float64))
	expect.True(t, "f['sure'].(float64) above 0", f["sure"].(float64) > 0, f["sure"].(float64))
	_, out, _ = clitest.Run(t, labels...)
	if flat := strings.Join(strings.Fields(out), " "); !strings.Contains(flat, "What to expect of the chosen prompt: ") || !strings.Contains(flat, "That is a guess, since no suite ran your model") {
		t.Errorf("%s", out)
	}
	written := []string{"plan", "--task", "chat.toml", "--inputs", "inputs.jsonl", "--size", "4000", "--epsilon", "4", "--method", "choose", "--model", "tiny.gguf"}
	if code, out, errs := clitest.Run(t, written...); code != 0 || !strings.Contains(out, "What to expect") {
		t.Errorf("%s%s", out, errs)
	}
	if code, out, errs := clitest.Run(t, "plan", "--task", "task.toml", "--size", "400", "--epsilon", "4", "--method", "public", "--model", "tiny.gguf"); code != 0 || strings.Contains(out, "orecast") {
		t.Errorf("%s%s", out, errs)
	}
}

// TestLongPlans: a plan that takes long says how to bound the time.
func TestLongPlans(t *testing.T) {
	r := &planResult{}
	row := func(method string, seconds float64) planRow {
		return planRow{Method: method, plannedRow: &plannedRow{Seconds: seconds}}
	}
	r.Rows = []planRow{row("choose", 300), row("clipped", 60), {Method: "vote", Error: "it cannot"}}
	if got := r.long(); got != "" {
		t.Errorf("of minutes: %s", got)
	}
	r.Rows = append(r.Rows, row("real", 9000), row("keyword", 8000))
	if got := r.long(); !strings.Contains(got, "than real, keyword would take: --method choose --time 5m") {
		t.Errorf("of hours: %s", got)
	}
}
