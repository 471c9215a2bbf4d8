package tokenizer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// byteVocabulary returns a SentencePiece vocabulary of marks and bytes.
func byteVocabulary() Config {
	c := Config{
		Model: "llama", BOS: new(lm.Token(1)), EOS: new(lm.Token(2)),
		Tokens: []string{"<unk>", "<s>", "</s>"}, Types: []Type{Unknown, Control, Control},
	}
	for b := range 256 {
		c.Tokens = append(c.Tokens, fmt.Sprintf("<0x%02X>", b))
		c.Types = append(c.Types, Byte)
	}
	c.Scores = make([]float32, len(c.Tokens))
	return c
}

// spelledVocabulary returns a byte-level one of marks, bytes and some pairs.
func spelledVocabulary(merges ...string) Config {
	c := Config{
		Model: "gpt2", Pre: "gpt-2", BOS: new(lm.Token(0)), EOS: new(lm.Token(1)),
		Tokens: []string{"<|im_start|>", "<|im_end|>"}, Types: []Type{Control, Control}, Merges: merges,
	}
	for _, r := range alphabet {
		c.Tokens = append(c.Tokens, string(r))
	}
	for _, m := range merges {
		c.Tokens = append(c.Tokens, strings.Replace(m, " ", "", 1))
	}
	for len(c.Types) < len(c.Tokens) {
		c.Types = append(c.Types, Normal)
	}
	return c
}

func must(t testing.TB, c Config) *Tokenizer {
	t.Helper()
	tok, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func (t *Tokenizer) mustEncode(text string) []lm.Token {
	ids, err := t.Encode(context.Background(), text)
	if err != nil {
		panic(err)
	}
	return ids
}

func (t *Tokenizer) mustDecode(ids []lm.Token) string {
	text, err := t.Decode(context.Background(), ids)
	if err != nil {
		panic(err)
	}
	return text
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		field  string
		says   string
	}{
		{"model", func(c *Config) { c.Model = "bert" }, "model", "not supported"},
		{"empty", func(c *Config) { c.Tokens = nil }, "vocabulary", "empty"},
		{"types", func(c *Config) { c.Types = c.Types[1:] }, "list of token types", "entries for"},
		{"merges missing", func(c *Config) { c.Merges = nil }, "list of merges", "missing"},
		{"merge without space", func(c *Config) { c.Merges = []string{"ab"} }, "list of merges", "two words"},
		{"merge without left", func(c *Config) { c.Merges = []string{" ab"} }, "list of merges", "two words"},
		{"merge without right", func(c *Config) { c.Merges = []string{"ab "} }, "list of merges", "two words"},
		{"empty merge", func(c *Config) { c.Merges = []string{""} }, "list of merges", "two words"},
		{"rule", func(c *Config) { c.Pre = "chameleon" }, "pre-tokeniser", "smollm, "},
		{"duplicate", func(c *Config) { c.Tokens[3] = c.Tokens[4] }, "vocabulary", "alike"},
		{"BOS", func(c *Config) { c.BOS = new(lm.Token(100000)) }, "BOS token", "vocabulary has"},
		{"EOS", func(c *Config) { c.EOS = new(lm.Token(-1)) }, "EOS token", "vocabulary has"},
		{"EOT", func(c *Config) { c.EOT = new(lm.Token(100000)) }, "EOT token", "vocabulary has"},
		{"EOM", func(c *Config) { c.EOM = new(lm.Token(100000)) }, "EOM token", "vocabulary has"},
		{"no BOS", func(c *Config) { c.BOS, c.AddBOS = nil, true }, "BOS token", "missing"},
		{"byte", func(c *Config) { c.Types[5] = Byte }, "vocabulary", "byte token"},
		{"scores", func(c *Config) { *c = byteVocabulary(); c.Scores = nil }, "list of scores", "entries for"},
		{"score", func(c *Config) { *c = byteVocabulary(); c.Scores[7] /= c.Scores[7] }, "list of scores", "not a number"},
		{"no byte tokens", func(c *Config) { *c = byteVocabulary(); c.Tokens[3] = "x"; c.Types[3] = Normal }, "vocabulary", "0x00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := spelledVocabulary("a b")
			c.change(&config)
			_, err := New(config)
			wrong := expect.As[*ConfigError](t, err)
			expect.Equal(t, "field", wrong.Field, c.field)
			expect.Contains(t, "why", wrong.Why, c.says)
		})
	}
}

