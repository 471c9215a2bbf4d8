package check

import (
	"os"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/backend"
)

// evidenceHome is a home with folders whose prompts use evidence that knows both queues: one for each way.
func evidenceHome(t *testing.T) {
	t.Helper()
	clitest.TicketHome(t)
	encoder, err := backend.Encoder("")
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	e := &evidence.Evidence{Encoder: encoder.Name(), Labels: []string{"billing", "repairs"}}
	vectors, err := encoder.Embed(t.Context(), []string{clitest.Planted + " billing 1", clitest.Planted + " repairs 1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		var wide []float64
		for _, x := range v {
			wide = append(wide, 100*float64(x))
		}
		e.Vectors = append(e.Vectors, wide)
	}
	data, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	demos := []byte(strings.Join(strings.SplitAfter(clitest.Tickets(2), "\n")[:2], ""))
	for name, use := range map[string]string{
		"plain":    "",
		"combined": `, "evidence": {"use": "combined", "weight": 4}`,
		"hinted":   `, "evidence": {"use": "hinted", "wording": 1}`,
		"alone":    `, "evidence": {"use": "alone"}`,
	} {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		shown := demos
		if name == "alone" {
			shown = nil
		}
		clitest.Write(t, name+"/demos.jsonl", shown)
		clitest.Write(t, name+"/prompt.json", []byte(`{"instruction": "Name it.", "form": "text"`+use+"}"))
		if name != "plain" {
			clitest.Write(t, name+"/evidence.json", data)
		}
	}
}

// TestEvalEvidence: a release whose prompt uses evidence is measured with it.
func TestEvalEvidence(t *testing.T) {
	evidenceHome(t)
	command := func(demos ...string) []string {
		args := []string{"eval", "--task", "task.toml", "--test", "records.jsonl", "--limit", "20", "--model", "tiny.gguf", "--json"}
		for _, d := range demos {
			args = append(args, "--demos", d)
		}
		return args
	}
	code, out, errs := clitest.Run(t, command("plain", "combined", "hinted", "alone")...)
	if code != 0 {
		t.Fatal(errs)
	}
	values := map[string]float64{}
	for _, row := range clitest.Object(t, out)["rows"].([]any) {
		o := row.(map[string]any)
		values[o["demos"].(string)] = o["value"].(float64)
	}
	for _, name := range []string{"combined", "alone"} {
		if values[name] != 1 {
			t.Errorf("%s has %v, and the evidence knows all answers", name, values[name])
		}
	}
	if values["plain"] == 1 {
		t.Error("the tiny model knows all answers by itself")
	}
	if _, ok := values["hinted"]; !ok {
		t.Error("hinted has no row")
	}
	for name, c := range map[string]struct {
		damage func()
		want   string
	}{
		"no file": {func() { _ = os.Remove("combined/evidence.json") }, "has no evidence.json"},
		"no JSON": {func() { clitest.Write(t, "combined/evidence.json", []byte("x")) }, "no evidence"},
		"another one": {func() {
			clitest.Write(t, "combined/evidence.json", other(t, "hinted", func(e *evidence.Evidence) { e.Encoder = "another" }))
		}, "not comparable"},
		"other queues": {func() {
			clitest.Write(t, "combined/evidence.json", other(t, "hinted", func(e *evidence.Evidence) { e.Labels[0] = "sales" }))
		}, "other labels"},
		"no such usage": {func() { clitest.Write(t, "combined/prompt.json", []byte(`{"evidence": {"use": "loud"}}`)) }, "combined, hinted or alone"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "no such usage" {
				clitest.Write(t, "combined/evidence.json", other(t, "hinted", func(*evidence.Evidence) {}))
			}
			before, err := os.ReadFile("combined/prompt.json")
			if err != nil {
				t.Fatal(err)
			}
			c.damage()
			if code, _, errs := clitest.Run(t, command("combined")...); code == 0 || !strings.Contains(errs, c.want) {
				t.Errorf("exit code %d, want %q in %s", code, c.want, errs)
			}
			clitest.Write(t, "combined/prompt.json", before)
		})
	}
}

// other is the evidence of a folder, changed.
func other(t *testing.T, dir string, change func(*evidence.Evidence)) []byte {
	t.Helper()
	e, err := evidence.Read(dir + "/evidence.json")
	if err != nil {
		t.Fatal(err)
	}
	change(e)
	data, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestEvalPrivateEvidence: a prompt that uses evidence is measured with it on private records, beside the same
// without it and evidence alone; it is in the plan, and a run does not continue with other evidence.
func TestEvalPrivateEvidence(t *testing.T) {
	evidenceHome(t)
	command := func(out string, more ...string) []string {
		return append([]string{"eval", "private", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "30", "--model", "tiny.gguf", "--seed", "1", "--json", "--out", out}, more...)
	}
	code, out, errs := clitest.Run(t, command("all", "--set", "compare", "--demos", "combined", "--demos", "hinted", "--demos", "alone", "--demos", "zero")...)
	if code != 0 {
		t.Fatal(errs)
	}
	values, ways := map[string]float64{}, map[string]any{}
	for _, row := range clitest.Object(t, out)["rows"].([]any) {
		o := row.(map[string]any)
		values[o["demos"].(string)], ways[o["demos"].(string)] = o["value"].(float64), o["evidence"]
	}
	for name, way := range map[string]any{
		"combined": "combined", "combined without evidence": nil, "combined, evidence alone": "alone",
		"hinted": "hinted", "hinted without evidence": nil, "hinted, evidence alone": "alone",
		"alone": "alone", "alone without evidence": nil, "zero": nil,
	} {
		t.Run(name, func(t *testing.T) {
			value, ok := values[name]
			if !ok || ways[name] != way {
				t.Errorf("%s uses evidence %v, want %v", name, ways[name], way)
			}
			// The evidence knows all answers, and the tiny model does not. Noise is of scale 9 / 30 at most,
			// on counts of hundreds.
			if knows := way == "combined" || way == "alone"; way != "hinted" && knows != (value > 0.95) {
				t.Errorf("%s has %v", name, value)
			}
		})
	}
	if len(values) != 9 {
		t.Errorf("%v", values)
	}
	if code, _, errs := clitest.Run(t, command("one", "--demos", "combined")...); code != 0 {
		t.Fatal(errs)
	}
	clitest.Write(t, "combined/evidence.json", other(t, "combined", func(e *evidence.Evidence) { e.Vectors[1][5]++ }))
	for want, args := range map[string][]string{
		"another plan":           command("one", "--demos", "combined"),
		"measure them one by":    command("x", "--demos", "combined", "--demos", "hinted"),
		"--set compare is about": command("x", "--set", "compare", "--demos", "plain"),
		"has no evidence.json":   command("x", "--demos", "bare"),
	} {
		t.Run(want, func(t *testing.T) {
			_ = os.MkdirAll("bare", 0o700)
			clitest.Write(t, "bare/demos.jsonl", nil)
			clitest.Write(t, "bare/prompt.json", []byte(`{"evidence": {"use": "alone"}}`))
			if code, _, errs := clitest.Run(t, args...); code != ui.Wrong || !strings.Contains(errs, want) {
				t.Errorf("exit code %d: %s", code, errs)
			}
		})
	}
	clitest.Write(t, "combined/evidence.json", other(t, "hinted", func(e *evidence.Evidence) { e.Encoder = "another" }))
	if code, _, errs := clitest.Run(t, command("x", "--demos", "combined")...); code == 0 || !strings.Contains(errs, "not comparable") {
		t.Errorf("another encoder: exit code %d: %s", code, errs)
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a folder was made for what is refused")
	}
}
