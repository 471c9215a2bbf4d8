package tokenizer

import (
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/lm"
)

func FuzzEncode(f *testing.F) {
	for _, text := range []string{"", "a  b's\r\n 12345 …", "\xf0\x9f\x98", "\xf4\x90\x80\x80", "<|im_end|>▁▁ <s>", strings.Repeat("ab", 80)} {
		f.Add(text)
	}
	merges := []string{"a b", "ab ab", "Ġ a", "' s", "Ã ©", "1 2", "Ċ Ċ", "Ġ Ġ"}
	var spelled []*Tokenizer
	for _, name := range []string{"gpt-2", "smollm", "llama-bpe", "qwen2", "default"} {
		c := spelledVocabulary(merges...)
		c.Pre = name
		spelled = append(spelled, must(f, c))
	}
	config := byteVocabulary()
	for i, text := range []string{"a", "b", blank, "▁a", "ab", "é", "a▁", "<s"} {
		config.Tokens = append(config.Tokens, text)
		config.Types = append(config.Types, Normal)
		config.Scores = append(config.Scores, float32(-i%3))
	}
	pieces := must(f, config)
	blanks := func(s string) string { return strings.ReplaceAll(s, blank, " ") }
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range spelled {
			ids := tok.mustEncode(text)
			if slices.ContainsFunc(ids, tok.Control) {
				t.Errorf("a mark in %v", ids)
			}
			if got := tok.mustDecode(ids); got != repair(text) {
				t.Errorf("%q comes back as %q", text, got)
			}
		}
		ids := pieces.mustEncode(text)
		if slices.ContainsFunc(ids, pieces.Control) {
			t.Errorf("a mark in %v", ids)
		}
		if got := pieces.mustDecode(ids); blanks(got) != blanks(text) {
			t.Errorf("%q comes back as %q", text, got)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	f.Add(`{% for message in messages %}{{'<|im_start|>' + message['role'] + "\n" + message.content + '<|im_end|>\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`)
	f.Add("{%- for message in messages -%}{{ '<|im_start|>' ~ message.role }}{% endfor %}{# x")
	v := spelledVocabulary("a b")
	f.Fuzz(func(t *testing.T, template string) {
		l := layoutOf(template)
		if l == nil {
			return
		}
		c := v
		c.ChatTemplate = template
		if _, err := must(t, c).Chat([]lm.Message{{Role: lm.User, Content: "a"}}); err != nil {
			t.Errorf("%s: %v", l.name, err)
		}
	})
}

// FuzzVocabulary makes vocabularies out of text: whatever they are, New refuses them or
// makes something that encodes.
func FuzzVocabulary(f *testing.F) {
	f.Add("a b ab c", "a b,ab c", "\x01\x01\x01\x03", "abc")
	f.Add("<s> </s> ▁ a ▁a <0x41>", "", "\x03\x03\x01\x01\x01\x06", " a A")
	f.Fuzz(func(t *testing.T, tokens, merges, types, text string) {
		for _, base := range []Config{spelledVocabulary("a b"), byteVocabulary()} {
			for i, s := range strings.Split(tokens, " ") {
				kind := Normal
				if i < len(types) {
					kind = Type(types[i])
				}
				base.Tokens = append(base.Tokens, s)
				base.Types = append(base.Types, kind)
				base.Scores = append(base.Scores, float32(kind))
			}
			base.Merges = append(base.Merges, strings.Split(merges, ",")...)
			tok, err := New(base)
			if err != nil {
				continue
			}
			ids := tok.mustEncode(text)
			if slices.ContainsFunc(ids, tok.Control) {
				t.Errorf("a mark in %v", ids)
			}
			tok.mustDecode(ids)
		}
	})
}
