package tokenizer

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/gguf/gguftest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// file makes a model file of nothing but metadata.
func file(t *testing.T, values map[string]any) *gguf.File {
	t.Helper()
	var w gguftest.Writer
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if err := w.Set(key, values[key]); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func metadata(c Config) map[string]any {
	var types []int32
	for _, t := range c.Types {
		types = append(types, int32(t))
	}
	values := map[string]any{
		"tokenizer.ggml.model":      c.Model,
		"tokenizer.ggml.tokens":     c.Tokens,
		"tokenizer.ggml.token_type": types,
	}
	if c.Model == "gpt2" {
		values["tokenizer.ggml.merges"] = c.Merges
		values["tokenizer.ggml.pre"] = c.Pre
	} else {
		values["tokenizer.ggml.scores"] = c.Scores
	}
	return values
}

func TestConfigFromGGUF(t *testing.T) {
	spelled, pieces := spelledVocabulary("a b"), byteVocabulary()
	type check func(c Config) bool
	for _, c := range []struct {
		name  string
		base  Config
		extra map[string]any
		holds check
	}{
		{"byte-level", spelled, nil, func(c Config) bool { return c.BOS == nil && !c.AddBOS && !c.AddSpacePrefix && c.Pre == "gpt-2" }},
		{"no rule", spelled, map[string]any{"tokenizer.ggml.pre": ""}, func(c Config) bool { return c.Pre == "default" }},
		{
			"Llama 3 begins with BOS", spelled,
			map[string]any{"tokenizer.ggml.pre": "llama-bpe", "tokenizer.ggml.bos_token_id": uint32(0)},
			func(c Config) bool { return c.AddBOS && *c.BOS == 0 },
		},
		{
			"unless the file says otherwise", spelled,
			map[string]any{"tokenizer.ggml.pre": "llama-bpe", "tokenizer.ggml.add_bos_token": false},
			func(c Config) bool { return !c.AddBOS },
		},
		{"SentencePiece", pieces, nil, func(c Config) bool { return c.AddBOS && c.AddSpacePrefix && *c.BOS == 1 && *c.EOS == 2 }},
		{
			"without a prefix", pieces,
			map[string]any{"tokenizer.ggml.add_space_prefix": false, "tokenizer.ggml.eot_token_id": int64(7)},
			func(c Config) bool { return !c.AddSpacePrefix && *c.EOT == 7 },
		},
		{"Phi-3", pieces, map[string]any{"general.name": "Phi-3 mini"}, func(c Config) bool { return c.StripAfterMarks }},
	} {
		t.Run(c.name, func(t *testing.T) {
			values := metadata(c.base)
			maps.Copy(values, c.extra)
			f := file(t, values)
			config, err := ConfigFromGGUF(f)
			if err != nil {
				t.Fatal(err)
			}
			if !c.holds(config) {
				t.Errorf("the configuration is %+v", config)
			}
			if _, err := FromGGUF(f); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFromGGUFRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		extra map[string]any
		says  string
	}{
		{"tokens of another kind", map[string]any{"tokenizer.ggml.tokens": []int32{1}}, "tokenizer.ggml.tokens"},
		{"types of another kind", map[string]any{"tokenizer.ggml.token_type": []string{"a"}}, "tokenizer.ggml.token_type"},
		{"merges of another kind", map[string]any{"tokenizer.ggml.merges": "a b"}, "tokenizer.ggml.merges"},
		{"BOS of another kind", map[string]any{"tokenizer.ggml.bos_token_id": "1"}, "tokenizer.ggml.bos_token_id"},
		{"negative EOS", map[string]any{"tokenizer.ggml.eos_token_id": int32(-3)}, "tokenizer.ggml.eos_token_id"},
		{"huge EOS", map[string]any{"tokenizer.ggml.eos_token_id": ^uint64(0)}, "EOS token"},
		{"flag of another kind", map[string]any{"tokenizer.ggml.add_bos_token": "yes"}, "tokenizer.ggml.add_bos_token"},
		{"unknown model", map[string]any{"tokenizer.ggml.model": "rwkv"}, "rwkv"},
		{"unknown rule", map[string]any{"tokenizer.ggml.pre": "no such rule"}, "llama-bpe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			values := metadata(spelledVocabulary("a b"))
			maps.Copy(values, c.extra)
			if _, err := FromGGUF(file(t, values)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	var wrong *ConfigError
	if _, err := FromGGUF(file(t, map[string]any{"general.name": "x"})); !errors.As(err, &wrong) || wrong.Field != "model" {
		t.Errorf("without a vocabulary the error is %v", err)
	}
}

// TestMissingTypes: without types all tokens are text, but for those that the file
// names as marks.
func TestMissingTypes(t *testing.T) {
	values := metadata(spelledVocabulary("a b"))
	delete(values, "tokenizer.ggml.token_type")
	values["tokenizer.ggml.bos_token_id"] = uint32(0)
	tok, err := FromGGUF(file(t, values))
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range []bool{true, true, false} {
		expect.Equal(t, fmt.Sprint("control token ", token), tok.Control(lm.Token(token)), want)
	}
	expect.Equal(t, "ends", fmt.Sprint(tok.Ends()), "[1]")
}
