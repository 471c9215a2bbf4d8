package tokenizer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// vocabulary describes the tokens, whatever the way of merging.
type vocabulary struct {
	ids         map[string]int32 // by spelling
	types       []Type
	marks       []bool   // tokens without text
	pieces      []string // text of tokens
	ends        []lm.Token
	userDefined []userToken // user-defined tokens, the longest first
}

// userToken is a text that is one token wherever it occurs.
type userToken struct {
	text string
	id   lm.Token
}

// Spellings by which models mark the end of a text or turn, and those of code models
// after which another file would begin. Files often name only one of them by number.
var (
	endings = []string{
		"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>",
		"<|calls|>", "<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>",
		"_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>",
		"<｜end▁of▁sentence｜>",
	}
	// Of each of these lists the first that is there.
	fillings = [][]string{
		{"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"},
		{"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"},
		{"<|file_sep|>"},
	}
)

func newVocabulary(c *Config) *vocabulary {
	v := &vocabulary{ids: make(map[string]int32, len(c.Tokens)), types: make([]Type, len(c.Tokens))}
	for i, text := range c.Tokens {
		v.types[i] = c.typeOf(i)
		if text == "" {
			v.types[i] = Unused
			continue
		}
		v.ids[text] = int32(i)
	}
	v.findEnds(c)
	if l := layoutOf(c.ChatTemplate); l != nil {
		for _, text := range l.marks {
			v.markSpelling(c, text)
		}
	}
	v.marks = make([]bool, len(c.Tokens))
	for i, t := range v.types {
		v.marks[i] = t != Normal && t != UserDefined && t != Byte
	}
	v.pieces = pieces(c, v)
	for i, t := range v.types {
		if t == UserDefined {
			v.userDefined = append(v.userDefined, userToken{c.Tokens[i], lm.Token(i)})
		}
	}
	slices.SortStableFunc(v.userDefined, func(a, b userToken) int { return cmp.Compare(len(b.text), len(a.text)) })
	return v
}

func (v *vocabulary) findEnds(c *Config) {
	add := func(t lm.Token) {
		if !slices.Contains(v.ends, t) {
			v.ends = append(v.ends, t)
		}
	}
	for _, id := range []*lm.Token{c.EOS, c.EOT, c.EOM} {
		if id != nil {
			v.mark(c, *id)
			add(*id)
		}
	}
	if c.BOS != nil {
		v.mark(c, *c.BOS)
	}
	named := len(v.ends)
	for _, text := range endings {
		if t, ok := v.markSpelling(c, text); ok {
			add(t)
		}
	}
	for _, list := range fillings {
		for _, text := range list {
			if t, ok := v.markSpelling(c, text); ok {
				add(t)
				break
			}
		}
	}
	slices.Sort(v.ends[named:])
}

func (v *vocabulary) markSpelling(c *Config, text string) (lm.Token, bool) {
	id, ok := v.ids[text]
	return lm.Token(id), ok && v.mark(c, lm.Token(id))
}

// mark makes a token a mark, if it is not one by its type. Files often give marks the
// type of text. What text can be merged into stays text, though: Qwen has an ordinary
// token "</s>".
func (v *vocabulary) mark(c *Config, t lm.Token) bool {
	switch v.types[t] {
	case Control:
		return true
	case Normal:
		if c.Model == "gpt2" && merges(c.Merges, c.Tokens[t]) || len([]rune(c.Tokens[t])) == 1 {
			return false
		}
	case Byte:
		return false
	}
	v.types[t] = Control
	return true
}

// merges reports whether one of the pairs makes a text.
func merges(pairs []string, text string) bool {
	for _, p := range pairs {
		if len(p) != len(text)+1 {
			continue
		}
		if left, right, ok := cutMerge(p); ok && strings.HasPrefix(text, left) && strings.HasSuffix(text, right) {
			return true
		}
	}
	return false
}

// pieces returns the texts of all tokens, in one piece of memory.
func pieces(c *Config, v *vocabulary) []string {
	var all strings.Builder
	ends := make([]int, len(c.Tokens))
	for i, text := range c.Tokens {
		all.WriteString(pieceOf(c, text, v.types[i]))
		ends[i] = all.Len()
	}
	text, from := all.String(), 0
	out := make([]string, len(ends))
	for i, to := range ends {
		out[i] = text[from:to]
		from = to
	}
	return out
}

func pieceOf(c *Config, text string, t Type) string {
	switch t {
	case UserDefined:
		return text
	case Byte:
		b, _ := byteOf(text)
		return string([]byte{b})
	case Normal:
		if c.Model == "llama" {
			return strings.ReplaceAll(text, blank, " ")
		}
		if raw, ok := unspell(text); ok {
			return raw
		}
		return text // not spelled in the alphabet of bytes: it can only mean itself
	}
	return ""
}
