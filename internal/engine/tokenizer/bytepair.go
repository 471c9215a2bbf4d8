package tokenizer

import (
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// alphabet spells bytes as the characters that byte-level vocabularies are written in:
// printable bytes as themselves, the others as U+0100 and on (Radford et al. 2019,
// GPT-2).
var alphabet, bytesOf = func() (spelled [256]rune, read map[rune]byte) {
	read = make(map[rune]byte, 256)
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if !('!' <= r && r <= '~' || '¡' <= r && r <= '¬' || '®' <= r && r <= 'ÿ') {
			r = next
			next++
		}
		spelled[b] = r
		read[r] = byte(b)
	}
	return spelled, read
}()

// unspell returns the bytes that a token of a byte-level vocabulary stands for.
func unspell(text string) (string, bool) {
	var b strings.Builder
	for _, r := range text {
		c, ok := bytesOf[r]
		if !ok {
			return "", false
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

// bytePair encodes by byte-level BPE.
type bytePair struct {
	classes *pages
	cut     pieceEnd
	pairs   pairTable
	first   [256]int32 // symbols of single bytes
	// whole has the tokens that pieces are looked up in before merging; nil if they
	// are not.
	whole map[string]lm.Token
	cache *cache

	// Symbols up to size are tokens. Those from there on are spellings that the
	// vocabulary lacks; rest has what stands for them.
	size int32
	rest [][]lm.Token
}

// symbols numbers spellings.
type symbols struct {
	*vocabulary
	lacking map[string]int32
	rest    [][]lm.Token
}

// of returns the symbol of a spelling. For one that the vocabulary lacks, the reference
// looks up each byte of the spelling as a token of its own and drops those that are not
// there.
func (s *symbols) of(text string) int32 {
	if id, ok := s.ids[text]; ok && !s.marks[id] {
		return id
	}
	if id, ok := s.lacking[text]; ok {
		return id
	}
	var rest []lm.Token
	for i := range len(text) {
		if id, ok := s.ids[text[i:i+1]]; ok && !s.marks[id] {
			rest = append(rest, lm.Token(id))
		}
	}
	id := int32(len(s.marks) + len(s.rest))
	s.rest = append(s.rest, rest)
	s.lacking[text] = id
	return id
}

func newBytePair(c *Config, v *vocabulary) (*bytePair, error) {
	r, ok := rules[c.Pre]
	if !ok {
		return nil, wrong("pre-tokeniser", "%q is not supported; these are: %s", c.Pre, ruleNames())
	}
	s := &symbols{vocabulary: v, lacking: map[string]int32{}}
	m := &bytePair{
		classes: classes(),
		cut:     r.cut,
		pairs:   newPairTable(len(c.Merges)),
		cache:   newCache(),
		size:    int32(len(c.Tokens)),
	}
	for b, spelled := range alphabet {
		m.first[b] = s.of(string(spelled))
	}
	var joined []byte
	for rank, text := range c.Merges {
		left, right, ok := cutMerge(text)
		if !ok {
			return nil, wrong("list of merges", "has an entry, %d, that is not two words with a space between them: the file is damaged", rank)
		}
		joined = append(append(joined[:0], left...), right...)
		if id, ok := s.ids[string(joined)]; ok && s.marks[id] {
			continue // no text leads to a mark
		}
		m.pairs.add(s.of(left), s.of(right), s.of(string(joined)), uint32(rank))
	}
	m.rest = s.rest
	if r.ignoreMerges {
		m.whole = make(map[string]lm.Token, len(c.Tokens))
		for id, text := range c.Tokens {
			if raw, ok := unspell(text); ok && text != "" && !v.marks[id] {
				m.whole[raw] = lm.Token(id)
			}
		}
	}
	return m, nil
}

// cutMerge reads a pair. It looks for the space from the second byte on.
func cutMerge(text string) (left, right string, ok bool) {
	if len(text) < 3 {
		return "", "", false
	}
	at := strings.IndexByte(text[1:], ' ') + 1
	if at == 0 || at == len(text)-1 {
		return "", "", false
	}
	return text[:at], text[at+1:], true
}

func (m *bytePair) join(_ string, left, right part) (int32, uint32) {
	return m.pairs.find(left.symbol, right.symbol)
}

func (m *bytePair) encode(tokens []lm.Token, text string) []lm.Token {
	text = repair(text)
	for at := 0; at < len(text); {
		after := m.cut(m.classes, text, at)
		tokens = m.piece(tokens, text[at:after])
		at = after
	}
	return tokens
}

func (m *bytePair) piece(tokens []lm.Token, text string) []lm.Token {
	if len(text) == 1 {
		return m.emit(tokens, m.first[text[0]])
	}
	if t, ok := m.whole[text]; ok {
		return append(tokens, t)
	}
	return m.cache.through(tokens, text, m.merged)
}

// merged appends the tokens of a piece.
func (m *bytePair) merged(tokens []lm.Token, text string) []lm.Token {
	w := workPool.Get().(*work)
	defer w.release()
	w.parts = w.parts[:0]
	for i, b := range []byte(text) {
		w.parts = append(w.parts, part{m.first[b], int32(i), int32(i + 1)})
	}
	w.merge(text, m)
	for _, p := range w.parts {
		tokens = m.emit(tokens, p.symbol)
	}
	return tokens
}

func (m *bytePair) emit(tokens []lm.Token, symbol int32) []lm.Token {
	if symbol < m.size {
		return append(tokens, lm.Token(symbol))
	}
	return append(tokens, m.rest[symbol-m.size]...)
}
