package llama

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/gguf/gguftest"
	"github.com/sotto-dp/sotto/lm"
)

// tinyPrompt is a prompt whose tokens are (i*Step+First) mod the vocabulary.
type tinyPrompt struct {
	Length   int       `json:"length"`
	Step     int       `json:"step"`
	First    int       `json:"first"`
	LogProbs []float64 `json:"logprobs,omitempty"`
}

func (p tinyPrompt) tokens(vocab int) []lm.Token {
	all := make([]lm.Token, p.Length)
	for i := range all {
		all[i] = lm.Token((i*p.Step + p.First) % vocab)
	}
	return all
}

// tinyReferences are the models of which llama.cpp's scores are known: each architecture,
// each way of turning positions, windows, and a context of 32768.
func tinyReferences() map[string]tiny {
	all := tinies()
	models := map[string]tiny{}
	for _, name := range []string{"llama", "untied", "rope factors", "linear scaling", "llama yarn", "qwen2", "qwen3", "mistral3", "phi3 short", "phi3 long", "gemma3", "gemma3 pattern", "gemma3 stretched"} {
		models[name] = all[name]
	}
	// llama.cpp does not read the window of llama and phi3 files: beyond it the engine
	// follows the definition (TestArchitectures).
	phi := all["phi3"]
	phi.window = 1000
	models["phi3"] = phi
	long := tinyLlama
	long.context, long.kvHeads, long.base = 32768, 1, 500000
	models["long"] = long
	long = all["gemma3"]
	long.context, long.kvHeads, long.layers, long.window, long.pattern, long.head = 32768, 1, 2, 512, 2, 16
	models["long gemma3"] = long
	return models
}

func (c tiny) prompts() []tinyPrompt {
	prompts := []tinyPrompt{{Length: 1, Step: 1, First: 7}, {Length: 2, Step: 11, First: 70}, {Length: 33, Step: 7, First: 5}, {Length: 64, Step: 89, First: 1}, {Length: 200, Step: 101, First: 3}}
	if c.context > 256 {
		prompts = []tinyPrompt{{Length: 1500, Step: 101, First: 3}, {Length: 32000, Step: 89, First: 9}}
	}
	return prompts
}

// TestTinyReference holds every architecture to llama.cpp's scores of the same file. With
// SOTTO_TINY it writes the files for lab/bench/lm/reference/tiny.py into that folder instead.
func TestTinyReference(t *testing.T) {
	models := tinyReferences()
	if dir := os.Getenv("SOTTO_TINY"); dir != "" {
		writeTinies(t, dir, models)
		return
	}
	fixture := struct {
		Models map[string]struct {
			SHA256  string
			Prompts []tinyPrompt
		}
	}{}
	readZipped(t, "reference-tiny.json.gz", &fixture)
	if got, want := len(fixture.Models), len(models); got != want {
		t.Errorf("the fixture has %d models, not %d", got, want)
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		t.Run(name, func(t *testing.T) {
			c, want := models[name], fixture.Models[name]
			file, data := c.file(t)
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want.SHA256 {
				t.Fatal("the fixture is of another file: make it anew (lab/bench/lm/reference/tiny.py)")
			}
			m, err := load(file, Options{Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			var worst float64
			for _, p := range want.Prompts {
				// One model reads so far always, the other where time is allowed for.
				if p.Length > 10000 && c.window == 0 && os.Getenv("SOTTO_TEST_LARGE") == "" {
					continue
				}
				got := alone(t, m, p.tokens(c.vocab))
				for i, w := range p.LogProbs {
					worst = max(worst, math.Abs(got[i]-w))
				}
				if len(got) != len(p.LogProbs) {
					t.Fatalf("%d scores, not %d", len(got), len(p.LogProbs))
				}
			}
			tolerance := 1e-3
			if c.arch == "gemma3" {
				// llama.cpp's GELU is a table in half precision.
				tolerance = 2e-2
			}
			if !(worst < tolerance) {
				t.Errorf("a log-probability is off by %v", worst)
			}
			t.Logf("off by at most %.2g", worst)
		})
	}
}

// file returns the model and the bytes of its file.
func (c tiny) file(t *testing.T) (*gguf.File, []byte) {
	t.Helper()
	file, _ := c.build(t)
	var w gguftest.Writer
	if err := w.SetAll(file.Metadata()); err != nil {
		t.Fatal(err)
	}
	for _, tensor := range file.Tensors() {
		w.Add(tensor)
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return file, out.Bytes()
}

func writeTinies(t *testing.T, dir string, models map[string]tiny) {
	t.Helper()
	type tinyList struct {
		Context    int          `json:"context"`
		Vocabulary int          `json:"vocabulary"`
		Prompts    []tinyPrompt `json:"prompts"`
	}
	list := map[string]tinyList{}
	for name, c := range models {
		_, data := c.file(t)
		if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".gguf"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		list[name] = tinyList{c.context, c.vocab, c.prompts()}
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "prompts.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}
