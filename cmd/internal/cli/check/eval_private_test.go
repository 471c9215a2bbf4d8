package check

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// measureHere makes records, a task and a model in a directory of their own.
func measureHere(t *testing.T) {
	t.Helper()
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	clitest.Write(t, "task.toml", []byte(clitest.TicketTask))
	clitest.Write(t, "records.jsonl", []byte(clitest.Tickets(200)))
}

func measuring(more ...string) []string {
	return append([]string{
		"eval", "private", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "0.5", "--model", "tiny.gguf", "--records", "60",
		"--out", "measured",
	}, more...)
}

// TestEvalPrivate: one number with its interval, charge and certificate; the same command
// again spends nothing, and another is refused.
func TestEvalPrivate(t *testing.T) {
	measureHere(t)
	code, out, errs := clitest.Run(t, measuring("--json")...)
	if code != 0 {
		t.Fatal(errs)
	}
	o := clitest.Object(t, out)
	low, value, high := o["low"].(float64), o["value"].(float64), o["high"].(float64)
	expect.Within(t, "value", value, low, high)
	expect.Equal(t, "o['asked'].(float64)", o["asked"].(float64), 60)
	expect.Equal[any](t, "o['private']", o["private"], true)
	expect.Max(t, "o['epsilon'].(float64)", o["epsilon"].(float64), 0.5)
	expect.True(t, "o['charge'] that is not empty", o["charge"] != "")
	if !strings.Contains(errs, "going to be asked") {
		t.Errorf("it was not told what to expect: %s", errs)
	}
	if code, _, errs := clitest.Run(t, "verify", "measured"); code != 0 {
		t.Errorf("the certificate: %s", errs)
	}
	code, again, _ := clitest.Run(t, measuring("--json")...)
	expect.Equal(t, "exit code", code, 0)
	expect.Equal(t, "clitest.Object(t, again)['value']", clitest.Object(t, again)["value"], o["value"])
	expect.Equal(t, "clitest.Object(t, again)['charge']", clitest.Object(t, again)["charge"], o["charge"])
	if code, _, errs := clitest.Run(t, append(measuring(), "--out", "other")...); code != ui.Refused {
		t.Errorf("a second measurement: %d %s", code, errs)
	}
	for _, name := range []string{"measurement.json", "plan.json", "journal.jsonl"} {
		data, err := os.ReadFile("measured/" + name)
		if err != nil || strings.Contains(string(data), "records.jsonl") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEvalPrivateCompares: two sets are compared, for the price of one, in the words of the
// issue tracker too.
func TestEvalPrivateCompares(t *testing.T) {
	measureHere(t)
	clitest.Write(t, "public.jsonl", []byte(strings.Join(strings.SplitAfter(clitest.Tickets(2), "\n")[:2], "")))
	args := measuring("--demos", "zero", "--demos", "public.jsonl", "--json")
	code, out, errs := clitest.Run(t, append([]string{"eval", "--private"}, args[2:]...)...)
	if code != 0 {
		t.Fatal(errs)
	}
	o := clitest.Object(t, out)
	rows, compared := o["rows"].([]any), o["comparisons"].([]any)
	// A table of both, and one of labels.
	expect.Len(t, "rows", rows, 2)
	expect.Len(t, "compared", compared, 1)
	expect.Prefix(t, "o['event'].(string)", o["event"].(string), "poisson(0.15, repeat(2, laplace(")
	expect.True(t, "o['commonest'] other than nil", o["commonest"] != nil)
	code, page, errs := clitest.Run(t, measuring("--demos", "zero", "--demos", "public.jsonl")...)
	expect.Equal(t, "exit code with "+errs, code, 0)
	expect.Contains(t, "page", page, "public.jsonl less zero")
	expect.Contains(t, "page", page, "nothing: the run was complete already")
}

// TestEvalPrivateTexts: written outputs are measured by their overlap unless told, and by
// their probability.
func TestEvalPrivateTexts(t *testing.T) {
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	clitest.Write(t, "chat.toml", []byte(clitest.ChatTask))
	clitest.Write(t, "chats.jsonl", []byte(clitest.Chats(60)))
	for metric, more := range map[string][]string{"rouge_l": nil, "token_probability": {"--metric", "token_probability"}} {
		t.Run(metric, func(t *testing.T) {
			args := []string{"eval", "private", "--task", "chat.toml", "--data", "chats.jsonl", "--size", "60", "--epsilon", "0.5", "--records", "6", "--model", "tiny.gguf", "--seed", "1", "--out", metric, "--json"}
			code, out, errs := clitest.Run(t, append(args, more...)...)
			if code != 0 {
				t.Fatal(errs)
			}
			if o := clitest.Object(t, out); o["metric"] != metric || o["private"] != false {
				t.Errorf("%s", out)
			}
		})
	}
	if code, _, errs := clitest.Run(t, "eval", "private", "--task", "chat.toml", "--data", "chats.jsonl", "--size", "60", "--epsilon", "0.5", "--metric", "accuracy", "--out", "x"); code != ui.Wrong || !strings.Contains(errs, "does not suit") {
		t.Errorf("accuracy of texts: %d %s", code, errs)
	}
}

// TestEvalPrivateForms: what records chose is measured in the form in which they chose it, and the
// output says in which form each set was.
func TestEvalPrivateForms(t *testing.T) {
	measureHere(t)
	demos := strings.Join(strings.SplitAfter(clitest.Tickets(2), "\n")[:2], "")
	for name, form := range map[string]string{"talk": `"form": "message"`, "text": `"form": "text", "calibrated": true`, "old": `"calibrated": false`} {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		clitest.Write(t, name+"/demos.jsonl", []byte(demos))
		clitest.Write(t, name+"/prompt.json", []byte("{"+form+"}"))
	}
	dry := func(more ...string) map[string]any {
		t.Helper()
		code, out, errs := clitest.Run(t, measuring(append([]string{"--dry-run", "--json", "--demos", "talk", "--demos", "text", "--demos", "old", "--demos", "zero"}, more...)...)...)
		if code != 0 {
			t.Fatal(errs)
		}
		forms := map[string]any{}
		for _, row := range clitest.Object(t, out)["rows"].([]any) {
			o := row.(map[string]any)
			forms[o["demos"].(string)] = o["form"].(string) + ui.If(o["calibrated"].(bool), ", calibrated")
		}
		return forms
	}
	if got, want := dry("--form", "chat"), map[string]any{"talk": "message", "text": "text, calibrated", "old": "text", "zero": "chat"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := dry()["zero"]; got != ", calibrated" { // the model decides
		t.Errorf("%v", got)
	}
	if got := dry("--form", "text")["zero"]; got != "text, calibrated" {
		t.Errorf("%v", got)
	}
	code, page, errs := clitest.Run(t, measuring("--seed", "1", "--demos", "text", "--demos", "zero", "--form", "text")...)
	if code != 0 || strings.Count(page, "text, calibrated") != 2 {
		t.Errorf("%d %s %s", code, page, errs)
	}
	for want, args := range map[string][]string{
		"--form is \"x\"":          measuring("--form", "x"),
		"what the model writes":    measuring("--form", "chat", "--set", "calibrate"),
		"utility soft is of proba": measuring("--form", "chat", "--metric", "probability"),
	} {
		t.Run(want, func(t *testing.T) {
			if code, _, errs := clitest.Run(t, args...); code != ui.Wrong || !strings.Contains(errs, want) {
				t.Errorf("exit code %d, %s", code, errs)
			}
		})
	}
}

// TestEvalPrivateRefusals: all before anything is charged or opened.
func TestEvalPrivateRefusals(t *testing.T) {
	measureHere(t)
	clitest.Write(t, "secret.jsonl", []byte(`{"text": "x", "queue": "billing", "not_private": true}`+"\n"))
	for want, args := range map[string][]string{
		"not set: sotto eval private": {"eval", "private"},
		"\"task\" not set":            {"eval", "private", "--epsilon", "1", "--size", "9", "--data", "records.jsonl", "--out", "x"},
		"\"epsilon\" not set":         {"eval", "private", "--task", "task.toml", "--size", "9", "--data", "records.jsonl", "--out", "x"},
		"\"size\" not set":            {"eval", "private", "--task", "task.toml", "--epsilon", "1", "--data", "records.jsonl", "--out", "x"},
		"\"data\" not set":            {"eval", "private", "--task", "task.toml", "--epsilon", "1", "--size", "9", "--out", "x"},
		"\"out\" not set":             {"eval", "private", "--task", "task.toml", "--epsilon", "1", "--size", "9", "--data", "records.jsonl"},
		"public files":                measuring("--demos", "real"),
		"given twice":                 measuring("--demos", "zero", "--demos", "zero"),
		"NOT PRIVATE":                 measuring("--demos", "secret.jsonl"),
		"rare label":                  measuring("--metric", "macro_f1"),
		"numbers from 0 to 1":         measuring("--metric", "bertscore"),
		"does not suit":               measuring("--metric", "rouge_l"),
		"--records is 0":              measuring("--records", "0"),
		"--set shots is 0":            measuring("--set", "shots=0"),
		"a number of records":         measuring("--size", "many"),
		"ε above 0":                   measuring("--epsilon", "0"),
	} {
		t.Run(want, func(t *testing.T) {
			code, _, errs := clitest.Run(t, args...)
			if code != ui.Wrong || !strings.Contains(errs, want) {
				t.Errorf("exit code %d, %s", code, errs)
			}
		})
	}
	if _, err := os.Stat("measured"); err == nil {
		t.Error("a folder was made")
	}
}

// TestLiteralPrivate: --private without a folder is the verb, with one it is the flag.
func TestLiteralPrivate(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{[]string{"eval", "--private", "--data", "x"}, []string{"eval", "private", "--data", "x"}},
		{[]string{"eval", "--data", "x", "--private"}, []string{"eval", "private", "--data", "x"}},
		{[]string{"eval", "--private", "dir", "--test", "x"}, []string{"eval", "--private", "dir", "--test", "x"}},
		{[]string{"synth", "--private", "--data", "x"}, []string{"synth", "--private", "--data", "x"}},
		{nil, nil},
	} {
		if got := cli.LiteralPrivate(c.args); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q", c.args, got)
		}
	}
}
