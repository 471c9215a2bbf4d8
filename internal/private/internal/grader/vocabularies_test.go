package grader_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/tokenizer"
	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
)

// bpe is a small vocabulary in the style of Llama 3 and Qwen: bytes, and merges that make one
// token of two line ends, of a line end after other marks, and of words with their space.
func bpe(t *testing.T) lm.Tokenizer {
	t.Helper()
	c := tokenizer.Config{Model: "gpt2", Pre: "llama-bpe"}
	known := map[string]bool{}
	add := func(s string) {
		if !known[s] {
			known[s] = true
			c.Tokens, c.Types = append(c.Tokens, s), append(c.Types, tokenizer.Normal)
		}
	}
	// GPT-2's alphabet: printable bytes are themselves, the others are moved up from 256.
	spell := map[byte]string{}
	moved := rune(256)
	for b := range 256 {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r = moved
			moved++
		}
		spell[byte(b)] = string(r)
		add(string(r))
	}
	merge := func(text string) {
		var left string
		for i, b := range []byte(text) {
			if i > 0 {
				pair := left + " " + spell[b]
				if !slices.Contains(c.Merges, pair) {
					c.Merges = append(c.Merges, pair)
				}
			}
			left += spell[b]
			add(left)
		}
	}
	for _, text := range []string{"\n\n", "\n\n\n", ".\n", ".\n\n", " \n", "\r\n", " science", " fiction", " Sci", " war", " wart", "Text", ":", " film"} {
		merge(text)
	}
	return made(t, c)
}

// pieces is a small vocabulary in the style of SentencePiece: words with their space, and bytes
// for everything else, line ends among them.
func pieces(t *testing.T) lm.Tokenizer {
	t.Helper()
	c := tokenizer.Config{Model: "llama", AddSpacePrefix: true}
	add := func(s string, kind tokenizer.Type, score float32) {
		c.Tokens, c.Types, c.Scores = append(c.Tokens, s), append(c.Types, kind), append(c.Scores, score)
	}
	add("<unk>", tokenizer.Unknown, 0)
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b), tokenizer.Byte, 0)
	}
	known := map[string]bool{}
	for i, word := range []string{"▁science", "▁fiction", "▁war", "▁wart", "▁film", "Text", "▁Sci"} {
		for n := 1; n <= len([]rune(word)); n++ {
			if part := string([]rune(word)[:n]); !known[part] {
				known[part] = true
				add(part, tokenizer.Normal, float32(n*10-i))
			}
		}
	}
	for r := 'a'; r <= 'z'; r++ {
		if !known[string(r)] {
			add(string(r), tokenizer.Normal, -100)
		}
	}
	return made(t, c)
}

func made(t *testing.T, c tokenizer.Config) lm.Tokenizer {
	t.Helper()
	end := lm.Token(len(c.Tokens))
	c.Tokens, c.Types = append(c.Tokens, "<end>"), append(c.Types, tokenizer.Control)
	if c.Scores != nil {
		c.Scores = append(c.Scores, 0)
	}
	c.EOS = &end
	v, err := tokenizer.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// vocabulary of a model, with the chat template that turns are laid out in.
type vocabulary struct {
	lm.Tokenizer
	chat func(context.Context, []lm.Message) ([]lm.Token, error)
}

// vocabularies are small ones that are made up here, that of the model that tests have, and those of the
// models that SOTTO_TEST_GRADES names.
func vocabularies(t *testing.T) map[string]vocabulary {
	t.Helper()
	all := map[string]vocabulary{}
	for name, tok := range map[string]lm.Tokenizer{"bytes": &gradertest.Toy{}, "bpe": bpe(t), "pieces": pieces(t)} {
		all[name] = vocabulary{tok, plainTemplate(tok)}
	}
	for _, name := range append([]string{"smollm2"}, moreModels()...) {
		m, err := backend.Scorer(t.Context(), backend.Spec{Model: name})
		if err != nil {
			t.Fatalf("%v\nrun: go run ./cmd/sotto model pull %s", err, name)
		}
		t.Cleanup(func() { _ = m.Close() })
		v := vocabulary{Tokenizer: m.Tokenizer()}
		if m.Info().Can.Chat {
			v.chat = m.Chat
		}
		all[name] = v
	}
	return all
}

// moreModels are those that tests are asked to go through beside the small one.
func moreModels() []string { return strings.Fields(os.Getenv("SOTTO_TEST_GRADES")) }

// plainTemplate lays turns out as one text, so that a question may join tokens with what is before it.
func plainTemplate(tok lm.Tokenizer) func(context.Context, []lm.Message) ([]lm.Token, error) {
	return func(ctx context.Context, messages []lm.Message) ([]lm.Token, error) {
		var b strings.Builder
		for _, m := range messages {
			fmt.Fprintf(&b, "[%s] %s\n", m.Role, m.Content)
		}
		return tok.Encode(ctx, b.String()+"[assistant]")
	}
}
