package tokenizer

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// Type is the kind of a token of the vocabulary, by GGUF's number.
type Type int32

// The types of tokens.
const (
	Normal      Type = 1 // text
	Unknown     Type = 2 // stands for text that has no token
	Control     Type = 3 // a mark
	UserDefined Type = 4 // text that is always one token
	Unused      Type = 5
	Byte        Type = 6 // one byte, spelled "<0x0A>"
)

// Config describes a vocabulary. [FromGGUF] reads one from a model's file.
type Config struct {
	// Model is "gpt2" for byte-level BPE or "llama" for SentencePiece. Required.
	Model string
	// Pre names the rule that cuts text into pieces. Required for "gpt2".
	Pre string
	// Tokens are the spellings, in the vocabulary's own alphabet. Required.
	Tokens []string
	// Types of the tokens; nil means that all are Normal.
	Types []Type
	// Scores of the tokens: the highest is merged first. Required for "llama".
	Scores []float32
	// Merges are pairs "left right", the best first. Required for "gpt2".
	Merges []string

	// Marks by number, nil where there is none.
	BOS, EOS, EOT, EOM *lm.Token
	// AddBOS: texts begin with BOS.
	AddBOS bool
	// AddSpacePrefix: a text is encoded as if a space came before it ("llama" only).
	AddSpacePrefix bool
	// StripAfterMarks: white space after a mark of a chat is left out, as Phi-3 does.
	StripAfterMarks bool
	// ChatTemplate is the Jinja program of the model, "" where it has none.
	ChatTemplate string
}

// ConfigError reports what is wrong with a vocabulary.
type ConfigError struct {
	// Field of the Config.
	Field string
	// Why states what is wrong and what to do.
	Why string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("the tokeniser's %s %s", e.Field, e.Why)
}

func wrong(field, format string, a ...any) error {
	return &ConfigError{Field: field, Why: fmt.Sprintf(format, a...)}
}

// maxTokens keeps the numbers of tokens, and of symbols that merges make, within 32 bits.
const maxTokens = 1 << 28

func (c *Config) check() error {
	n := len(c.Tokens)
	switch {
	case c.Model != "gpt2" && c.Model != "llama":
		return wrong("model", "%q is not supported: \"gpt2\" (byte-level BPE) and \"llama\" (SentencePiece) are", c.Model)
	case n == 0:
		return wrong("vocabulary", "is empty: the file does not hold a usable model")
	case n > maxTokens || len(c.Merges) > maxTokens:
		return wrong("vocabulary", "has more than %d tokens or merges", maxTokens)
	case c.Types != nil && len(c.Types) != n:
		return wrong("list of token types", "has %d entries for %d tokens: the file is damaged", len(c.Types), n)
	case c.Model == "llama" && len(c.Scores) != n:
		return wrong("list of scores", "has %d entries for %d tokens: the file is damaged", len(c.Scores), n)
	case c.Model == "gpt2" && len(c.Merges) == 0:
		return wrong("list of merges", "is missing: use a newer file of the model")
	}
	for i, s := range c.Scores {
		if math.IsNaN(float64(s)) {
			return wrong("list of scores", "has a score that is not a number, for token %d: the file is damaged", i)
		}
	}
	for _, m := range []struct {
		name string
		id   *lm.Token
	}{{"BOS", c.BOS}, {"EOS", c.EOS}, {"EOT", c.EOT}, {"EOM", c.EOM}} {
		if m.id != nil && (*m.id < 0 || int(*m.id) >= n) {
			return wrong(m.name+" token", "is %d, and the vocabulary has %d tokens: the file is damaged", *m.id, n)
		}
	}
	if c.AddBOS && c.BOS == nil {
		return wrong("BOS token", "is missing, although texts should begin with it: the file is damaged")
	}
	return c.checkSpellings()
}

func (c *Config) checkSpellings() error {
	seen := make(map[string]int, len(c.Tokens))
	for i, text := range c.Tokens {
		if text == "" {
			continue // a hole, which no text leads to
		}
		if first, twice := seen[text]; twice {
			return wrong("vocabulary", "spells tokens %d and %d alike: the file is damaged", first, i)
		}
		seen[text] = i
		if c.typeOf(i) != Byte {
			continue
		}
		if _, ok := byteOf(text); !ok {
			return wrong("vocabulary", "has a byte token, %d, that is not spelled as \"<0x0A>\": the file is damaged", i)
		}
	}
	return nil
}

func (c *Config) typeOf(i int) Type {
	if c.Types == nil {
		return Normal
	}
	return c.Types[i]
}

// byteOf reads the spelling of a byte token, "<0x0A>".
func byteOf(text string) (byte, bool) {
	if len(text) != 6 || !strings.HasPrefix(text, "<0x") || text[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(text[3:5], 16, 8)
	return byte(b), err == nil
}