// TestEncodeNeverReturnsMarks: here the parts of marks could be merged into them, which
// a damaged or hostile file may bring about.
func TestEncodeNeverReturnsMarks(t *testing.T) {
	spelled := spelledVocabulary("< s", "<s >", "a b", "Ġ q")
	spelled.Types[slices.Index(spelled.Tokens, "<s>")] = Control
	spelled.Types[slices.Index(spelled.Tokens, "Ġq")] = Control
	pieces := byteVocabulary()
	for _, text := range []string{"<", "s", ">", "<s", "s>", blank} {
		pieces.Tokens = append(pieces.Tokens, text)
		pieces.Types = append(pieces.Types, Normal)
		pieces.Scores = append(pieces.Scores, 0)
	}
	unused := pieces
	unused.Types = slices.Clone(pieces.Types)
	unused.Types[1] = Unused
	whole := spelledVocabulary("x y")
	whole.Pre = "llama-bpe"
	whole.Tokens = append(whole.Tokens, "xyz")
	whole.Types = append(whole.Types, Control)
	for name, c := range map[string]Config{"spelled": spelled, "pieces": pieces, "unused": unused, "whole": whole} {
		t.Run(name, func(t *testing.T) {
			tok := must(t, c)
			for _, text := range []string{"<s>", "a<s>b", "</s>", "xyz", "x q", "<0x0A>"} {
				ids := tok.mustEncode(text)
				if slices.ContainsFunc(ids, tok.Control) {
					t.Errorf("%s: %q gives a mark: %v", name, text, ids)
				}
				if got := tok.mustDecode(ids); got != text {
					t.Errorf("%s: %q comes back as %q", name, text, got)
				}
			}
		})
	}
}

// TestOrdinaryTokensThatLookLikeMarks: Qwen's vocabulary has a token "</s>" that
// merges make. It is no end.
func TestOrdinaryTokensThatLookLikeMarks(t *testing.T) {
	c := spelledVocabulary("< /", "s >", "</ s>")
	tok := must(t, c)
	if id := lm.Token(slices.Index(c.Tokens, "</s>")); tok.Control(id) || slices.Contains(tok.Ends(), id) {
		t.Errorf("an ordinary token is a mark; ends are %v", tok.Ends())
	}
	c = spelledVocabulary("a b")
	c.Tokens = append(c.Tokens, "</s>")
	c.Types = append(c.Types, Normal)
	tok = must(t, c)
	if end := lm.Token(len(c.Tokens) - 1); !tok.Control(end) || !slices.Contains(tok.Ends(), end) {
		t.Error("a token that no text leads to, spelled </s>, is not an end")
	}
}

