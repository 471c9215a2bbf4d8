package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/engine/bert/berttest"
	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/lmtest"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/lm/remote"
)

// TestChoice: flags come before the variable, and that before the configuration;
// trust belongs to the very address that the configuration names.
func TestChoice(t *testing.T) {
	const server = "http://127.0.0.1:8000"
	configured := backend.Spec{Model: "m", URL: server, Dialect: remote.VLLM, Key: remote.Key{Env: "K"}, Trusted: true, Context: 100}
	const file = "[model]\nname = \"m\"\nurl = \"" + server + "\"\ndialect = \"vllm\"\nkey_env = \"K\"\ntrusted = true\ncontext = 100\n"
	for _, c := range []struct {
		name     string
		config   string
		variable string
		flags    flags.Model
		want     backend.Spec
	}{
		{name: "nothing"},
		{name: "configuration", config: file, want: configured},
		{name: "variable", config: file, variable: "qwen", want: backend.Spec{Model: "qwen", Context: 100}},
		{name: "variable with another address", config: file, variable: "https://elsewhere", want: backend.Spec{URL: "https://elsewhere", Context: 100}},
		{name: "flag", config: file, variable: "qwen", flags: flags.Model{Name: "x.gguf", Threads: 3}, want: backend.Spec{Model: "x.gguf", Threads: 3, Context: 100}},
		{name: "another address is not trusted", config: file, flags: flags.Model{URL: server + "/v2"}, want: backend.Spec{URL: server + "/v2", Context: 100}},
		{name: "the same address is", config: file, flags: flags.Model{URL: server}, want: configured},
		{name: "address and model", flags: flags.Model{URL: server, Name: "n", Dialect: "sglang", KeyEnv: "V"}, want: backend.Spec{URL: server, Model: "n", Dialect: remote.SGLang, Key: remote.Key{Env: "V"}}},
		{name: "a model that is an address", flags: flags.Model{Name: server}, want: backend.Spec{URL: server}},
		{name: "encoder", config: file + "encoder = \"tiny\"\n", flags: flags.Model{URL: server + "/v2"}, want: backend.Spec{URL: server + "/v2", Context: 100, Encoder: "tiny"}},
		{name: "threads", config: "[model]\nthreads = 2", flags: flags.Model{}, want: backend.Spec{Threads: 2}},
		{name: "activations", config: "[model]\nactivations = 8", want: backend.Spec{Activations: 8}},
		{name: "activations of another model", config: "[model]\nactivations = 8", flags: flags.Model{Name: "qwen"}, want: backend.Spec{Model: "qwen", Activations: 8}},
		{name: "activations over those of the configuration", config: "[model]\nactivations = 8", flags: flags.Model{Activations: 16}, want: backend.Spec{Activations: 16}},
	} {
		t.Run(c.name, func(t *testing.T) {
			clitest.Home(t)
			t.Setenv("SOTTO_MODEL", c.variable)
			if err := errors.Join(os.MkdirAll(filepath.Dir(config.Own()), 0o700), os.WriteFile(config.Own(), []byte(c.config), 0o600)); err != nil {
				t.Fatal(err)
			}
			got, err := (&cli.Program{}).ModelSpec(c.flags)
			if got.Trusted != (got.TrustedBy != "") {
				t.Errorf("trusted %v by %q", got.Trusted, got.TrustedBy)
			}
			got.TrustedBy = ""
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v; %v", got, c.want, err)
			}
		})
	}
	clitest.Home(t)
	for _, wrong := range []flags.Model{{Dialect: "vllm"}, {Name: "x.gguf", KeyEnv: "K"}, {Threads: -1}, {Activations: 32}, {URL: server, Activations: 8}} {
		if _, err := (&cli.Program{}).ModelSpec(wrong); !ui.Is[ui.UsageError](err) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

func TestCandidatesFile(t *testing.T) {
	if _, err := readCandidates("absent"); !ui.Is[ui.UsageError](err) {
		t.Error(err)
	}
}

// TestFirstContact: a run that shows records to the default model says so, once and on
// standard error; another model is not spoken of.
func TestFirstContact(t *testing.T) {
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	for spec, want := range map[backend.Spec]bool{
		{}: true, {Model: "smollm2-135m"}: true, {Model: filepath.Join(clitest.ModelsDir(t), "SmolLM2-135M-Instruct.Q4_1.gguf")}: true,
		{Model: "tiny.gguf"}: false, {Model: "absent"}: false, {URL: "http://127.0.0.1:1"}: false,
	} {
		var said []string
		cli.FirstContact(spec, func(text string) { said = append(said, text) })
		if got := len(said) == 1 && strings.Contains(said[0], "docs/models.md"); got != want || !want && len(said) > 0 {
			t.Errorf("%+v: %q", spec, said)
		}
	}
	clitest.Write(t, "task.toml", []byte(clitest.TicketTask))
	clitest.Write(t, "records.jsonl", []byte(clitest.Tickets(200)))
	clitest.Write(t, "chat.toml", []byte(clitest.ChatTask))
	// What is accepted and then refused by the budget gets the notice, and asks no model.
	if code, _, errs := clitest.Run(t, "ledger", "init", "records", "--task", "task.toml", "--data", "records.jsonl", "--epsilon", "0.001", "--delta", "1e-9"); code != 0 {
		t.Fatal(errs)
	}
	for _, verb := range [][]string{
		{"synth", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "4", "--out", "demos"},
		{"answer", "--task", "chat.toml", "--data", "records.jsonl", "--size", "300", "--epsilon", "2", "--input", "Six?"},
	} {
		_, out, errs := clitest.Run(t, verb...)
		if strings.Count(errs, cli.SmallModel) != 1 || strings.Contains(out, "first contact") {
			t.Errorf("%s: %q and %q", verb[0], out, errs)
		}
		if _, _, errs = clitest.Run(t, append(verb, "--model", "tiny.gguf")...); strings.Contains(errs, "first contact") {
			t.Errorf("%s: %q", verb[0], errs)
		}
		_, out, errs = clitest.Run(t, append(verb, "--json")...)
		at := expect.At(t, "%s", verb[0])
		expect.Equal(at, "number of first contact", strings.Count(errs, "first contact"), 1)
		expect.Contains(at, "errs", errs, `{"event":"notice",`)
		expect.True(at, "no first contact in out", !strings.Contains(out, "first contact"), out)
	}
}

// TestPulledModel: a model from the hub is used by its name, and shown with its pin.
func TestPulledModel(t *testing.T) {
	clitest.Home(t)
	t.Setenv("SOTTO_MODELS", t.TempDir())
	if err := os.Mkdir("site", 0o700); err != nil {
		t.Fatal(err)
	}
	lmtest.TinyModel(t, filepath.Join("site", "tiny-f32.gguf"))
	hub := httptest.NewServer(clitest.HubServer("site"))
	t.Cleanup(hub.Close)
	t.Setenv("HF_ENDPOINT", hub.URL)
	const name = "hf:someone/tiny-GGUF/tiny-f32.gguf"
	scored := func(model string) (int, string, string) {
		return clitest.Run(t, "model", "score", "--prompt", "One, two,", "--model", model, "--json")
	}
	if code, _, errs := scored(name); code != ui.Wrong || !strings.Contains(errs, "sotto model pull "+name) {
		t.Error(code, errs)
	}
	code, out, errs := clitest.Run(t, "model", "pull", name, "--json")
	var pulled pullResult
	err := json.Unmarshal([]byte(out), &pulled)
	expect.Equal(t, "exit code with "+errs, code, 0)
	expect.NoError(t, err)
	expect.True(t, "pulled.Pin other than nil", pulled.Pin != nil)
	expect.True(t, "pulled.Lock that is not empty", pulled.Lock != "")
	for _, model := range []string{name, "tiny-f32", "tiny-f32.gguf"} {
		if code, _, errs := scored(model); code != 0 {
			t.Error(model, errs)
		}
	}
	var shown modelShowResult
	code, out, errs = clitest.Run(t, "model", "show", "tiny-f32", "--json")
	err = json.Unmarshal([]byte(out), &shown)
	expect.Equal(t, "exit code with "+errs, code, 0)
	expect.NoError(t, err)
	expect.True(t, "shown.Pinned", shown.Pinned)
	if shown.Pin == nil {
		t.Fatalf("shown.Pin: got none")
	}
	expect.True(t, "shown.Pin equal to pulled.Pin", reflect.DeepEqual(shown.Pin, pulled.Pin), *shown.Pin, *pulled.Pin)
	expect.Equal(t, "shown.Name", shown.Name, "tiny-f32")
	if _, out, _ = clitest.Run(t, "model", "show", "tiny-f32"); !strings.Contains(strings.Join(strings.Fields(out), " "), "tiny-f32.gguf of someone/tiny-GGUF") {
		t.Error(out)
	}
	if _, out, _ = clitest.Run(t, "model", "list"); !strings.Contains(strings.Join(strings.Fields(out), " "), "pinned: someone/tiny-GGUF at "+pulled.Pin.Commit[:7]) {
		t.Error(out)
	}
	// In the configuration too, where other names with a slash are paths.
	if err := errors.Join(os.MkdirAll(filepath.Dir(config.Own()), 0o700), os.WriteFile(config.Own(), []byte("[model]\nname = \""+name+"\"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := clitest.Run(t, "model", "score", "--prompt", "One, two,", "--json"); code != 0 {
		t.Error(errs)
	}
}

// TestPullReport: a bar on a terminal, a line now and then elsewhere; both within
// 80 columns.
func TestPullReport(t *testing.T) {
	for _, bar := range []bool{true, false} {
		var out bytes.Buffer
		now := time.Unix(0, 0)
		r := &ui.PullProgress{Progress: &ui.Progress{W: &out, Bar: bar, Now: func() time.Time { return now }}}
		p := models.Progress{File: "x.gguf", Source: "PyPI", Total: 1_117_320_768}
		for i := range 201 {
			p.Done = p.Total / 200 * int64(i)
			r.Report(p)
			now = now.Add(100 * time.Millisecond)
			if i == 100 {
				r.Report(models.Progress{Note: "something happened"})
			}
		}
		p.File, p.Total, p.Done = "y.gguf", 0, 5_000_000
		r.Report(p)
		now = now.Add(6 * time.Second)
		p.Done = 8_000_000
		r.Report(p)
		r.Clear()
		text := out.String()
		for _, want := range []string{"fetching x.gguf (1.1 GB) from PyPI\n", "something happened\n", "fetching y.gguf, from 5.0 MB on from PyPI\n", " 50%  558.7 MB of 1.1 GB  55.9 MB/s  10s left", "8.0 MB  500.0 kB/s"} {
			if !strings.Contains(text, want) {
				t.Errorf("bar %v: there is no %q in\n%s", bar, want, text)
			}
		}
		if got := strings.Count(text, "\n"); !bar && got != 3+20/5+1 {
			t.Errorf("%d lines:\n%s", got, text)
		}
		if hasBar := strings.Contains(text, "█") && strings.Contains(text, "\r"); hasBar != bar {
			t.Errorf("a bar is there: %v", hasBar)
		}
		if bar && !strings.HasSuffix(text, "\r\x1b[K") {
			t.Error("the bar stays")
		}
		for _, line := range strings.FieldsFunc(strings.ReplaceAll(text, "\x1b[K", ""), func(r rune) bool { return r == '\r' || r == '\n' }) {
			if n := len([]rune(line)); n >= ui.Width {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
}

// TestScoresAddUp: the probabilities of all candidates among themselves are one,
// and differ from those over the vocabulary by one factor.
func TestScoresAddUp(t *testing.T) {
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	if err := os.WriteFile("c.json", []byte(`["a", "b", 257]`), 0o600); err != nil {
		t.Fatal(err)
	}
	var r scoreResult
	score := func(args ...string) {
		code, out, errs := clitest.Run(t, append([]string{"model", "score", "--model", "tiny.gguf", "--prompt", "The capital of France is", "--json"}, args...)...)
		if code != 0 {
			t.Fatal(errs)
		}
		r = scoreResult{}
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
	}
	score("--top", "259")
	best := map[lm.Token]float64{}
	for i, s := range r.Tokens {
		best[s.ID] = s.LogProb
		if i > 0 && s.LogProb > r.Tokens[i-1].LogProb {
			t.Error("not from the best on")
		}
	}
	if len(best) != lmtest.TinyVocab || r.PromptTokens != 24 {
		t.Errorf("%d tokens after %d", len(best), r.PromptTokens)
	}
	score("--candidates", "c.json")
	if len(r.Tokens) != 3 || r.Over != "vocabulary" {
		t.Fatalf("%+v", r)
	}
	var sum float64
	for _, s := range r.Tokens {
		sum += math.Exp(*s.Among)
		if known := best[s.ID]; known != s.LogProb || s.Control != (s.ID == 257) {
			t.Errorf("%q: %v as a candidate, %v among the best", s.Text, s.LogProb, known)
		}
		if shift := s.LogProb - *s.Among; math.Abs(shift-(r.Tokens[0].LogProb-*r.Tokens[0].Among)) > 1e-9 {
			t.Errorf("%q is shifted by %v", s.Text, shift)
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("probabilities among the candidates add up to %v", sum)
	}
}

// TestShowEncoder: a sentence encoder in a folder, and in a GGUF file.
func TestShowEncoder(t *testing.T) {
	clitest.Home(t)
	m := berttest.New(1, 32, false)
	if err := errors.Join(berttest.WriteFolder("tiny", m.Files("F16")), m.WriteGGUF("small.gguf", gguf.F16)); err != nil {
		t.Fatal(err)
	}
	for path, name := range map[string]string{"./tiny": "tiny", "./small.gguf": "small.gguf"} {
		code, out, errs := clitest.Run(t, "model", "show", path, "--json")
		if code != 0 {
			t.Fatal(errs)
		}
		var r modelShowResult
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		expect.Equal(t, "name of "+path, r.Name, name)
		expect.Equal(t, "architecture of "+path, r.Architecture, "bert")
		expect.Equal(t, "dimension of "+path, r.Dimension, 128)
		expect.Equal(t, "layers of "+path, r.Layers, 2)
		expect.True(t, path+" embeds sentences", r.Capabilities.Embed, r.Capabilities)
	}
	code, _, errs := clitest.Run(t, "model", "score", "--model", "./tiny", "--prompt", "a")
	expect.True(t, "an encoder writes nothing", code != 0, code)
	expect.Contains(t, "error of scoring with an encoder", errs, "it turns sentences into vectors")
}
