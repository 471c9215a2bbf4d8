package prompt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/tokenizer"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/prompt"
)

// TestSegmentsAreWholeTokens: the tokens of the segments are the tokens of the prompt,
// with the default model's tokeniser, for text of all sorts.
func TestSegmentsAreWholeTokens(t *testing.T) {
	path, _, err := models.Find(models.Default)
	if err != nil {
		t.Fatalf("%v\nrun: go run ./cmd/sotto model pull", err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tok, err := tokenizer.FromGGUF(f)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(s string) []lm.Token {
		tokens, err := tok.Encode(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return tokens
	}
	texts := []string{
		"Retail sales rose 3.5% in July, it was said.", "x", "", "\"quoted\" 'text'", "tabs\tand  two spaces ", "ends with 12",
		"naïve café – 30 £", "日本語のテキスト", "🙂", "a\nb\n\nc", "<|im_end|>", "\u00a0", "\u2028 x", "…\n",
	}
	for _, name := range prompt.Builtins() {
		task, err := prompt.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			next := texts[(i+1)%len(texts)]
			for _, segments := range [][]string{
				{task.GenerationPrefix(), task.GenerationDemo("World", text), task.GenerationDemo(text, next), task.GenerationHead(next)},
				{task.AnswerPrefix(), task.AnswerDemo(text, "World"), task.AnswerDemo(next, text), task.AnswerItem(next)},
				{task.AnswerPrefix(), task.AnswerItem(next), " Business"},
				{task.GenerationPrefix(), task.GenerationHead("World"), " Some text"},
			} {
				var parts []lm.Token
				for _, s := range segments {
					parts = append(parts, encode(s)...)
				}
				if whole := encode(strings.Join(segments, "")); !slices.Equal(parts, whole) {
					t.Errorf("%s: %q: %d tokens in parts, %d as a whole", name, segments, len(parts), len(whole))
				}
			}
		}
	}
	// The rule matters: cut after a space, the tokens are others.
	if parts := append(encode("\nText: "), encode("Some text")...); slices.Equal(parts, encode("\nText: Some text")) {
		t.Error("a cut after a space makes no difference, so this test tells nothing")
	}
}
