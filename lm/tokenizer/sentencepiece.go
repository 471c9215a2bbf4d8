package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sotto/lm"
)

// blank is how SentencePiece vocabularies spell a space.
const blank = "▁"

// sentencePiece merges characters into tokens, those with the highest score first
// (Kudo and Richardson 2018, in its BPE form), and falls back to bytes.
type sentencePiece struct {
	ids    map[string]int32 // of text
	orders []uint32         // by token: the rank of its score
	bytes  [256]lm.Token
	prefix bool
	// words: no token has a blank after another character, so that merging cannot
	// reach across the beginning of a word and words can be encoded one by one.
	words bool
	cache *cache
}

func newSentencePiece(c *Config, v *vocabulary) (*sentencePiece, error) {
	m := &sentencePiece{
		ids:    make(map[string]int32, len(c.Tokens)),
		orders: ranks(c.Scores),
		prefix: c.AddSpacePrefix,
		words:  true,
		cache:  newCache(),
	}
	for b := range m.bytes {
		id, ok := v.ids[fmt.Sprintf("<0x%02X>", b)]
		if !ok {
			id, ok = v.ids[string([]byte{byte(b)})]
		}
		if !ok {
			return nil, wrong("vocabulary", "has no token for the byte 0x%02X: SentencePiece vocabularies without byte tokens are not supported", b)
		}
		m.bytes[b] = lm.Token(id)
	}
	for id, text := range c.Tokens {
		if text == "" || v.marks[id] || v.types[id] == Byte {
			continue
		}
		m.ids[text] = int32(id)
		// Tokens that are not UTF-8 make it hard to tell where words begin.
		inner := strings.TrimLeft(text, blank)
		m.words = m.words && utf8.ValidString(text) && !strings.Contains(inner, blank)
	}
	return m, nil
}

// ranks numbers scores from the highest; equal ones share a rank.
func ranks(scores []float32) []uint32 {
	distinct := slices.Clone(scores)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	out := make([]uint32, len(scores))
	for i, s := range scores {
		at, _ := slices.BinarySearch(distinct, s)
		out[i] = uint32(len(distinct) - 1 - at)
	}
	return out
}

func (m *sentencePiece) join(text string, left, right part) (int32, uint32) {
	id, ok := m.ids[text[left.start:right.end]]
	if !ok {
		return 0, never
	}
	return id, m.orders[id]
}

func (m *sentencePiece) encode(tokens []lm.Token, text string) []lm.Token {
	if m.prefix {
		text = " " + text
	}
	text = strings.ReplaceAll(text, " ", blank)
	if !m.words {
		return m.merged(tokens, text)
	}
	start, previous := 0, false
	for i := 0; i < len(text); {
		after := min(i+unitLength(text[i]), len(text))
		isBlank := text[i:after] == blank
		if isBlank && !previous && i > start {
			tokens = m.cache.through(tokens, text[start:i], m.merged)
			start = i
		}
		i, previous = after, isBlank
	}
	return m.cache.through(tokens, text[start:], m.merged)
}

// merged appends the tokens of a word, or of a whole text.
func (m *sentencePiece) merged(tokens []lm.Token, text string) []lm.Token {
	w := workshop.Get().(*work)
	defer w.release()
	w.parts = w.parts[:0]
	for i := 0; i < len(text); {
		after := min(i+unitLength(text[i]), len(text))
		id, ok := m.ids[text[i:after]]
		if !ok {
			id = -1
		}
		w.parts = append(w.parts, part{id, int32(i), int32(after)})
		i = after
	}
	w.merge(text, m)
	for _, p := range w.parts {
		if p.symbol >= 0 {
			tokens = append(tokens, lm.Token(p.symbol))
			continue
		}
		for _, b := range []byte(text[p.start:p.end]) {
			tokens = append(tokens, m.bytes[b])
		}
	}
	return tokens
}
