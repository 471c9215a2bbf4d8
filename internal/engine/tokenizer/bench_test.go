package tokenizer_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/tokenizer"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
)

// benchText returns a megabyte of words of the vocabulary, as often as words occur in text
// (Zipf's law), with punctuation and numbers.
func benchText(b *testing.B) string {
	tok := defaultModel(b, "smollm")
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 2.7, uint64(tok.Size()-1))
	var text strings.Builder
	for text.Len() < 1<<20 {
		word := decode(b, tok, []lm.Token{lm.Token(zipf.Uint64())})
		switch {
		case utf8.ValidString(word) && strings.HasPrefix(word, " "):
			text.WriteString(word)
		case random.IntN(8) == 0:
			text.WriteString([]string{".", ", ", ".\n", "'s", " 12", " 1999", " (", ")", ":\n\n"}[random.IntN(9)])
		}
	}
	return text.String()
}

func BenchmarkEncode(b *testing.B) {
	text := benchText(b)
	for _, rule := range []string{"smollm", "gpt-2", "llama-bpe", "qwen2", "default"} {
		b.Run(rule, func(b *testing.B) {
			tok := defaultModel(b, rule)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				encode(b, tok, text)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	tok := defaultModel(b, "smollm")
	text := benchText(b)
	ids := encode(b, tok, text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := tok.Decode(context.Background(), ids); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	path, _, err := models.Find(models.Default)
	if err != nil {
		b.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for b.Loop() {
		if _, err := tokenizer.FromGGUF(f); err != nil {
			b.Fatal(err)
		}
	}
}
