package tokenizer

import (
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/lm"
)

// FromGGUF makes the tokeniser of a model file. The file may be closed afterwards.
func FromGGUF(f *gguf.File) (*Tokenizer, error) {
	c, err := ConfigFromGGUF(f)
	if err != nil {
		return nil, err
	}
	return New(c)
}

// ConfigFromGGUF reads what a model file says about its vocabulary. What the file
// leaves open is filled in as llama.cpp does.
func ConfigFromGGUF(f *gguf.File) (Config, error) {
	r := &reader{m: f.Metadata()}
	c := Config{
		Model:        r.string("tokenizer.ggml.model"),
		Pre:          r.string("tokenizer.ggml.pre"),
		Tokens:       r.strings("tokenizer.ggml.tokens"),
		ChatTemplate: r.string("tokenizer.chat_template"),
		BOS:          r.token("tokenizer.ggml.bos_token_id"),
		EOS:          r.token("tokenizer.ggml.eos_token_id"),
		EOT:          r.token("tokenizer.ggml.eot_token_id"),
		EOM:          r.token("tokenizer.ggml.eom_token_id"),
	}
	for _, t := range r.ints("tokenizer.ggml.token_type") {
		c.Types = append(c.Types, Type(t))
	}
	name := strings.ToLower(r.string("general.name"))
	c.StripAfterMarks = strings.Contains(name, "phi-3") || strings.Contains(name, "phi3")
	switch c.Model {
	case "llama":
		c.Scores = r.floats("tokenizer.ggml.scores")
		c.AddSpacePrefix = r.bool("tokenizer.ggml.add_space_prefix", true)
		c.AddBOS = r.bool("tokenizer.ggml.add_bos_token", true)
		if c.BOS == nil {
			c.BOS = new(lm.Token(1))
		}
		if c.EOS == nil {
			c.EOS = new(lm.Token(2))
		}
	case "gpt2":
		if c.Pre == "" {
			c.Pre = "default"
		}
		c.Merges = r.strings("tokenizer.ggml.merges")
		c.AddBOS = r.bool("tokenizer.ggml.add_bos_token", rules[c.Pre].addBOS)
	}
	if r.err != nil {
		return Config{}, fmt.Errorf("read the tokeniser: %w", r.err)
	}
	return c, nil
}

// reader reads metadata that may be missing, and keeps the first error.
type reader struct {
	m   *gguf.Metadata
	err error
}

func read[T any](r *reader, key string, get func(string) (T, error)) (value T) {
	if r.err != nil || !r.m.Has(key) {
		return value
	}
	value, r.err = get(key)
	return value
}

func (r *reader) string(key string) string    { return read(r, key, r.m.String) }
func (r *reader) strings(key string) []string { return read(r, key, r.m.Strings) }
func (r *reader) floats(key string) []float32 { return read(r, key, r.m.Floats) }
func (r *reader) ints(key string) []int64     { return read(r, key, r.m.Ints) }

func (r *reader) bool(key string, otherwise bool) bool {
	if !r.m.Has(key) {
		return otherwise
	}
	return read(r, key, r.m.Bool)
}

func (r *reader) token(key string) *lm.Token {
	if !r.m.Has(key) {
		return nil
	}
	n := read(r, key, r.m.Uint)
	if n >= maxTokens {
		n = maxTokens // outside every vocabulary, which New says
	}
	return new(lm.Token(n))
}