func TestRoundTrip(t *testing.T) {
	spelled := must(t, spelledVocabulary("a b", "ab c", "Ġ a", "Ã ¤", "' s"))
	config := byteVocabulary()
	for i, text := range []string{"a", "b", blank, "▁a", "ab", "ä", "▁▁"} {
		config.Tokens = append(config.Tokens, text)
		config.Types = append(config.Types, Normal)
		config.Scores = append(config.Scores, float32(-i))
	}
	pieces := must(t, config)
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([abc' äé\n]|'s|▁){0,60}`))
	rapid.Check(t, func(r *rapid.T) {
		s := text.Draw(r, "text")
		if got := spelled.mustDecode(spelled.mustEncode(s)); got != s {
			r.Errorf("byte-level: %q comes back as %q", s, got)
		}
		if got, want := pieces.mustDecode(pieces.mustEncode(s)), strings.ReplaceAll(s, blank, " "); got != want {
			r.Errorf("SentencePiece: %q comes back as %q", s, got)
		}
	})
}

func TestDecodeIsAdditive(t *testing.T) {
	for _, tok := range []*Tokenizer{must(t, spelledVocabulary("a b", "Ġ a")), must(t, byteVocabulary())} {
		ids := rapid.SliceOf(rapid.Map(rapid.IntRange(0, tok.Size()-1), func(i int) lm.Token { return lm.Token(i) }))
		rapid.Check(t, func(r *rapid.T) {
			a, b := ids.Draw(r, "a"), ids.Draw(r, "b")
			if got, want := tok.mustDecode(slices.Concat(a, b)), tok.mustDecode(a)+tok.mustDecode(b); got != want {
				r.Errorf("%q and not %q", got, want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	tok := must(t, byteVocabulary())
	for _, id := range []lm.Token{-1, lm.Token(tok.Size())} {
		if text, err := tok.Decode(context.Background(), []lm.Token{id}); err == nil {
			t.Errorf("token %d gives %q", id, text)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tok.Encode(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("Encode gives %v", err)
	}
	if _, err := tok.Decode(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Decode gives %v", err)
	}
}

func TestPrefixAndBeginning(t *testing.T) {
	c := byteVocabulary()
	c.Tokens, c.Types, c.Scores = append(c.Tokens, blank), append(c.Types, Normal), append(c.Scores, 0)
	c.AddSpacePrefix, c.AddBOS = true, true
	tok := must(t, c)
	if got := tok.mustDecode(tok.mustEncode("a")); got != " a" {
		t.Errorf("with a prefix, the text is %q", got)
	}
	if got := tok.mustEncode(""); len(got) != 0 {
		t.Errorf("an empty text gives %v", got)
	}
	if first, ok := tok.Beginning(); !ok || first != 1 {
		t.Errorf("texts begin with %d, %v", first, ok)
	}
}

// TestPastUnicode: llama.cpp throws an exception here, so there is nothing to agree
// with.
func TestPastUnicode(t *testing.T) {
	tok := must(t, spelledVocabulary("a b"))
	for text, want := range map[string]string{
		"a\xf4\x90\x80\x80b": "a����b",
		"\xf7\xbf\xbf\xbf":   "����",
		"\xf4\x8f\xbf\xbf":   "\U0010ffff",
		"\xc0\x80":           "\x00", // over-long
		"\xe0\x81\x81":       "A",
		"\xed\xa0\x80":       "\xed\xa0\x80", // a surrogate
	} {
		if got := tok.mustDecode(tok.mustEncode(text)); got != want {
			t.Errorf("%q comes back as %q and not as %q", text, got, want)
		}
	}
}

// TestCutsMakeProgress: pieces are not empty, end where characters end and lie within
// the text.
func TestCutsMakeProgress(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-z' \r\n0-9.]|\p{L}|\p{N}|\p{Zs}|\p{P}){0,50}`))
	rapid.Check(t, func(r *rapid.T) {
		s := text.Draw(r, "text")
		for name, rule := range rules {
			for at := 0; at < len(s); {
				after := rule.cut(classes(), s, at)
				if after <= at || after > len(s) {
					r.Fatalf("%s cuts %q from %d to %d", name, s, at, after)
				}
				if piece := s[at:after]; !utf8.ValidString(piece) {
					r.Fatalf("%s cuts %q within a character: %q", name, s, piece)
				}
				at = after
			}
		}
	})
}

// TestClasses: outside of the code points that are compared with llama.cpp one by one,
// no character has a class.
func TestClasses(t *testing.T) {
	p := classes()
	for r := rune(0x34000); r <= maxCodePoint; r++ {
		if 0xE0000 <= r && r < 0xE1000 {
			continue
		}
		if c := p.of(r); c != 0 {
			t.Fatalf("%U has the class %b: Go's Unicode tables have changed; compare them with llama.cpp's and extend testdata/generate.py", r, c)
		}
	}
}

// TestConcurrentUse is for the race detector: the cache has no lock.
func TestConcurrentUse(t *testing.T) {
	tok := must(t, spelledVocabulary("a b", "ab c", "Ġ a"))
	var texts []string
	for i := range 3000 {
		texts = append(texts, fmt.Sprintf(" word%d abc%d", i, i%7))
	}
	want := tok.mustEncode(strings.Join(texts, ""))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			var got []lm.Token
			for _, text := range texts {
				got = append(got, tok.mustEncode(text)...)
			}
			if !slices.Equal(got, want) {
				t.Error("other ids than alone")
			}
		})
	}
	group.Wait()
}
